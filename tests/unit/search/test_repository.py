import os
from pathlib import Path

import pytest

from fusesearch.core.errors import OutsideRootError, RepositoryError, ToolError
from fusesearch.search.repository import Repository, clipped
from tests.fakes.git import write


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.py").write_text("CANARY")
    return folder


@pytest.fixture
def tree(tmp_path, outside):
    files = {"pkg/core.py": "def f():\n    pass\n", "pkg/inner/deep.py": "x = 1\n", "setup.py": "\ufeffname = 'é'\n"}
    return Repository(write(tmp_path / "repo with spaces & dots.v1", files))


@pytest.mark.parametrize(
    "path", ["/repo/pkg/core.py", "pkg/core.py", "./pkg/core.py", "/repo//pkg/../pkg/core.py", "/repo/pkg/core.py/"]
)
def test_one_file_has_many_spellings(tree, path):
    real = tree.resolve(path)
    assert real == tree.root / "pkg" / "core.py"
    assert tree.virtual(real) == "/repo/pkg/core.py"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "..", "/repo/..", "../outside/secret.py", "/repo/pkg/../../outside", "/repository/x", "//etc"]
)
def test_paths_that_lead_out_are_refused(tree, path):
    with pytest.raises(OutsideRootError, match="is outside /repo"):
        tree.resolve(path)


def test_links_to_nothing_and_siblings_are_refused(tree, outside):
    (tree.root / "dangling").symlink_to(outside / "nothing")
    sibling = Path(f"{tree.root}-2")  # its name begins alike
    sibling.mkdir()
    for path in ("dangling", f"../{sibling.name}"):
        with pytest.raises(OutsideRootError):
            tree.resolve(path)


def test_links_inside_are_followed_and_loops_are_missing_files(tree):
    (tree.root / "alias.py").symlink_to("pkg/core.py")
    (tree.root / "loop").symlink_to("loop")
    assert tree.resolve("alias.py") == tree.root / "pkg" / "core.py"
    with pytest.raises(ToolError, match="no such file"):
        tree.resolve("loop")


def test_opening_follows_no_link_put_there_after_resolving(tree, outside):
    real = tree.resolve("pkg/core.py")
    (tree.root / "pkg").rename(tree.root / "old")
    (outside / "core.py").write_text("CANARY")
    (tree.root / "pkg").symlink_to(outside)
    with pytest.raises(ToolError, match="cannot be read"):
        tree.read_bytes(real)


def test_only_regular_files_are_read_and_no_more_than_asked_for(tree):
    with open(tree.root / "huge.bin", "wb") as handle:
        handle.truncate(1 << 40)
    assert len(tree.read_bytes(tree.resolve("huge.bin"), 1000)) == 1000
    os.mkfifo(tree.root / "pipe")
    with pytest.raises(ToolError, match="not a regular file"):
        tree.read_bytes(tree.resolve("pipe"))
    with pytest.raises(ToolError, match="is a folder"):
        tree.read_bytes(tree.resolve("pkg"))


def test_the_git_folder_is_no_part_of_the_tree(tree):
    (tree.root / ".git").mkdir()
    (tree.root / ".git" / "config").write_text("token")
    for path in (".git", ".git/config", "/repo/pkg/../.git/config"):
        with pytest.raises(ToolError, match=r"\.git"):
            tree.resolve(path)


def test_a_missing_file_gets_close_names_same_name_first(tree):
    with pytest.raises(ToolError) as caught:
        tree.resolve("/repo/inner/core.py")
    assert str(caught.value) == "no such file or folder: /repo/inner/core.py; close: /repo/pkg/core.py"
    with pytest.raises(ToolError, match=r"close: /repo/pkg/inner/deep\.py"):
        tree.resolve("/repo/pkg/inner/deeep.py")
    with pytest.raises(ToolError, match=r"close: /repo/pkg/core\.py"):
        tree.resolve("/repo/pkg/core.py:12")
    with pytest.raises(OutsideRootError, match=r"close: /repo/pkg/core\.py"):  # a path of another machine
        tree.resolve("/usr/lib/python3/site-packages/pkg/core.py")
    assert clipped("a\nb\x00" + "c" * 200, 10) == "a\ufffdb\ufffdccccc…"  # as all text in messages


def test_files_are_those_a_search_finds_in_path_order(tree, outside):
    root = tree.root
    (root / ".gitignore").write_text("build/\n*.log\n!.shown\n")
    for name in ("build/out.py", "trace.log", ".hidden.py", ".shown", ".venv/a.py", "pkg/.x/y.py", "-e.py", "pkg/odd\nname.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "link.py").symlink_to(outside / "secret.py")
    os.mkfifo(root / "pipe.py")
    with open(os.fsencode(root) + b"/bad\xff.py", "wb"):
        pass
    (root / ".ignore").write_text("setup.py\n!build/\n")
    (root.parent / ".gitignore").write_text("*.py\n")
    assert Repository(root).files() == ["-e.py", "pkg/core.py", "pkg/inner/deep.py", "setup.py"]


def test_search_flags_are_those_that_some_shown_file_needs(tree):
    def flags():
        return Repository(tree.root).search_flags

    assert flags() == []
    for folder in (".hidden", "pkg"):
        (tree.root / folder).mkdir(exist_ok=True)
        with (tree.root / folder / "huge.py").open("wb") as handle:
            handle.truncate(2**24 + (folder == "pkg"))
        assert flags() == (["--max-filesize=16777216"] if folder == "pkg" else [])
    (tree.root / "pkg/.gitignore").symlink_to("/dev/zero")
    assert flags() == ["--max-filesize=16777216", "--no-ignore"]


@pytest.mark.parametrize("kind", ["link", "device", "fifo"])
def test_an_ignore_file_that_is_no_regular_file_is_never_opened(tree, outside, kind):
    (outside / "rules").write_text("*.py\n")
    ignore = tree.root / "pkg" / ".gitignore"
    if kind == "fifo":
        os.mkfifo(ignore)
    else:
        ignore.symlink_to(outside / "rules" if kind == "link" else "/dev/zero")
    assert Repository(tree.root).files() == ["pkg/core.py", "pkg/inner/deep.py", "setup.py"]


def test_text_of_a_file(tree):
    assert tree.read_text("setup.py") == "name = 'é'\n"
    (tree.root / "latin.py").write_bytes(b"# \xe9\n")
    assert tree.read_text("latin.py") == "# \ufffd\n"
    for path in ("missing.py", "pkg", "../outside/secret.py"):
        with pytest.raises(RepositoryError):
            tree.read_text(path)
