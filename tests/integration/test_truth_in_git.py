"""Truth over real repositories: what git itself wrote, read back from bare and working repositories."""

import os
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from fusesearch.core.errors import DataError, RepositoryError
from fusesearch.core.schema import Truth
from fusesearch.data.families import holding_commits
from fusesearch.data.truth import truth_in_git
from fusesearch.search.git import Git
from tests.fakes.git import committed, git

OLD = "class A:\n    def f(self):\n        return 1\n\n\ndef g():\n    return 2\n"
ODD = 'a folder/caf\u00e9 "q"\tx.py'


def diff(folder: Path, *options: str, quoting: str = "true") -> str:
    command = ["git", "-c", f"core.quotepath={quoting}", "diff", "--cached", "-M", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout.decode("utf-8", "replace")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A working tree with one commit of odd files."""
    root = tmp_path / "work tree"
    (root / "a folder").mkdir(parents=True)
    files = {
        "mod.py": OLD.encode(),
        ODD: OLD.encode(),
        "dos.py": OLD.replace("\n", "\r\n").encode(),
        "bare_end.py": OLD.rstrip("\n").encode(),
        "latin.py": b"# caf\xe9\n" + OLD.encode(),
        "data.bin": bytes(range(256)),
        "gone.py": OLD.encode(),
        "moved.py": OLD.encode() * 4,
        "run.sh": b"echo\n",
    }  # fmt: skip
    for name, content in files.items():
        (root / name).write_bytes(content)
    committed(root)
    return root


def change(root: Path) -> None:
    for name in ("mod.py", ODD, "dos.py", "latin.py", "bare_end.py"):
        path = root / name
        path.write_bytes(path.read_bytes().replace(b"return 1", b"return 10"))
    (root / "data.bin").write_bytes(b"\0\1" * 200)
    (root / "gone.py").unlink()
    (root / "moved.py").rename(root / "new name.py")
    (root / "new name.py").write_bytes((root / "new name.py").read_bytes() + b"\n\ndef late(): pass\n")
    (root / "run.sh").chmod(0o755)
    (root / "added.py").write_text("def fresh(): pass\n")
    git(root, "add", "-A")


OPTIONS = (
    [], ["--binary"], ["-U0"], ["-U10"], ["--full-index"], ["--src-prefix=i/", "--dst-prefix=w/"], ["--no-prefix"],
    ["--patience"], ["--histogram"],
)  # fmt: skip


def test_what_git_writes_is_read_exactly(repository):
    change(repository)
    changed = [ODD, "bare_end.py", "dos.py", "latin.py", "mod.py"]
    for options, quoting in product(OPTIONS, ("true", "false")):
        command = (*options, quoting)
        found = truth_in_git(repository, "HEAD", diff(repository, *options, quoting=quoting))
        assert sorted(found.files) == sorted([*changed, "data.bin", "gone.py", "moved.py", "run.sh"]), command
        assert sorted(found.functions) == sorted([*(f"{name}::A.f" for name in changed), "gone.py::A.f", "gone.py::g"]), command
        assert found.added_files == ["added.py"], command
        assert sorted(found.added_functions) == ["added.py::fresh", "new name.py::late"], command
        assert (found.lines["mod.py"], found.lines["latin.py"]) == ([(3, 3)], [(4, 4)]), command


def test_links_count_as_files_and_submodules_do_not(repository):
    (repository / "link.py").symlink_to("mod.py")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{git(repository, 'rev-parse', 'HEAD')},sub")
    git(repository, "add", "link.py")
    git(repository, "commit", "-qm", "more")
    (repository / "link.py").unlink()
    (repository / "link.py").symlink_to("gone.py")
    git(repository, "add", "link.py")
    git(repository, "update-index", "--cacheinfo", f"160000,{git(repository, 'rev-parse', 'HEAD')},sub")
    assert truth_in_git(repository, "HEAD", diff(repository)) == Truth(files=["link.py"], submodules=["sub"])


PATCH = "--- a/mod.py\n+++ b/mod.py\n@@ -3 +3 @@\n-        return 1\n+        return 5\n"


def test_unknown_repositories_and_commits_are_named(repository, tmp_path):
    (repository / "mod.py").write_text("dirty, and of no interest\n")
    assert truth_in_git(repository, "HEAD", PATCH).functions == ["mod.py::A.f"]
    unknown = ("0" * 40, "nope", "", "HEAD HEAD", "HEAD\nHEAD", "HEAD:mod.py")
    for where, base, patch, kind, words in (
        *((repository, base, PATCH, RepositoryError, "there is no commit") for base in unknown),
        (tmp_path / "missing", "HEAD", PATCH, RepositoryError, "no such git repository"),
        (tmp_path, "HEAD", PATCH, RepositoryError, "cannot be read as a git repository"),
        (repository, "HEAD", PATCH.replace("mod.py", "a folder"), DataError, "a folder does not exist"),
    ):
        with pytest.raises(kind, match=words):
            truth_in_git(where, base, patch)


def test_blobs_read_only_files_and_what_a_whole_repository_does_not_list_is_no_damage(repository):
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},sub")
    git(repository, "commit", "-qm", "submodule")
    names = [
        "", "a folder", "none", "../mod.py", "./mod.py", "x\nHEAD:mod.py", "sub", "sub/x.py", "none/x.py", "mod.py/x.py",
        "mod.py/", "a folder/../mod.py", "x/../../y", "/mod.py", ":(glob)*", "-z",
    ]  # fmt: skip
    with Git(repository) as reader:
        assert reader.read("HEAD", "latin.py").startswith("# caf\ufffd\n")
        assert {name: reader.read("HEAD", name) for name in names} == dict.fromkeys(names)
        assert reader.read("HEAD", "mod.py") == OLD


def test_a_huge_file_is_refused_and_the_next_one_read(repository, monkeypatch):
    monkeypatch.setattr("fusesearch.search.git.MAX_BYTES", 100)
    committed(repository, {"huge.py": "x = 1\n" * 100_000})
    with Git(repository) as reader:
        with pytest.raises(DataError, match=r"huge\.py has 600,000 bytes, more than 100"):
            reader.read("HEAD", "huge.py")
        assert reader.read("HEAD", "mod.py") == OLD


LONG = "".join(f"x{number} = {number**9}\n" for number in range(999))


def object_file(root: Path, name: str) -> Path:
    object_id = git(root, "rev-parse", name)
    path = root / ".git" / "objects" / object_id[:2] / object_id[2:]
    path.chmod(0o644)
    return path


def scramble(path: Path) -> None:
    path.write_bytes(b"garbage")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [Path.unlink, scramble, cut])
@pytest.mark.parametrize("lost", ["HEAD:a folder/sub/n.py", "HEAD:a folder/sub", "HEAD:a folder", "HEAD^{tree}"])
def test_a_damaged_object_is_named_and_never_a_file_that_is_not_there(repository, damage, lost):
    path = "a folder/sub/n.py"
    base = committed(repository, {path: LONG})
    damage(object_file(repository, lost))
    added = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"
    for patch in (PATCH.replace("mod.py", path), added):
        with pytest.raises(RepositoryError, match=r"damaged.*git fsck|git fsck.*damaged"):
            truth_in_git(repository, base, patch)


def test_what_a_partial_clone_lacks_is_said_to_be_there_to_fetch(repository, tmp_path):
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", "--no-local", f"file://{repository}", "part")
    with pytest.raises(RepositoryError, match=r"this partial clone lacks HEAD:mod\.py: `git show HEAD:mod\.py` there fetches it"):
        truth_in_git(tmp_path / "part", "HEAD", PATCH)


def test_other_files_are_read_after_a_damaged_one_and_after_endless_warnings_of_git(repository):
    committed(repository, {"other.py": LONG})
    cut(object_file(repository, "HEAD:other.py"))
    scramble(object_file(repository, "HEAD:a folder"))
    scramble(object_file(repository, "HEAD:latin.py"))
    with Git(repository) as reader:
        for path in ("other.py", "a folder/none.py") * 2 + ("latin.py",) * 600:
            with pytest.raises(RepositoryError):
                reader.read("HEAD", path)
        assert reader.read("HEAD", "mod.py") == OLD


def test_a_hostile_repository_runs_nothing_under_a_git_that_always_fetches_what_is_missing(repository, tmp_path, monkeypatch):
    real, ran = shutil.which("git"), tmp_path / "ran"
    old_git = tmp_path / "bin" / "git"
    old_git.parent.mkdir()
    old_git.write_text(f'#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec {real} "$@"\n')
    old_git.chmod(0o755)
    base = git(repository, "rev-parse", "HEAD")
    object_file(repository, "HEAD:mod.py").unlink()
    for name, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://nowhere.invalid/x", "core.sshCommand": f"touch '{ran}'; false",
    }.items():  # fmt: skip
        git(repository, "config", name, value)
    (tmp_path / "repos").mkdir()
    (tmp_path / "repos/o__r.git").symlink_to(repository / ".git")
    monkeypatch.setenv("PATH", str(old_git.parent), prepend=os.pathsep)
    with pytest.raises(RepositoryError):
        truth_in_git(repository, base, PATCH)
    assert holding_commits(["o/r"], tmp_path / "repos", ["f" * 40]) == set()
    assert not ran.exists()
