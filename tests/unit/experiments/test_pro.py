"""The instances of SWE-bench Pro, from repositories of the shape of the two public ones."""

import json

import pytest

from experiments.evidence.pro import plain, pro_rows
from fusesearch.core.errors import DataError
from fusesearch.data.swe_bench import instances
from tests.fakes.git import committed

NAME = "instance_o__n-" + "a" * 40 + "-vnan"
BASE = "b" * 40
SPEC = '# n_0000000a\n\n## PROBLEM\n"# Title\\n\\nsaid \\"no\\""\n\n## REQUIREMENTS\n- One.\n- Two.\n\n## INTERFACE\nNo new one\n'


@pytest.fixture
def pair(tmp_path):
    audit = {"spec.md": SPEC, "instance_id.txt": f"{NAME}\n", "gold.diff": "diff"}
    files = {f"data/cases/n_0000000a/{name}": text for name, text in audit.items()}
    coverage = "| case | verdict | cov |\n|---|---|---|\n| n_0000000a | ENTAILED | 1/1 |\n"
    committed(tmp_path / "audit", files | {"COVERAGE.md": coverage, "KNOWN_BAD.md": "", "KNOWN_MISMATCH.md": ""})
    info = f"Instance ID: {NAME}\nRepository: o/n\nBase Commit: {BASE}\nTest Files: []\n"
    committed(tmp_path / "benchmark", {f"run_scripts/{NAME}/instance_info.txt": info})
    return tmp_path / "audit", tmp_path / "benchmark"


def test_both_repositories_make_instances_with_and_without_the_sections(pair):
    (row,), (whole,) = (list(pro_rows(*pair, whole)) for whole in (False, True))
    (instance,) = instances("pro", [row])
    assert (instance.instance_id, instance.repo, instance.base_commit, instance.patch) == (NAME, "o/n", BASE, "diff")
    assert instance.problem_statement == '# Title\n\nsaid "no"'
    added = "\n\nRequirements:\n- One.\n- Two.\n\nNew interfaces introduced:\nNo new one"
    assert whole == row | {"problem_statement": instance.problem_statement + added}
    assert (row["verdict"], row["half"]) == ("ENTAILED", "odd")


@pytest.mark.parametrize(("file", "line", "verdict"), [
    ("KNOWN_MISMATCH.md", "## n_0000000a  — one feature for another", "KNOWN_MISMATCH"),
    ("KNOWN_BAD.md", f"| `{NAME}` | gold NOT resolved |", "KNOWN_BAD"),
])  # fmt: skip
def test_what_the_audit_knows_to_be_wrong_says_so(pair, file, line, verdict):
    committed(pair[0], {file: f"{line}\n"})
    assert next(pro_rows(*pair, False))["verdict"] == verdict


def test_a_missing_part_names_its_instance(pair):
    committed(pair[1], {f"run_scripts/{NAME}/instance_info.txt": "Repository: o/n\n"})
    with pytest.raises(DataError, match=NAME):
        list(pro_rows(*pair, False))


def test_only_a_section_of_one_line_is_escaped():
    assert plain(" a\\nb ") == "a\nb"
    assert plain('print("x\\n")\nhere') == 'print("x\\n")\nhere'
    assert plain(json.dumps("two\nlines")) == "two\nlines"
