"""Trees made to lead out, to stall or to be misread: every kind of entry a file system has, under every kind of name."""

import asyncio
import os
import re

import pytest

from fusesearch.core.config import Tools
from fusesearch.search import ripgrep
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore
from fusesearch.search.tools import Toolbox
from tests.fakes.git import git, write

CANARY = "CANARY_c04e17"
LIMITS = Tools()


@pytest.fixture(autouse=True, scope="module")
def _little_memory():
    """Ripgrep reads an endless ignore file until it has all the memory that it may have: little is full soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ripgrep, "_MEMORY_BYTES", 2**28)
        yield


@pytest.fixture
def place(tmp_path):
    """``outside`` holds the canary; ``root`` is an ordinary tree."""
    (tmp_path / "root/pkg").mkdir(parents=True)
    return write(tmp_path, {"outside/secret.py": f"{CANARY} = 'alpha'\n", "root/a.py": "alpha = 1\n"})


@pytest.fixture
def root(place):
    return place / "root"


def call(root, name, **arguments):
    return asyncio.run(Toolbox(Repository(root), LIMITS, memory_bytes=0).call(name, arguments))


def call_all(root, path):
    """What every tool says of a path."""
    return [
        call(root, "read_file", path=path),
        call(root, "glob", pattern="*", path=path),
        *(call(root, "grep", pattern=".", path=path, output_mode=mode) for mode in ("content", "files_with_matches")),
    ]


def text_of(results):
    return "\n".join(f"{result.output} {result.error} {result.entities}" for result in results)


def test_a_snapshot_of_hard_links_leads_to_no_other_snapshot(place):
    """All snapshots share one store of contents; links of a hostile repository into it are refused."""
    store, commits = SnapshotStore(place / "cache"), {}
    for name in ("root", "outside"):
        git(place / name, "init", "-q")
        git(place / name, "add", ".")
        git(place / name, "commit", "-qm", name)
    secret = git(place / "outside", "rev-parse", "HEAD:secret.py")
    other = git(place / "outside", "rev-parse", "HEAD^{tree}")
    links = {"blob.py": f"../../blobs/{secret[:2]}/{secret[2:]}", "tree": f"../{other}", "blobs": str(place / "cache" / "blobs")}
    for name, target in links.items():
        (place / "root" / name).symlink_to(target)
    git(place / "root", "add", ".")
    git(place / "root", "commit", "-qm", "hostile")
    commits = {name: store.repository(place / name, "HEAD").root for name in ("root", "outside")}
    assert (commits["root"] / "a.py").stat().st_nlink > 1
    assert (commits["root"] / "tree" / "secret.py").read_text().startswith(CANARY)
    paths = ("/repo", *links, "tree/secret.py", f"blobs/{secret[:2]}/{secret[2:]}", f"../{other}/secret.py")
    results = [result for path in paths for result in call_all(commits["root"], path)]
    assert CANARY not in text_of(results)


def test_folders_deeper_than_a_path_can_say(root):
    here = os.open(root, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("deep.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    for found, none in (("alpha", "grep"), ("a.py", "glob")):
        assert call(root, none, pattern=found).entities == ["a.py"]
        result = call(root, none, pattern="absent")
        assert result.error is None
        assert re.fullmatch(r"No (matches|files).* \(not searched: /repo/d{100,}…: File ?name too long\)", result.output)
    assert call(root, "grep", pattern="(", path="/repo").error == "ripgrep: unclosed group"
    assert call(root, "read_file", path="/".join(["d" * 200] * 30)).error


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_locked_folder_is_named_and_fails_no_search(root):
    (root / "locked").mkdir(mode=0)
    notice = "(not searched: /repo/locked: Permission denied)"
    assert call(root, "grep", pattern="absent").output == f"No matches for absent in /repo {notice}"
    assert call(root, "glob", pattern="a.py").output == f"/repo/a.py\n{notice}"
    assert call(root, "read_file", path="locked/a.py").error == "locked/a.py cannot be read: Permission denied"


def test_an_endless_ignore_file_ends_in_an_answer(root):
    (root / "pkg/.gitignore").touch()
    os.truncate(root / "pkg/.gitignore", 1 << 36)
    for result in call_all(root, "/repo"):
        assert result.output
    assert call(root, "read_file", path="a.py").entities == ["a.py:1"]


def test_no_configuration_of_ripgrep_or_git_has_a_say(root, place, monkeypatch):
    (root / ".env").write_text(f"{CANARY} alpha\n")
    (root / "link.py").symlink_to("../outside/secret.py")
    (place / "ripgreprc").write_text("--follow\n--hidden\n--no-ignore\n")
    (place / "home").mkdir()
    (place / "home" / ".gitconfig").write_text(f"[core]\nexcludesFile = {place}/home/excludes\n")
    (place / "home" / "excludes").write_text("*.py\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(place / "ripgreprc"))
    monkeypatch.setenv("HOME", str(place / "home"))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")  # else git would not look there
    result = call(root, "grep", pattern="alpha", output_mode="content")
    assert CANARY not in text_of([result])
    assert result.entities == ["a.py:1"]
