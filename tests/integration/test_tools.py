"""The three tools over real trees with the real ripgrep."""

import asyncio
import os
import threading
import time

import pytest

from fusesearch.core.config import Tools
from fusesearch.core.errors import InfrastructureError
from fusesearch.search import ripgrep
from fusesearch.search.repository import Repository
from fusesearch.search.tools import Toolbox
from tests.fakes.git import write

NANO = Tools(grep_lines=6, line_chars=80, read_lines=40, output_chars=1200)


@pytest.fixture
def root(tmp_path):
    many = "".join(f"value_{number} = {number}\n" for number in range(41))
    return write(tmp_path, {
        "a.py": "import os\n\ndef alpha():\n    return beta()\n", "pkg/sub/c.txt": "beta notes\n", "pkg/many.py": many,
        "pkg/b.py": "def beta():\n    return 1\n\n\n\n\ndef beta2():\n    return beta()\n", ".gitignore": "build/\n",
        "build/out.py": "def beta(): generated\n", ".hidden/d.py": "def beta(): hidden\n",
    })  # fmt: skip


@pytest.fixture
def toolbox(root):
    return Toolbox(Repository(root), NANO)


def ask(toolbox, name, **arguments):
    return asyncio.run(toolbox.call(name, arguments))


MANY = [f"/repo/pkg/many.py:{line}:value_{line - 1} = {line - 1}" for line in range(1, 7)]


def test_grep_lists_files_counts_and_shows_content_with_groups_of_context_cut_with_a_short_notice(toolbox):
    files = ["a.py", "pkg/b.py", "pkg/sub/c.txt"]
    context = [
        "/repo/pkg/b.py:1:def beta():", "/repo/pkg/b.py-2-    return 1", "--", "/repo/pkg/b.py-6-",
        "/repo/pkg/b.py:7:def beta2():", "/repo/pkg/b.py-8-    return beta()",
    ]  # fmt: skip
    for arguments, output, entities in (
        ({"pattern": "beta"}, [f"/repo/{name}" for name in files], files),
        ({"pattern": "beta", "output_mode": "count"}, ["/repo/a.py:1", "/repo/pkg/b.py:3", "/repo/pkg/sub/c.txt:1"], files),
        ({"pattern": r"def beta\b", "output_mode": "content"}, ["/repo/pkg/b.py:1:def beta():"], ["pkg/b.py:1"]),
        ({"pattern": "def beta", "path": "/repo/pkg/b.py", "output_mode": "content", "context": 1}, context,
            [f"pkg/b.py:{line}" for line in (1, 2, 6, 7, 8)]),
        ({"pattern": "value_", "output_mode": "content"}, [*MANY, "(6 of 41 lines; narrow the pattern, path or glob)"],
            [f"pkg/many.py:{line}" for line in range(1, 7)]),
    ):  # fmt: skip
        result = ask(toolbox, "grep", **arguments)
        assert (result.output.splitlines(), result.entities, result.error) == (output, entities, None)


def test_grep_looks_where_it_is_told(toolbox):
    for arguments, paths in (
        ({"glob": "*.txt"}, ["pkg/sub/c.txt"]),
        ({"glob": "pkg/*.py"}, ["pkg/b.py"]),
        ({"glob": "/repo/pkg/*.py"}, ["pkg/b.py"]),
        ({"glob": "**/*.{py,txt}"}, ["a.py", "pkg/b.py", "pkg/sub/c.txt"]),
        ({"glob": "!*.py"}, ["pkg/sub/c.txt"]),
        ({"path": "/repo/pkg"}, ["pkg/b.py", "pkg/sub/c.txt"]),
        ({"path": "pkg", "glob": "sub/*"}, ["pkg/sub/c.txt"]),
        ({"path": "pkg", "glob": "pkg/sub/*"}, ["pkg/sub/c.txt"]),
        ({"path": "/repo/a.py"}, ["a.py"]),
        ({"path": "/repo/build/out.py"}, ["build/out.py"]),  # asked for by name, it is searched though it is ignored
    ):
        assert ask(toolbox, "grep", pattern="beta", **arguments).entities == paths, arguments


def test_no_match_is_an_answer_without_entities(toolbox):
    result = ask(toolbox, "grep", pattern="nowhere", path="/repo/pkg", glob="*.py")
    assert (result.output, result.entities, result.error) == ("No matches for nowhere in /repo/pkg (*.py)", [], None)
    assert ask(toolbox, "glob", pattern="*.rs").output == "No files match /repo (*.rs)"
    assert ask(toolbox, "glob", pattern=".github/*").output.endswith("(hidden files are left out)")


