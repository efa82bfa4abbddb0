"""Hostile trees and hostile arguments: nothing outside the root is ever shown, and nothing is ever raised."""

import asyncio
import os
import socket
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fusesearch.core.config import Tools
from fusesearch.search.repository import Repository
from fusesearch.search.tools import Toolbox
from tests.fakes.git import write

CANARY = "CANARY_7f3a91"
HIDDEN = "HIDDEN_20d8b4"
LIMITS = Tools(grep_lines=50)
IGNORED = (".gitignore", ".ignore", ".rgignore")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """``outside`` holds the canary in contents and in names; ``root`` tries everything to lead there."""
    place = tmp_path_factory.mktemp("place")
    outside, root = place / "outside", place / "root"
    secret = ("outside/secret.py", f"outside/deep/{CANARY}.py", "near.py", "root2.py", "root/.git/config")
    shown = ("a.py", "pkg/b.py", "pkg/[a]*/c.py", "-rf/--pre=sh.py", "--files", "pkg/new\nline.py", "pkg/tab\there.py")
    write(place, dict.fromkeys(secret, f"{CANARY} = 'alpha'\n") | {"root/.env": f"{HIDDEN} = 'alpha'\n"})
    write(place, {"outside/rules": f"[{CANARY}\n*.py\n"} | {f"root/{name}": "alpha = 1\nbeta = 2\n" for name in shown})
    _links(root, outside)
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener, suppress(PermissionError):  # only an administrator makes devices
        listener.bind(str(root / "socket.py"))
        os.mknod(root / "device.py", 0o20644, os.makedev(1, 5))
    with (root / "sparse.py").open("wb") as handle:
        handle.truncate(1 << 38)
    return place


def _links(root, outside):
    links = {
        "file.py": outside / "secret.py", "folder": outside, "chain.py": "chain2.py", "chain2.py": "folder/secret.py",
        "pkg/up": "../..", "pkg/up2.py": "../../near.py", "self": ".", "loop": "loop2", "loop2": "loop", "zero.py": "/dev/zero",
        "proc": "/proc/self", "pkg/.gitignore": outside / "rules", "pkg/.ignore": outside / "rules", "pkg/.rgignore": "/dev/zero",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)


@pytest.fixture(scope="module")
def toolbox(place):
    return Toolbox(Repository(place / "root"), LIMITS, memory_bytes=0)


def call(toolbox, name, arguments):
    return asyncio.run(toolbox.call(name, arguments))


def leaks(result):
    return CANARY in result.output or CANARY in str(result.error) or any(CANARY in entity for entity in result.entities)


FRAGMENTS = (
    "..", "../..", "/repo", "/repo/", "/", "//", "folder", "file.py", "chain.py", "secret.py", "pkg/up", "pkg/up2.py",
    "outside", "near.py", "root2.py", "self", "loop", "proc", "proc/cwd", "proc/root", "environ", ".git", "config", ".env",
    "zero.py", "pipe.py", "sparse.py", "a.py", "pkg", "-rf", "--files", "--pre=sh", "--follow", "--hidden", "--no-ignore",
    "-uuu", "--ignore-file=", "*", "**", "**/*", "{a,b}", "!", "[", "?", "\\", "\0", "\n", "\r", "\t", "\x1b", "~", "$HOME",
    "`id`", ";", "alpha", ".", "(?s)", "x" * 4000, "é", "\ud800", "%2e%2e", "file:///",
)  # fmt: skip
TEXT = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=5).map("/".join) | st.lists(
    st.sampled_from(FRAGMENTS), max_size=4
).map("".join)
PLAIN = st.none() | st.integers() | st.booleans() | st.floats()
ANY = TEXT | PLAIN | st.lists(TEXT, max_size=2) | st.dictionaries(TEXT, TEXT, max_size=1)
KEYS = ("pattern", "path", "glob", "output_mode", "context", "start_line", "end_line")
MODES = st.sampled_from(["content", "count", "files_with_matches"])
OPTIONAL = {"path": TEXT, "glob": TEXT, "output_mode": MODES, "context": st.integers(-2, 30)}
PATTERNS, LINES = st.sampled_from(["alpha", ".", "", CANARY[:6], "["]) | TEXT, st.integers(-9, 9) | st.just(10**6)
WELL_FORMED = st.one_of(
    st.tuples(st.just("grep"), st.fixed_dictionaries({"pattern": PATTERNS}, optional=OPTIONAL)),
    st.tuples(st.just("glob"), st.fixed_dictionaries({"pattern": TEXT}, optional={"path": TEXT})),
    st.tuples(st.just("read_file"), st.fixed_dictionaries({"path": TEXT}, optional={"start_line": LINES, "end_line": LINES})),
)
MALFORMED = st.tuples(
    st.sampled_from(["grep", "glob", "read_file", "bash"]) | TEXT, st.dictionaries(st.sampled_from(KEYS) | TEXT, ANY, max_size=4)
)


