"""The filter over bare repositories on disk, as the stage runs it."""

from collections import Counter
from pathlib import Path

import pytest

from fusesearch.core.config import Filter
from fusesearch.core.schema import Instance
from fusesearch.data.filtering import RULES, drop_table, filter_pairs
from fusesearch.data.repositories import Repositories
from tests.fakes.git import committed, git

ISSUE = "The result of the whole computation is off by one whenever the input is number "
PATCH = "--- a/m.py\n+++ b/m.py\n@@ -2 +2 @@\n-    return 1\n+    return 2\n"


@pytest.fixture
def repos(tmp_path: Path) -> Path:
    for number in range(4):
        work = tmp_path / f"work{number}"
        committed(work, {"m.py": f"def f{number}():\n    return 1\n"})
        git(work, "clone", "-q", "--bare", str(work), str(tmp_path / f"repos/o__r{number}.git"))
    return tmp_path / "repos"


def head(repos: Path, number: int) -> str:
    return git(repos / f"o__r{number}.git", "rev-parse", "HEAD")


def filtered(pairs: list[Instance], repos: Path) -> tuple[list[Instance], dict[str, int]]:
    """Kept instances with their truth, and how many pairs each rule dropped."""
    drops: Counter[str] = Counter()
    with Repositories(repos) as repositories:
        kept = list(filter_pairs(pairs, Filter(), repositories.reader, drops))
    return kept, drop_table(drops)


def test_each_pair_is_read_at_its_commit_and_unreadable_ones_are_counted(repos):
    commits = [head(repos, number) for number in range(4)]
    rows = [(f"o/r{number % 4}", commits[number % 4]) for number in range(12)]
    rows += [("o/r0", "f" * 40), ("o/none", commits[0]), ("../o/r0", commits[0]), ("o/r1", commits[1])]
    pairs = [
        Instance(instance_id=str(number), repo=repo, base_commit=commit, problem_statement=f"{ISSUE}{number}", patch=PATCH)
        for number, (repo, commit) in enumerate(rows)
    ]
    kept, drops = filtered(pairs, repos)
    assert [instance.truth.functions for instance in kept] == [[f"m.py::f{n % 4}"] for n in range(12)] + [["m.py::f1"]]
    assert list(drops) == list(RULES)
    assert {rule: count for rule, count in drops.items() if count} == {"no_snapshot": 3}


def test_a_pair_whose_file_is_damaged_counts_as_unreadable_and_the_next_one_is_kept(repos):
    commit = head(repos, 0)
    blob = git(repos / "o__r0.git", "rev-parse", "HEAD:m.py")
    (repos / "o__r0.git/objects" / blob[:2] / blob[2:]).unlink()
    rows = [("o/r0", commit, PATCH), ("o/r1", head(repos, 1), PATCH), ("o/r1", head(repos, 1), PATCH.replace("m.py", "none.py"))]
    pairs = [
        Instance(instance_id=str(number), repo=repo, base_commit=base, problem_statement=f"{ISSUE}{number}", patch=patch)
        for number, (repo, base, patch) in enumerate(rows)
    ]
    kept, drops = filtered(pairs, repos)
    assert [instance.instance_id for instance in kept] == ["1"]
    assert {rule: count for rule, count in drops.items() if count} == {"no_snapshot": 1, "does_not_apply": 1}
