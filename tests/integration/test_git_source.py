"""The source ``git`` on real clones: squashes, merges, and dumps."""

import json
import os
import subprocess
from datetime import date
from types import SimpleNamespace

import pytest

from fusesearch.core.config import GitSource, Params
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.storage import write_instances
from fusesearch.data.sources.git import LocalGit, named_clone
from tasks.filter import filter_pairs

ISSUES = [
    {"number": 1, "title": "f is wrong", "body": "It gives 1.\r\nIt should give 2.", "created_at": "2024-01-01T00:00:00Z"},
    {"number": 2, "title": "g is wrong", "body": None},
    {"number": 9, "title": "too late", "created_at": "2030-01-01T00:00:00Z"},
    {"number": 5, "title": "a pull request", "pull_request": {}},
]


def git(folder, *arguments, day=1):
    when = f"2024-02-{day:02}T00:00:00Z"
    environment = os.environ | {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder, text, message, day, path="a.py"):
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", message, day=day)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A squash for issue 1, a merge whose own commit closes 2, and commits that are no pairs; the name of each by its id."""
    folder = tmp_path_factory.mktemp("team") / "tool"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    ids = {"first": commit(folder, "f = 1\n", "first", 1)}
    ids["squash"] = commit(folder, "f = 2\n", "Mend f (#7)\n\nFixes #1 and fixes #7", 2)
    git(folder, "checkout", "-qb", "topic")
    commit(folder, "g = 1\n", "begin g", 3, "b.py")
    commit(folder, "def test(): pass\n", "closes #2", 4, "tests/test_b.py")
    git(folder, "checkout", "-q", "main")
    ids["before merge"] = commit(folder, "h\n", "tidy\n\nSigned-off-by: A <a@example.org>", 5, "c.py")
    git(folder, "merge", "-q", "--no-ff", "-m", "Merge branch 'topic'", "topic", day=6)
    ids["merge"] = git(folder, "rev-parse", "HEAD")
    ids["unknown"] = commit(folder, "h2\n", "closes #33", 7, "c.py")
    ids["younger"] = commit(folder, "h3\n", "closes #9", 8, "c.py")
    git(folder, "commit", "-q", "--allow-empty", "-m", "fixes #1", day=9)
    (folder.parent / "issues.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ISSUES))
    return folder, ids


def mine(clone, tmp_path, since=None, **changes):
    folder, _ = clone
    config = GitSource(**{"repositories": [f"team/tool={folder}"], "issues": [folder.parent / "issues.jsonl"]} | changes)
    mined = LocalGit(config, since).mine(tmp_path / "repos", lambda done, total: None)
    return {row.provenance["merge_commit"]: row for row in mined.instances}, mined.table


def test_squashes_and_merges_that_close_an_issue_are_pairs_with_their_repository_for_later_stages(clone, tmp_path):
    rows, table = mine(clone, tmp_path)
    _, ids = clone
    assert set(rows) == {ids["squash"], ids["merge"]}
    squash, merge = rows[ids["squash"]], rows[ids["merge"]]
    assert squash.problem_statement == "f is wrong\n\nIt gives 1.\nIt should give 2."
    assert (squash.base_commit, squash.provenance["issues"]) == (ids["first"], [1])
    assert merge.base_commit == ids["before merge"]
    assert "+g = 1" in merge.patch
    assert "tests/" not in merge.patch
    assert "tests/test_b.py" in merge.test_patch
    counts = {"no_issue": 1, "issue_unknown": 1, "issue_younger": 1, "no_change": 1}
    assert {reason: count for reason, count in table["dropped"].items() if count} == counts
    assert git(tmp_path / "repos" / "team__tool.git", "show", f"{ids['first']}:a.py") == "f = 1"


def test_without_a_dump_messages_that_tell_of_a_fault_are_the_issues(tmp_path):
    folder = tmp_path / "team" / "tool"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    told = "The total of prices is wrong for an empty list (#7)\n\nIt was two for every list."
    messages = [
        "first", told, "Fix it", "Fix a typo in what the documentation says about prices", "Add a column to the table of prices",
    ]  # fmt: skip
    ids = [commit(folder, f"f = {number}\n", message, number) for number, message in enumerate(messages, 1)]
    git(folder, "commit", "-q", "--allow-empty", "--author=dependabot[bot] <d@example.org>", "-m", told, day=8)
    rows, table = mine((folder, ids), tmp_path, issues=[])
    assert {row.problem_statement for row in rows.values()} == {told.replace(" (#7)", "")}
    assert (rows[ids[1]].base_commit, rows[ids[1]].provenance["text"]) == (ids[0], "commit message")
    assert {reason: count for reason, count in table["dropped"].items() if count} == {"no_fault": 3, "bot": 1}
    ids.append(commit(folder, "f = 9\n", "A second fix: the total of all prices is wrong again", 9))
    assert set(mine((folder, ids), tmp_path, issues=[], newest=1)[0]) == {ids[-1]}
    lost = git(folder, "rev-parse", "HEAD:a.py")  # a copy that lacks a file loses what changed it, not the rest
    (folder / ".git/objects" / lost[:2] / lost[2:]).unlink()
    rows, table = mine((folder, ids), tmp_path, issues=[])
    assert (set(rows), table["dropped"]["unreadable"]) == ({ids[1]}, 1)


def test_since_leaves_out_what_is_older(clone, tmp_path):
    rows, _ = mine(clone, tmp_path, since=date(2024, 2, 4))
    assert set(rows) == {clone[1]["merge"]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"repositories": []}, "name clones"),
        ({"repositories": ["x y=/nowhere"]}, "not a repository name"),
        ({"repositories": ["team/tool=/nowhere"]}, "no such git repository"),
        ({"issues": []}, "team/tool: 7 commits: the message does not say what was wrong"),
    ],
)
def test_an_unusable_repository_is_one_clear_line(clone, tmp_path, changes, words):
    with pytest.raises((ConfigError, DataError), match=words) as caught:
        mine(clone, tmp_path, **changes)
    assert str(caught.value).isprintable()


def test_a_history_of_which_the_filter_keeps_nothing_is_named(clone, tmp_path, capsys):
    names = ("mine.pairs", "filter.instances", "filter.drops", "filter.dropped")
    places = {name: tmp_path / f"{name}.parquet" for name in names} | {"mine.repos": tmp_path / "repos"}
    write_instances(places["mine.pairs"], mine(clone, tmp_path)[0].values())
    assert filter_pairs(SimpleNamespace(places=places, params=Params(), progress=lambda done, total: None))["instances"] == 0
    assert "warning: no pair is left of 1 repositories: team/tool" in capsys.readouterr().err


def test_a_clone_without_a_commit_is_said_to_be_one(clone, tmp_path):
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(DataError, match="has no commit checked out"):
        mine(clone, tmp_path, repositories=[f"team/tool={tmp_path / 'empty'}"])


@pytest.mark.parametrize("line", ["[]", "{", '{"title": "x"}', '{"number": "1"}'])
def test_a_malformed_dump_is_named_with_its_line(clone, tmp_path, line):
    dump = tmp_path / "dump.jsonl"
    dump.write_text(line + "\n")
    with pytest.raises(DataError, match=r"dump\.jsonl"):
        mine(clone, tmp_path, issues=[dump])


def test_clones_are_named_by_the_user_or_by_their_folder(tmp_path):
    assert named_clone(f"o/r={tmp_path}") == ("o/r", tmp_path)
    assert named_clone(str(tmp_path / "team" / "tool.git"))[0] == "team/tool"