@settings(max_examples=8 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(WELL_FORMED | MALFORMED)
@example(("grep", {"pattern": "--files", "glob": "--follow"}))
@example(("grep", {"pattern": "--pre=cat", "path": "/repo/-rf"}))
@example(("grep", {"pattern": ".", "path": "/repo/folder", "output_mode": "content"}))
@example(("grep", {"pattern": ".", "path": "/repo/self/pkg/up", "output_mode": "content"}))
@example(("grep", {"pattern": ".", "glob": "{.git,.git/**,.env,**/config}", "output_mode": "content"}))
@example(("glob", {"pattern": "/repo/../outside/**"}))
@example(("glob", {"pattern": "**", "path": "/repo/pkg/up/outside"}))
@example(("read_file", {"path": ".env"}))
@example(("read_file", {"path": "/repo/proc/root/etc/passwd"}))
@example(("read_file", {"path": "/repo/proc/cwd/pyproject.toml"}))
def test_no_arguments_lead_out_or_raise(toolbox, invocation):
    name, arguments = invocation
    result = call(toolbox, name, arguments)
    assert not leaks(result)
    assert HIDDEN not in result.output or ".env" in arguments["path"]
    assert len(result.output) <= LIMITS.output_chars
    assert result.output.encode("utf-8")
    assert result.error is None or result.error.isprintable()


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
def test_a_search_of_everything_finds_only_what_is_inside(toolbox, mode):
    result = call(toolbox, "grep", {"pattern": "alpha", "output_mode": mode})
    files = {entity.partition(":")[0] for entity in result.entities}
    assert files == {"a.py", "pkg/b.py", "pkg/[a]*/c.py", "-rf/--pre=sh.py", "--files"}
    assert not leaks(result)
    assert HIDDEN not in result.output


def test_a_hidden_file_is_shown_only_when_asked_for_by_name(toolbox):
    assert call(toolbox, "glob", {"pattern": ".*"}).entities == []
    assert call(toolbox, "grep", {"pattern": "alpha", "glob": ".env", "output_mode": "content"}).entities == []
    assert call(toolbox, "read_file", {"path": ".env"}).entities == [".env:1"]
    assert call(toolbox, "grep", {"pattern": "alpha", "path": ".env"}).entities == [".env"]


def test_every_link_out_is_refused_by_every_tool(toolbox, place):
    paths = "file.py folder folder/secret.py chain.py pkg/up pkg/up/near.py pkg/up2.py zero.py proc/environ"
    for name in paths.split():
        for tool, arguments in (("grep", {"pattern": "."}), ("glob", {"pattern": "*"}), ("read_file", {})):
            result = call(toolbox, tool, {**arguments, "path": f"/repo/{name}"})
            assert "is outside /repo" in (result.error or ""), name


@pytest.mark.parametrize("path", ["pipe.py", "socket.py", "device.py", "loop", "loop/x", "sparse.py", "-rf"])
def test_things_that_are_no_readable_file_answer_at_once(toolbox, path):
    for tool, arguments in (("read_file", {}), ("grep", {"pattern": "alpha"})):
        result = call(toolbox, tool, {**arguments, "path": f"/repo/{path}"})
        assert "ran out of time" not in (result.error or "")


def test_names_like_options_are_names(toolbox):
    assert call(toolbox, "read_file", {"path": "/repo/--files"}).entities == ["--files:1", "--files:2"]
    assert call(toolbox, "grep", {"pattern": "alpha", "path": "-rf"}).entities == ["-rf/--pre=sh.py"]
    assert call(toolbox, "grep", {"pattern": "-alpha|beta", "path": "a.py"}).entities == ["a.py"]
    assert call(toolbox, "glob", {"pattern": "--*"}).entities == ["--files", "-rf/--pre=sh.py"]


@pytest.mark.parametrize("name", IGNORED)
def test_ignore_files_inside_neither_reveal_nor_hide_more_than_git_would(tmp_path, name):
    write(tmp_path, {"a.py": "alpha\n", ".secret.py": "alpha\n", name: "!.secret.py\n!.git\na.py\n"})
    toolbox = Toolbox(Repository(tmp_path), LIMITS)
    expected = [] if name == ".gitignore" else ["a.py"]
    assert call(toolbox, "grep", {"pattern": "alpha"}).entities == expected


def test_machine_paths_are_never_shown(toolbox, place):
    for name, arguments in [
        ("grep", {"pattern": "("}),
        ("grep", {"pattern": "alpha", "path": "nowhere"}),
        ("read_file", {"path": "pipe.py"}),
        ("read_file", {"path": "folder/secret.py"}),
        ("glob", {"pattern": "*", "path": "a.py"}),
    ]:
        assert str(place) not in call(toolbox, name, arguments).output
