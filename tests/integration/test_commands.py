"""The installed command as a process: an answer, a failure, Ctrl-C while it starts, and what it imports."""

import subprocess
import sys

import pytest

HEAVY = {
    "pydantic", "yaml", "ruamel.yaml", "openai", "torch", "transformers", "trl", "prefect", "mlflow", "dvc", "polars", "numpy",
    "httpx",
}  # fmt: skip
UNUSED = {
    "fusesearch.agents.loop", "fusesearch.code.parsing", "fusesearch.core.config.params", "fusesearch.core.schema",
    "fusesearch.localizers.searcher", "fusesearch.agents.models.base", "tree_sitter", "torch", "numpy", "httpx2", "mcp",
}  # fmt: skip
"""What an answer of the ranker from an index does without."""


def started(code, *arguments, **options):
    program = f"import sys, fusesearch.cli\nsys.argv[0] = 'fusesearch'\n{code}"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, **options)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shapes.py").write_text("def perimeter(side):\n    return 3 * side\n")
    return tmp_path


def test_an_answer_from_an_index_imports_what_it_needs_and_ends_without_a_last_search_for_garbage(folder):
    code = (
        "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 10_000))\n"
        f"try:\n    fusesearch.cli.main()\nfinally:\n    print(sorted(set(sys.modules) & {UNUSED}))"
    )
    for _ in ("index", "answer"):
        done = started(code, "localize", "--repo", folder, "perimeter gives 6")
        assert (done.returncode, "shapes.py:1-2  perimeter" in done.stdout) == (0, True), done.stderr
    assert done.stdout.splitlines()[-2:] == ["[]", "True"]


def test_help_loads_no_heavy_package(folder):
    done = started(f"try:\n    fusesearch.cli.main()\nfinally:\n    print(sorted(set(sys.modules) & {HEAVY}))", "--help")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]")
    assert "Exit codes" in done.stdout


@pytest.mark.parametrize("module", ["typer", "fusesearch.localizers.ranker"])
def test_ctrl_c_during_the_imports_is_one_line(module, folder):
    code = (
        "import builtins\nreal = builtins.__import__\ndef importing(name, *rest):\n"
        f"    if name == {module!r}:\n        raise KeyboardInterrupt\n    return real(name, *rest)\n"
        "builtins.__import__ = importing\nfusesearch.cli.main()"
    )
    done = started(code, "localize", "a text", cwd=folder)
    assert (done.returncode, done.stderr) == (130, "fusesearch: interrupted\n")


@pytest.mark.parametrize("command", ["localize 'perimeter gives 6'", "doctor --format json", "--help"])
@pytest.mark.parametrize("stdout", [">/dev/full", ">&-", "| sh -c 'exec <&-; sleep 1'"])
def test_a_stdout_that_is_full_or_closed_is_one_line_and_a_reader_that_has_enough_none(folder, command, stdout):
    shell = f"({sys.executable} -P -m fusesearch {command}; echo $? >&2) {stdout}"
    done = subprocess.run(["bash", "-c", shell], cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    *lines, code = done.stderr.splitlines()
    assert code == "1"
    assert [line.startswith("fusesearch: ") for line in lines] == [True] * ("|" not in stdout)  # as `head` ends what it reads


@pytest.mark.parametrize("streams", [">/dev/full", ">&- <&-", "< /bin/sh"])
def test_a_hint_never_fails(streams):
    shell = f"echo {{}} | {sys.executable} -P -m fusesearch hint {streams}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["localize", "context"])
def test_what_a_code_page_lacks_is_an_escape(tmp_path, monkeypatch, command):
    (tmp_path / "日本.py").write_text("def goukei():\n    return 1\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    for name, value in (("LC_ALL", ""), ("LC_ALL", "C"), ("PYTHONUTF8", "0")):  # the last two: no path beyond ASCII can be opened
        monkeypatch.setenv(name, value)
        done = started("fusesearch.cli.main()", command, "--repo", tmp_path, "goukei returns 1")
        assert (done.returncode, "\\u65e5\\u672c.py" in done.stdout) == (0, True), done.stderr


def test_an_error_of_any_kind_is_one_line_and_shows_where_it_arose_if_asked(folder, monkeypatch):
    code = (
        "import fusesearch.search.repository as it\ndef broken(*_):\n    raise KeyError('a\\nb')\n"
        "it.Repository = broken\nfusesearch.cli.main()"
    )
    done = started(code, "localize", "x", "--repo", folder)
    line = "fusesearch: KeyError: 'a\\nb' (unexpected: set FUSESEARCH_TRACEBACK=1 to see where)\n"
    assert (done.returncode, done.stderr) == (1, line)
    monkeypatch.setenv("FUSESEARCH_TRACEBACK", "1")
    assert "in broken" in started(code, "localize", "x", "--repo", folder).stderr


def test_where_nothing_can_be_written_the_error_is_a_line(folder, monkeypatch):
    """The limit on the size of files stands in for a full disk, of the cache and of temporary files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # a module's that is cut at this size would break the next import
    for number in range(20):
        (folder / f"m{number}.py").write_text(f"def function_{number}(): return {number}\n" * 100)
    limit = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\nfusesearch.cli.main()"
    done = started(limit, "localize", "--repo", folder, "--issue", "function_3 is wrong")
    assert (done.returncode, done.stderr.startswith("fusesearch: "), done.stderr.count("\n")) == (1, True, 1), done.stderr
