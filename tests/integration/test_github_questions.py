"""Questions of the source ``github``: what is asked and answered on the tests' GitHub, with the code as it was then."""

import os
import random
import subprocess
from contextlib import contextmanager
from datetime import timedelta
from unittest.mock import patch

import pytest

from fusesearch.core.config import GitHubSource
from fusesearch.data.sources.github import GitHub
from fusesearch.data.sources.github.asked import ASKED_DROPS, named_files
from tests.fakes.github_server.history import write_world
from tests.fakes.github_server.server import GitHubServer
from tests.fakes.github_server.world import START, Comment, Edit, Issue, Repository, World, add_pull, module

REPO = "zoo/asked"
ANSWER = "See `step3` in pkg/module1.py."


def later(days):
    return START + timedelta(days=days, hours=4)


def asked(number, days=6, title="How do I call step?", **changes):
    """An issue that a maintainer answers after a day, which its asker thanks for and closes."""
    at = later(days)
    told = Comment(changes.pop("answer", ANSWER), at + timedelta(days=1), None, "owner", "OWNER")
    thanks = Comment("Thanks, that helps!", at + timedelta(days=2), None, "reporter")
    issue = Issue(number, title, "I have a value.", at, comments=[told, thanks], closed=at + timedelta(days=3), closed_by="owner")
    for name, value in changes.items():
        setattr(issue, name, value)
    return issue


def issues():
    first = asked(0)
    told, thanks = first.comments
    edits = [Edit(first.created, "I have a value."), Edit(later(9), "I have a value. Solved by step3.")]
    return {
        "kept": [
            asked(901),
            asked(902, comments=[Comment("Call `step3` twice.", later(7), None, "owner", "MEMBER")], closed_by="reporter"),
            asked(903, title="Value of step", labels=["question"]),
            asked(904, edits=edits, body=str(edits[1].diff)),
        ],
        "not_completed": [asked(910, reason="NOT_PLANNED")],
        "closed_by_change": [asked(911, closer="PullRequest")],
        "not_a_question": [asked(912, title="Step gives the wrong value")],
        "by_bot": [asked(913, author="helper[bot]")],
        "no_answer": [
            asked(914, comments=[told]),
            asked(915, comments=[Comment(ANSWER, later(7)), thanks]),
            asked(916, comments=[]),
            asked(923, comments=[told, *(Comment("Me too.", later(7)) for _ in range(60)), thanks]),
        ],
        "question_text_unknown": [asked(917, edits=[Edit(first.created, None), edits[1]])],
        "names_a_change": [asked(918, answer="Fixed in #12, see step3"), asked(919, answer=f"/commit/{'a' * 40} has step3")],
        "answer_in_question": [asked(920, body=f"I tried: {ANSWER}")],
        "no_commit_before": [asked(921, days=-9)],
        "ungrounded": [asked(922, answer="Read the fine `manual`, page 3.")],
        "asked_before_since": [],
    }


@pytest.fixture
def world(tmp_path):
    repository = Repository(REPO, 7)
    repository.files = {f"pkg/module{n}.py": module(n, []) for n in range(12)}
    for _ in range(12):
        add_pull(repository, random.Random(3), "no issue")
    found = issues()
    repository.issues |= {issue.number: issue for several in found.values() for issue in several}
    chosen = Comment("Use `step4`.", later(8), None, "helper", "NONE")
    repository.discussions = {930: Issue(930, "Which step", "For four?", later(3), answer=chosen)}
    made = World({REPO: repository})
    write_world(made, tmp_path / "origin")
    return made


@pytest.fixture(scope="module", autouse=True)
def own_environment():
    with patch.dict(os.environ):
        yield


@contextmanager
def served(world, tmp_path):
    with GitHubServer(world, tmp_path / "origin").running() as server:
        os.environ |= {"GITHUB_TOKEN": "ghp_" + "a" * 36, "GITHUB_API_URL": server.url, "GITHUB_SERVER_URL": server.git_url}
        config = GitHubSource(repositories=[REPO], questions=True)

        def mine():
            mined = GitHub(config, tmp_path / "state", 1, announce=str).mine(tmp_path / "repos", lambda done, total: None)
            return {row.instance_id: row for row in mined.instances}, mined.table

        yield mine


def test_answered_questions_become_open_ones_with_the_code_of_their_day(world, tmp_path):
    with served(world, tmp_path) as mine:
        rows, table = mine()
        again, same = mine()
        world.repositories[REPO].issues[940] = asked(940, days=30)
        (new,) = (name for name in mine()[0] if name not in rows)
    names = [f"zoo__asked-issue-{issue.number}" for issue in issues()["kept"]]
    assert sorted(rows) == sorted([*names, "zoo__asked-discussion-930"])
    assert table["complete"]
    assert {reason: table["dropped"][reason] for reason in ASKED_DROPS} == {
        reason: len(several) for reason, several in issues().items() if reason != "kept"
    }
    assert (again, same["repositories"][0]["new"], new) == (rows, 0, "zoo__asked-issue-940")
    edited, discussed = rows["zoo__asked-issue-904"], rows["zoo__asked-discussion-930"]
    assert edited.problem_statement == "How do I call step?\n\nI have a value."
    assert (edited.truth.files, edited.truth.expected.values) == (["pkg/module1.py"], [ANSWER])
    assert (discussed.truth.expected.values, discussed.provenance["association"]) == (["Use `step4`."], "NONE")
    for row in rows.values():
        before = ["rev-list", "-1", "--first-parent", f"--before={row.created_at}", "main"]
        git_dir = f"--git-dir={tmp_path / 'origin' / REPO}.git"
        assert row.base_commit == subprocess.check_output(["git", git_dir, *before], text=True).strip()
        published = f"--git-dir={tmp_path / 'repos' / 'zoo__asked.git'}"
        assert subprocess.check_output(["git", published, "show", f"{row.base_commit}:pkg/module1.py"])


def test_files_that_an_answer_names():
    files = ["a/cart.py", "a/__init__.py", "b/__init__.py", "b/till.py"]
    assert named_files("Look at ./a/cart.py, __init__.py and `till.py`.", files) == ["a/cart.py", "b/till.py"]
    assert named_files("In b/__init__.py:12", files) == ["b/__init__.py"]
    assert named_files("/" * 50_000 + "a.b" * 50_000, files) == []
