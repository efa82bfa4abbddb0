"""Which instances a protocol keeps, and which columns it reads."""

import pytest

from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.schema import Answer, Instance, Location, Trajectory, Truth
from fusesearch.evaluation.metrics import score_trajectory
from fusesearch.evaluation.protocols import PROTOCOLS, protocol_named


def instance(name, truth):
    return Instance(instance_id=name, repo="o/r", base_commit="c", problem_statement="p", truth=truth)


INSTANCES = [
    instance("plain", Truth(files=["a.py"], functions=["a.py::f"])),
    instance("two files", Truth(files=["a.py", "b.py"], functions=["a.py::f"])),
    instance("adds a function", Truth(files=["a.py"], functions=["a.py::f"], added_functions=["a.py::g"])),
    instance("adds a file", Truth(files=["a.py"], functions=["a.py::f"], added_files=["n.py"])),
    instance("no function", Truth(files=["a.py"])),
    instance("news too", Truth(files=["CHANGES.rst", "a.py"], functions=["a.py::f"], added_files=["docs/new.rst"])),
    instance("functions of tests", Truth(files=["a.py", "tests/test_a.py"], functions=["tests/test_a.py::f"])),
]
FUNCTIONS = ["plain", "two files", "adds a function", "adds a file", "news too"]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("fusesearch", ["plain", "adds a function", "news too"]),
        ("single_file", ["plain", "news too"]),
        ("codescout", FUNCTIONS),
        ("tooltrain", FUNCTIONS),
        ("locagent", FUNCTIONS),
    ],
)
def test_a_protocol_keeps_its_instances(name, kept):
    assert [row.instance_id for row in protocol_named(name).select(INSTANCES)] == kept


def score(name, truth, files=(), functions=(), error=None):
    answer = Answer(modify=[*(Location(path=path) for path in files), *(Location(path=p, function=f) for p, f in functions)])
    trajectory = Trajectory(instance_id=name, localizer="l", system="", issue="", answer=answer, error=error)
    return score_trajectory(trajectory, truth)


PLAIN = INSTANCES[0].truth
SCORES = [
    score("1", PLAIN, functions=[("a.py", "f")]),
    score("2", PLAIN, files=["x.py", "y.py", "z.py"]),
]


def test_scores_alone_say_which_instances_a_protocol_keeps():
    scores = [score(row.instance_id, row.truth) for row in INSTANCES]
    for protocol in PROTOCOLS.values():
        assert [row.instance_id for row in protocol.view(scores)] == [row.instance_id for row in protocol.select(INSTANCES)]


def test_only_code_of_a_truth_is_asked_for():
    news = INSTANCES[-2].truth
    (seen,) = protocol_named("fusesearch").view([score("n", news, functions=[("a.py", "f")])])
    assert (seen.true_files, seen.file_recall, seen.f1) == (["a.py"], 1, 1)


def test_errored_scores_stay_and_count_in_no_figure():
    scores = [*SCORES, score("3", PLAIN, error="down")]
    for protocol in PROTOCOLS.values():
        assert [row.error for row in protocol.view(scores)] == ([] if protocol.questions else [None, None, "down"])
        assert protocol.read(scores) == protocol.read(SCORES)


def test_tooltrain_reads_the_columns_of_its_table(request):
    header = (
        (request.config.rootpath / "experiments/reference/tooltrain_table2_swebench_verified.csv").read_text().splitlines()[0]
    )
    assert list(protocol_named("tooltrain").read(SCORES)) == header.split(",")[2:]


def test_an_unknown_protocol_is_answered_with_the_names_and_an_instance_without_truth_is_refused():
    with pytest.raises(ConfigError, match=f"use one of {', '.join(PROTOCOLS)}"):
        protocol_named("swe")
    with pytest.raises(DataError, match="x has no truth"):
        protocol_named("fusesearch").select([instance("x", None)])
