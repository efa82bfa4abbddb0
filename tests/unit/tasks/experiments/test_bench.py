"""The benchmarks run at a tiny size, and their table says what they found. Nothing here depends on how fast they are."""

import pytest
from typer.testing import CliRunner

from experiments.benchmarks.bench import __main__ as bench
from experiments.benchmarks.bench import grep, loop, snapshots
from experiments.benchmarks.bench.rows import Goal, Measure, as_markdown, interleave

ROWS = {
    "one": [
        Measure("a ratio", 1.234, 1.1, 12.34, Goal("<=", 1.15), "why"),
        Measure("a count", 1200, goal=Goal(">=", 1200)),
        Measure("a ratio without range", 0.25),
    ],
    "two": [Measure("another", 3)],
}


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "pkg").mkdir()
    for name in ("alpha", "beta", "gamma"):
        (tmp_path / "pkg" / f"{name}.py").write_text(f"def {name}():\n    raise ValueError\n")
    return tmp_path


def test_sides_take_turns_and_the_first_round_is_not_counted():
    order = []
    sides = {name: lambda name=name: order.append(name) or float(len(order)) for name in ("a", "b")}
    taken = interleave(sides, 3)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert taken == {"a": [3.0, 6.0, 7.0], "b": [4.0, 5.0, 8.0]}


def test_the_search_is_measured_on_any_tree(tree):
    rows = grep.measure_on(tree, 2)
    assert {row.what.partition(" /")[0] for row in rows} == {
        "one call", "the first call on a tree", "8 calls at once", "a call"
    }  # fmt: skip
    assert all(0 < row.low <= row.value <= row.high for row in rows)


def test_the_loop_is_measured_on_any_tree(tree):
    rows = loop.measure_on(tree, 4, 2)
    assert [row.what for row in rows] == ["episodes / their tool calls alone", "the loop's own milliseconds per episode"]
    assert all(0 < row.low <= row.value <= row.high for row in rows)


def test_the_page_holds_machine_date_and_every_row():
    page = as_markdown(ROWS, {"machine": "a processor"}, "2026-01-02", "python -m experiments.benchmarks.bench")
    assert "- machine: a processor" in page
    assert "`python -m experiments.benchmarks.bench`, 2026-01-02" in page
    assert "| a ratio | 1.23 | 1.10 to 12.3 | <= 1.15 | no | why |" in page
    assert "| a count | 1,200 |  | >= 1200 | yes |  |" in page
    assert "| a ratio without range | 0.25 |" in page


def test_the_command_measures_what_is_asked_for_and_fails_when_a_goal_is_missed(monkeypatch, tmp_path):
    import typer

    app = typer.Typer()
    app.command()(bench.bench)
    for subject, rows in ((grep, "one"), (loop, "two"), (snapshots, "two")):
        monkeypatch.setattr(subject, "measure", lambda quick, say, rows=ROWS[rows]: rows)
    run = CliRunner().invoke
    assert run(app, ["--only", "loop"]).exit_code == 0
    whole = run(app, ["--out", str(tmp_path / "R.md")])
    assert (whole.exit_code, (tmp_path / "R.md").exists()) == (1, True)
    assert run(app, ["--quick", "--out", str(tmp_path / "no.md")]).exit_code == 1
    assert not (tmp_path / "no.md").exists()
    assert run(app, ["--only", "nothing"]).exit_code == 2
