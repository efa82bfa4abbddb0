"""Which instances a protocol keeps, and which columns it reads."""

import pytest

from tasks.core.errors import ConfigError, DataError
from tasks.core.schema import Instance, Score, Truth
from tasks.evaluation.protocols import PROTOCOLS, protocol_named


def instance(name, truth):
    return Instance(instance_id=name, repo="o/r", base_commit="c", problem_statement="p", truth=truth)


INSTANCES = [
    instance("plain", Truth(files=["a.py"], functions=["a.py::f"])),
    instance("two files", Truth(files=["a.py", "b.py"], functions=["a.py::f"])),
    instance("adds a function", Truth(files=["a.py"], functions=["a.py::f"], added_functions=["a.py::g"])),
    instance("adds a file", Truth(files=["a.py"], functions=["a.py::f"], added_files=["n.py"])),
    instance("no function", Truth(files=["a.py"])),
]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("fusesearch", ["plain", "two files"]),
        ("single_file", ["plain"]),
        ("codescout", ["plain", "two files", "adds a function", "adds a file"]),
        ("tooltrain", ["plain", "two files", "adds a function", "adds a file"]),
    ],
)
def test_a_protocol_keeps_its_instances(name, kept):
    assert [row.instance_id for row in protocol_named(name).select(INSTANCES)] == kept


SCORES = [
    Score(instance_id="1", f1=1, predicted_files=["a"], true_files=["a"], predicted_functions=["f"], true_functions=["f"]),
    Score(instance_id="2", f1=0, predicted_files=["x", "y", "z"], true_files=["b"], predicted_functions=[], true_functions=["g"]),
]


def test_the_same_scores_read_under_two_averages():
    pooled, mean = protocol_named("fusesearch").read(SCORES), protocol_named("codescout").read(SCORES)
    assert list(pooled) == list(mean)
    assert (pooled["file_precision"], mean["file_precision"]) == (0.25, 0.5)
    assert mean["f1"] == 0.5


def test_tooltrain_reads_the_columns_of_its_table(request):
    header = (
        (request.config.rootpath / "experiments/reference/tooltrain_table2_swebench_verified.csv").read_text().splitlines()[0]
    )
    assert list(protocol_named("tooltrain").read(SCORES)) == header.split(",")[2:]


def test_an_unknown_protocol_is_answered_with_the_names():
    with pytest.raises(ConfigError, match=f"use one of {', '.join(PROTOCOLS)}"):
        protocol_named("swe")


def test_an_instance_without_truth_is_refused():
    with pytest.raises(DataError, match="x has no truth"):
        protocol_named("fusesearch").select([instance("x", None)])