def test_glob_finds_paths(toolbox):
    for pattern, path, paths in (
        ("*.py", None, ["a.py", "pkg/b.py", "pkg/many.py"]),
        ("b.py", None, ["pkg/b.py"]),
        ("**/*.py", "/repo/pkg", ["pkg/b.py", "pkg/many.py"]),
        ("sub/*", "/repo/pkg", ["pkg/sub/c.txt"]),
        ("/repo/pkg/**", None, ["pkg/b.py", "pkg/many.py", "pkg/sub/c.txt"]),
        ("./pkg/?.py", None, ["pkg/b.py"]),
        ("[ab].py", None, ["a.py", "pkg/b.py"]),
    ):
        result = ask(toolbox, "glob", pattern=pattern, path=path)
        assert (result.entities, result.output) == (paths, "\n".join(f"/repo/{path}" for path in paths))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("bash", {"command": "ls"}, "the tools are grep, glob, read_file"),
        ("grep", {"pattern": "a(b"}, "ripgrep: unclosed group"),
        ("grep", {"pattern": "x", "glob": "["}, "ripgrep: error parsing glob '['"),
        ("glob", {"pattern": "["}, "ripgrep: error parsing glob '['"),
        ("grep", {"pattern": "x", "path": "/repo/pkg/bb.py"}, "no such file or folder: /repo/pkg/bb.py; close: /repo/pkg/b.py"),
        ("grep", {"pattern": "x", "path": "/etc"}, "/etc is outside /repo"),
        ("glob", {"pattern": "*", "path": "a.py"}, "/repo/a.py is not a folder"),
        ("read_file", {"path": "/repo/pkg"}, "is a folder"),
        ("read_file", {"path": "../../etc/passwd"}, "is outside /repo"),
    ],
)
def test_failures_teach_in_one_line(toolbox, name, arguments, words):
    result = ask(toolbox, name, **arguments)
    assert words in result.error
    assert result.output == f"Error: {result.error}"
    assert result.entities == []
    assert result.output.isprintable()


def test_binary_and_large_files_are_refused_by_name_and_passed_over_in_a_search(toolbox, root):
    (root / "pkg" / "data.bin").write_bytes(b"beta\0beta\n")
    (root / "pkg" / "large.txt").write_text("beta\n" * (4 << 20))
    assert "binary" in ask(toolbox, "grep", pattern="beta", path="/repo/pkg/data.bin").error
    assert "too large" in ask(toolbox, "grep", pattern="beta", path="/repo/pkg/large.txt").error
    assert ask(toolbox, "grep", pattern="beta", path="/repo/pkg").entities == ["pkg/b.py", "pkg/sub/c.txt"]


@pytest.fixture
def runs(monkeypatch):
    """The searches that ripgrep makes from now on."""
    made, real = [], ripgrep.RipgrepRun.run
    monkeypatch.setattr(ripgrep.RipgrepRun, "run", lambda *arguments: (made.append(arguments), real(*arguments))[1])
    return made


def test_equal_calls_are_one_search_whose_result_or_failure_toolboxes_of_the_same_limits_remember(root, runs):
    repository = Repository(root)
    toolbox = Toolbox(repository, NANO)
    first = [ask(toolbox, "grep", pattern="beta", context=n) for n in ("1", 1, 1.0)]
    assert (len({result.output for result in first}), len(runs)) == (1, 1)
    ask(toolbox, "grep", pattern="(")
    first[0].entities.clear()  # a caller cannot change the memory
    again, failed = ask(Toolbox(repository, NANO), "grep", pattern="beta", context=1), ask(toolbox, "grep", pattern="(")
    assert (again.output, bool(again.entities), bool(failed.error), len(runs)) == (first[0].output, True, True, 2)
    ask(Toolbox(repository, Tools()), "grep", pattern="beta", context=1)
    ask(Toolbox(Repository(root), NANO), "grep", pattern="beta", context=1)
    assert len(runs) == 4


def test_results_too_large_to_read_are_the_first_in_path_order(tmp_path):
    write(tmp_path, {name: f"{name} same old line\n" * 60_000 for name in ("z.txt", "a/b.txt", "m.txt")})
    toolbox = Toolbox(Repository(tmp_path), NANO, memory_bytes=0)
    (result,) = {ask(toolbox, "grep", pattern="same", output_mode="content").output for _ in range(5)}
    assert result.startswith("/repo/a/b.txt:1:a/b.txt same old line\n")


