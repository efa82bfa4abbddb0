"""Searches find the files that git tracks, as the truth does: in snapshots and in working trees, hidden and ignored ones too."""

import asyncio
import os
import shutil

import pytest

from fusesearch.data.truth import truth_in_git
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore
from fusesearch.search.tools import Toolbox
from tests.fakes.git import git, write

TRACKED = {
    ".gitignore": "build/\n*.log\n/src/gen_*\n!keep.log\n",
    ".github/workflows/ci.yml": "run: needle\n",
    ".github/scripts/.env": "needle\n",
    "a.py": "needle = 1\n",
    "build/wheel.py": "def needle():\n    return 1\n",
    "build/[x]/deep.py": "needle()\n",
    "pkg/.flake8": "needle\n",
    "pkg/b.py": "x = needle\n",
    "pkg/trace.log": "needle\nneedle\n",
    "src/gen_a.py": "needle\n",
}
UNTRACKED = {
    ".env": "needle\n",
    ".github/notes.md": "needle\n",
    "build/made.py": "needle\n",
    "build/more/made.py": "needle\n",
    "pkg/other.log": "needle\n",
    "src/gen_b.py": "needle\n",
}
HIDDEN_OR_IGNORED = sorted(set(TRACKED) - {"a.py", "pkg/b.py"})


def made(folder):
    write(folder, TRACKED)
    git(folder, "init", "-q")
    git(folder, "add", "--force", ".")
    git(folder, "commit", "-qm", "x")
    return write(folder, UNTRACKED)


@pytest.fixture
def work(tmp_path):
    """A work tree, to be changed."""
    return made(tmp_path / "work")


@pytest.fixture(scope="module", params=["snapshot", "work tree", "work tree of `git worktree`"])
def tree(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    work = made(folder / "work")
    if request.param == "snapshot":
        return SnapshotStore(folder / "cache").repository(work, "HEAD")
    if request.param == "work tree":
        return Repository(work)
    git(work, "worktree", "add", "-q", str(folder / "second"))
    return Repository(write(folder / "second", UNTRACKED))


def ask(tree, name, **arguments):
    result = asyncio.run(Toolbox(tree).call(name, arguments))
    assert result.error is None
    return result


def found(tree, name, **arguments):
    return ask(tree, name, **arguments).entities


def test_the_list_has_every_tracked_file(tree):
    assert sorted(tree.files()) == sorted(TRACKED)
    assert all(map(tree.is_visible, TRACKED))
    assert not any(map(tree.is_visible, UNTRACKED))


def test_grep_searches_tracked_files_and_no_others(tree):
    for arguments, files in (
        ({}, set(TRACKED) - {".gitignore"}),
        ({"glob": "*.py"}, {"a.py", "build/wheel.py", "build/[x]/deep.py", "pkg/b.py", "src/gen_a.py"}),
        ({"glob": "build/**"}, {"build/wheel.py", "build/[x]/deep.py"}),
        ({"glob": "*.log"}, {"pkg/trace.log"}),
        ({"glob": "!*.py"}, {".github/workflows/ci.yml", ".github/scripts/.env", "pkg/.flake8", "pkg/trace.log"}),
        ({"glob": ".*"}, {".github/scripts/.env", "pkg/.flake8"}),
        ({"path": "/repo/build"}, {"build/wheel.py", "build/[x]/deep.py"}),
        ({"path": "/repo/build/[x]"}, {"build/[x]/deep.py"}),
        ({"path": "/repo/pkg", "glob": "*.log"}, {"pkg/trace.log"}),
        ({"path": "/repo/.github"}, {".github/workflows/ci.yml", ".github/scripts/.env"}),
        ({"path": "/repo/src/gen_a.py"}, {"src/gen_a.py"}),
    ):
        expected = sorted(name for name in files if "needle" in TRACKED[name])
        assert sorted(found(tree, "grep", pattern="needle", **arguments)) == expected, arguments


def test_every_mode_shows_a_line_once(tree):
    assert ask(tree, "grep", pattern="needle", path="/repo/pkg", output_mode="content").output.splitlines() == [
        "/repo/pkg/.flake8:1:needle", "/repo/pkg/b.py:1:x = needle",
        "/repo/pkg/trace.log:1:needle", "/repo/pkg/trace.log:2:needle",
    ]  # fmt: skip
    assert "/repo/pkg/trace.log:2" in ask(tree, "grep", pattern="needle", output_mode="count").output.splitlines()


def test_glob_lists_tracked_files_and_no_others(tree):
    for pattern, path, files in (
        ("*", "", sorted(TRACKED)),
        ("*.py", "", [name for name in TRACKED if name.endswith(".py")]),
        ("build/*", "", ["build/wheel.py"]),
        ("build/[x]/deep.py", "", ["build/[x]/deep.py"]),
        ("**/*.yml", "", [".github/workflows/ci.yml"]),
        (".github/workflows/ci.yml", "", [".github/workflows/ci.yml"]),
        ("gen_*", "src", ["src/gen_a.py"]),
    ):
        assert sorted(found(tree, "glob", pattern=pattern, path=path)) == sorted(files), pattern
    output = ask(tree, "glob", pattern=".nothing/*").output  # says which hidden files are left out
    assert output.endswith(".nothing/*)" if tree.snapshot else "(hidden files that git does not track are left out)")


def test_files_that_a_truth_names_can_be_found(work, tree):
    for name in HIDDEN_OR_IGNORED:
        (work / name).write_text(TRACKED[name] + "more\n")
    named = truth_in_git(work, "HEAD", git(work, "diff") + "\n").files
    assert sorted(named) == HIDDEN_OR_IGNORED
    assert set(named) <= set(tree.files())


def test_what_the_index_names_is_searched_only_where_it_is_a_file_of_the_tree_and_none_that_is_huge(work, tmp_path):
    outside = tmp_path / "outside"
    write(outside, {"wheel.py": "needle\n", "secret": "needle\n"})
    os.truncate(work / ".github/scripts/.env", 2**24 + 1)
    shutil.rmtree(work / "build")
    (work / "build").symlink_to(outside)
    (work / "pkg/trace.log").unlink()
    (work / "pkg/.flake8").unlink()
    (work / "pkg/.flake8").symlink_to(outside / "secret")
    (work / "src/gen_a.py").unlink()
    (work / "src/gen_a.py").mkdir()
    left = {"a.py", "pkg/b.py", ".github/workflows/ci.yml"}
    assert set(found(Repository(work), "grep", pattern="needle")) == left
    assert set(Repository(work).files()) == {*left, ".gitignore"}


@pytest.mark.parametrize("damage", ["index", "HEAD"])
def test_a_damaged_git_folder_leaves_the_rules_of_a_plain_folder(work, damage):
    (work / ".git" / damage).write_bytes(b"\0garbage")
    assert Repository(work).files() == ["a.py", "pkg/b.py"]


def test_settings_of_the_repository_run_nothing(work, tmp_path):
    for name, value in {"core.fsmonitor": f"touch {tmp_path}/ran", "core.worktree": str(tmp_path)}.items():
        git(work, "config", name, value)
    assert sorted(Repository(work).files()) == sorted(TRACKED)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["HEAD", "commondir", "config", "index"])
def test_git_is_not_asked_where_it_would_wait_for_a_pipe(work, monkeypatch, name):
    (work / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(work / ".git" / name)
    monkeypatch.setattr("subprocess.run", None)
    assert sorted(Repository(work).files()) == ["a.py", "pkg/b.py"]
