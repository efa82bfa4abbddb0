"""The short way of `fusesearch localize` and Typer's give the same; what it is not certain of, the short way leaves to Typer."""

import json
import os
import subprocess
import sys

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.cli import localize as command
from fusesearch.cli import quick
from fusesearch.cli.app import application
from fusesearch.cli.issues import address_of

MAIN = "import sys, fusesearch.cli\nsys.argv[:1] = ['fusesearch', 'localize']\nfusesearch.cli.main()"
WORDS = ["a text", "a\nb", "-", "--", "--repo", "--repo=.", "--repo=", ".", "", "--top", "--top=3", "3", "0", "101", "٣", "html",
    "--format", "json", "--format=text", "--issue", "--issue=x y", "-h", "--help", "--save", "--model=m", "\udcff x",
]  # fmt: skip
TEXTS = [
    "perimeter(3) returns 9 but should be 12", "it is broken", "Square.area is wrong\n\n    >>> Square().area(2)\n    5\n",
    'Traceback (most recent call last):\n  File "pkg/shapes.py", line 7, in perimeter\n    return 3 * side\nValueError: a\x1bb',
]  # fmt: skip


def by_typer(arguments, monkeypatch):
    """What Typer passes to the function of the command; None for a wrong command line or one that only prints help."""
    passed = {}
    monkeypatch.setattr(command, "given_once", lambda text, issue: passed.update(text=text, issue=issue) or "x y")

    class Stop(Exception):
        pass

    def repository(path):
        passed["repo"] = path
        raise Stop

    monkeypatch.setattr("fusesearch.search.repository.Repository", repository)
    options = {}
    monkeypatch.setattr("fusesearch.localizers.searcher.SearchOptions", lambda **given: options.update(given))
    try:
        typer.main.get_command(application(["localize"])).main(["localize", *arguments], standalone_mode=False)
    except Stop:
        return passed | {
            "top": options["top"],
            "others": {value for name, value in options.items() if name not in ("top", "mode")},
        }
    except BaseException:
        return None
    return None


@given(arguments=st.lists(st.sampled_from(WORDS), max_size=5))
def test_a_command_line_that_the_short_way_takes_means_the_same_to_typer(arguments):
    found = quick.options_of(arguments)
    if found is None:
        return
    with pytest.MonkeyPatch.context() as monkeypatch:
        full = by_typer(arguments, monkeypatch)
    assert full is not None
    assert found["--issue"] in (full["text"], full["issue"])
    assert None in (full["text"], full["issue"])
    assert found.get("--repo", ".") == str(full["repo"])
    assert (int(found["--top"]) if "--top" in found else None) == full["top"]
    assert full["others"] == {None}


@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], ["x y", "z"], ["x y", "--top", "0"], ["x y", "--format", "html"], ["x y", "--model", "m"], ["x y", "--repo"],
     ["x y", "--save", "f"], ["-x", "y"], ["", "--repo", "."], ["x y", "--top=1", "--top=2"]],
)  # fmt: skip
def test_other_command_lines_are_left_to_typer(arguments):
    assert quick.options_of(arguments) is None


@pytest.mark.parametrize("text", ["owner/repo#3", "https://github.com/o/r/issues/1", "#12", "word", "a/b.md"])
def test_an_address_and_a_single_word_are_left_to_typer(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert quick.localize([text]) is None


def test_a_text_with_blanks_is_no_address():
    assert not any(map(address_of, TEXTS))


@pytest.mark.parametrize("more", [[], ["--format", "json"], ["--top", "1"], ["--top=7", "--format=json"]])
@pytest.mark.parametrize("text", TEXTS)
def test_both_ways_print_the_same(run, repo, text, more, capsys, tmp_path):
    (tmp_path / "issue.md").write_text(text)
    for issue in (text, str(tmp_path / "issue.md")):
        full = run("localize", "--repo", repo, issue, *more)
        code = quick.localize(["--repo", str(repo), *more, issue])
        assert (code, untimed(capsys.readouterr().out)) == (full.exit_code, untimed(full.stdout))


def untimed(text):
    if not text.startswith("{"):
        return text.rsplit("\n", 2)[0]
    found = json.loads(text)
    assert list(found)[:4] == ["outcome", "places", "modify", "related"]
    found["trajectory"] = {name: value for name, value in found["trajectory"].items() if not name.startswith("seconds")}
    return json.dumps(found)


def test_both_ways_fail_with_the_same_line(run, tmp_path, capsys):
    (tmp_path / "empty.md").write_text(" ")
    for arguments in (["--repo", str(tmp_path / "none"), "a text"], ["--repo", str(tmp_path), str(tmp_path / "empty.md")]):
        full = run("localize", *arguments)
        assert quick.localize(arguments) == full.exit_code == 1
        assert capsys.readouterr().err == full.stderr


def test_stdin_is_read(repo):
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "-", "--repo", str(repo)], input=TEXTS[0], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "perimeter" in done.stdout) == (0, True)


def test_a_reader_that_left_is_no_fault(repo):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "perimeter is 6", "--repo", str(repo)], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