def test_no_more_searches_run_at_once_than_allowed(root, monkeypatch):
    toolbox = Toolbox(Repository(root), Tools(), memory_bytes=0)
    monkeypatch.setattr("fusesearch.search.tools.cores", lambda: 2)
    running, most, lock = 0, 0, threading.Lock()
    real = ripgrep.RipgrepRun.run

    def counted(*arguments):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        found = real(*arguments)
        with lock:
            running -= 1
        return found

    monkeypatch.setattr(ripgrep.RipgrepRun, "run", counted)

    async def many():
        return await asyncio.gather(*(toolbox.call("grep", {"pattern": f"beta|x{n}"}) for n in range(20)))

    assert all(result.error is None for result in asyncio.run(many()))
    assert most <= 4


def test_a_search_that_hangs_is_a_failure_of_the_infrastructure_and_not_remembered(root, monkeypatch):
    toolbox = Toolbox(Repository(root))
    os.mkfifo(root / "pipe")
    monkeypatch.setattr(Repository, "walks", lambda *_: [["--", "./pipe"]])
    monkeypatch.setattr(ripgrep, "WALL_SECONDS", 0.2)
    with pytest.raises(InfrastructureError, match=r"did not end within 0\.2 s"):
        ask(toolbox, "grep", pattern="beta")
    monkeypatch.undo()
    assert ask(toolbox, "grep", pattern="beta").error is None
    monkeypatch.setattr(ripgrep, "binary", lambda: "/nowhere/rg")
    with pytest.raises(InfrastructureError, match="cannot be started"):
        ask(Toolbox(Repository(root)), "grep", pattern="beta")


def test_a_search_that_takes_too_much_work_is_an_observation(root, monkeypatch):
    (root / "zeros").touch()
    os.truncate(root / "zeros", 1 << 40)
    monkeypatch.setattr(ripgrep, "CPU_SECONDS", 1)
    monkeypatch.setattr(Repository, "walks", lambda *_: [["--text", "--null-data", "--", "./zeros"]])
    assert "narrow the pattern" in ask(Toolbox(Repository(root)), "grep", pattern="beta").error


def test_cancelling_a_call_ends_its_search_and_no_other(root, monkeypatch):
    os.mkfifo(root / "pipe")
    monkeypatch.setattr(Repository, "walks", lambda *_: [["--", "./pipe"]])
    made = []
    monkeypatch.setattr("fusesearch.search.tools.RipgrepRun", lambda: made.append(ripgrep.RipgrepRun()) or made[-1])

    async def scenario():
        toolbox = Toolbox(Repository(root))
        waiting = [asyncio.create_task(toolbox.call("grep", {"pattern": "beta"})) for _ in range(2)]
        await asyncio.sleep(0.2)
        waiting[0].cancel()
        assert await asyncio.to_thread(made[0]._process.wait, 5) != 0
        alive = made[1]._process.poll() is None
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return alive

    assert asyncio.run(scenario())


@pytest.fixture
def line_ends(tmp_path):
    files = (("lf.cs", b"class A\nfoo();\n\tbar\nlast"), ("win.cs", b"class A\r\nfoo();\r\n\tbar\r\nlast"))
    for name, content in (*files, ("mixed.cs", b"class A\nfoo();\r\n")):
        (tmp_path / name).write_bytes(content)
    return Toolbox(Repository(tmp_path))


def test_a_line_ends_before_its_line_end_whichever_it_is(line_ends):
    for pattern, lines in (
        (r"^class A$", ["lf.cs:1", "mixed.cs:1", "win.cs:1"]),
        (r"foo\(\);$", ["lf.cs:2", "mixed.cs:2", "win.cs:2"]),
        (r"[^;]$", ["lf.cs:1", "lf.cs:3", "lf.cs:4", "mixed.cs:1", "win.cs:1", "win.cs:3", "win.cs:4"]),
        (r"bar(?:$|x)", ["lf.cs:3", "win.cs:3"]),
        (r"\bfoo.*\s*$", ["lf.cs:2", "mixed.cs:2", "win.cs:2"]),
        (r"^$", []),
        (r"last$", ["lf.cs:4", "win.cs:4"]),
        (r";\r$", ["mixed.cs:2", "win.cs:2"]),
        (r";\x0d?$", ["lf.cs:2", "mixed.cs:2", "win.cs:2"]),
        (r"\$", []),
    ):
        assert ask(line_ends, "grep", pattern=pattern, output_mode="content").entities == lines, pattern
        counts = ask(line_ends, "grep", pattern=pattern, output_mode="count").output.splitlines()
        names = [line.partition(":")[0] for line in lines]
        expected = [f"/repo/{name}:{names.count(name)}" for name in dict.fromkeys(names)]
        assert [line for line in counts if line[0] == "/"] == expected, pattern


