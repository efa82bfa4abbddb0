"""The instances of SWE-bench Pro, from repositories of the shape of the two public ones."""

import pytest

from experiments.evidence.pro import pro_rows
from fusesearch.core.errors import DataError
from fusesearch.data.swe_bench import instances
from tests.fakes.git import committed

NAME = "instance_o__n-" + "a" * 40 + "-vnan"
INFO = f"Instance ID: {NAME}\nRepository: o/n\nBase Commit: {'b' * 40}\nTest Files: []\n"
SPEC = '# n\n\n## PROBLEM\n"# Title\\n\\nsaid \\"no\\""\n\n## REQUIREMENTS\n- `"\\n"`\n- Two.\n\n## INTERFACE\nNone\\nnew\n'


@pytest.fixture
def pair(tmp_path):
    case = {"spec.md": SPEC, "instance_id.txt": f"{NAME}\n", "gold.diff": "diff"}
    coverage = "| case | verdict | cov |\n|---|---|---|\n| n_0000000a | ENTAILED | 1/1 |\n"
    told = {"COVERAGE.md": coverage, "KNOWN_BAD.md": "", "KNOWN_MISMATCH.md": ""}
    committed(tmp_path / "audit", told | {f"data/cases/n_0000000a/{name}": text for name, text in case.items()})
    committed(tmp_path / "benchmark", {f"run_scripts/{NAME}/instance_info.txt": INFO})
    return tmp_path / "audit", tmp_path / "benchmark"


def test_both_repositories_make_instances_with_and_without_the_sections(pair):
    (row,), (whole,) = (list(pro_rows(*pair, whole)) for whole in (False, True))
    (instance,) = instances("pro", [row])
    assert (instance.instance_id, instance.repo, instance.base_commit, instance.patch) == (NAME, "o/n", "b" * 40, "diff")
    assert instance.problem_statement == '# Title\n\nsaid "no"'
    added = '\n\nRequirements:\n- `"\\n"`\n- Two.\n\nNew interfaces introduced:\nNone\nnew'  # only one line is escaped
    assert whole == row | {"problem_statement": instance.problem_statement + added}
    assert (row["verdict"], row["half"]) == ("ENTAILED", "odd")


def test_what_the_audit_knows_to_be_wrong_says_so_and_a_missing_part_names_its_instance(pair):
    for file, line in (("MISMATCH", "## n_0000000a  — one feature for another"), ("BAD", f"| `{NAME}` | gold NOT resolved |")):
        committed(pair[0], {f"KNOWN_{file}.md": f"{line}\n"})
        assert next(pro_rows(*pair, False))["verdict"] == f"KNOWN_{file}"
    committed(pair[1], {f"run_scripts/{NAME}/instance_info.txt": "Repository: o/n\n"})
    with pytest.raises(DataError, match=NAME):
        list(pro_rows(*pair, False))