def test_a_model_is_told_of_crlf(line_ends):
    assert ask(line_ends, "read_file", path="lf.cs").output.endswith("4\tlast")
    assert ask(line_ends, "read_file", path="win.cs").output.endswith("4\tlast\n(lines end in CR LF)")
    assert ask(line_ends, "read_file", path="win.cs", end_line=1).output == "1\tclass A\n(lines end in CR LF)"
    assert ask(line_ends, "read_file", path="mixed.cs").output.endswith("(1 of 2 lines end in CR LF)")
    shown = ask(line_ends, "grep", pattern="foo", output_mode="content").output
    assert shown.endswith("/repo/win.cs:2:foo();\n(lines end in CR LF in /repo/mixed.cs, /repo/win.cs)")
    assert ask(line_ends, "grep", pattern="foo", output_mode="content", path="lf.cs").output == "/repo/lf.cs:2:foo();"


ROUTES = (
    "app/[slug]/page.tsx", "app/(shop)/cart.tsx", "app/[[...all]]/page.tsx", "app/s/page.tsx",
    "app/@modal/(.)photo/[id]/page.tsx", "routes/{lang}/a,b.ts", "routes/[open/x.ts", "routes/!x.ts", "odd/a*b?.ts",
    "page.tsx", "[id].tsx", "lib/[id].tsx", "a[b]{c}*!/in/x.py",
)  # fmt: skip


@pytest.fixture
def routes(tmp_path):
    return Toolbox(Repository(write(tmp_path, dict.fromkeys(ROUTES, "price\n"))))


def test_glob_with_the_path_of_a_file_finds_it(routes):
    for name in [name for name in ROUTES if "/" in name]:
        for form in ("{}", "/repo/{}", "./{}"):
            assert ask(routes, "glob", pattern=form.format(name)).entities == [name]
            assert name in ask(routes, "grep", pattern="price", glob=form.format(name)).entities
        folder, _, rest = name.partition("/")
        assert name in ask(routes, "glob", pattern=rest, path=folder).entities
        assert name in ask(routes, "grep", pattern="price", glob=rest, path=folder).entities


def test_brackets_in_a_pattern_are_a_class_and_also_themselves(routes):
    for pattern, files in (
        ("app/[slug]/*.tsx", ["app/[slug]/page.tsx", "app/s/page.tsx"]),
        ("**/[slug]/**", ["app/[slug]/page.tsx", "app/s/page.tsx"]),
        ("[id].tsx", ["[id].tsx", "lib/[id].tsx"]),
        ("app/[slug]", ["app/[slug]/page.tsx"]),
        ("/repo/app/[slug]/", ["app/[slug]/page.tsx"]),
        ("[slug]/../..", []),
        ("page.tsx", [name for name in sorted(ROUTES, key=lambda name: name.split("/")) if name.endswith("page.tsx")]),
        ("{page,cart}.nothing", []),
    ):
        assert ask(routes, "glob", pattern=pattern).entities == files, pattern


def test_a_pattern_may_start_at_the_root_and_one_of_another_machine_gets_the_hint_of_a_path(routes):
    assert ask(routes, "glob", pattern="/app/s/*").entities == ["app/s/page.tsx"]
    assert ask(routes, "glob", pattern="/app/s/*.rs").output == "No files match /repo (/app/s/*.rs)"
    for pattern in ("/home/me/shop/app/cart.tsx", "/home/me/shop/app/(shop)/cart.tsx"):
        hint = f"{pattern} is outside /repo, with which every path begins; close: /repo/app/(shop)/cart.tsx"
        calls = (
            ("glob", {"pattern": pattern}),
            ("grep", {"pattern": "x", "glob": pattern}),
            ("grep", {"pattern": "x", "path": pattern}),
        )
        assert [ask(routes, name, **arguments).error for name, arguments in calls] == [hint] * 3
