"""A grid over real git, real tools and a real HTTP endpoint: killed and resumed, with a failing endpoint, extended, compared."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from fusesearch.core.caches import Caches
from fusesearch.core.errors import InfrastructureError
from fusesearch.evaluation.grid import load_grid
from fusesearch.evaluation.results import read_results
from fusesearch.evaluation.running import figures_of, opened
from fusesearch.search import ripgrep
from tests.fakes.endpoint import Endpoint, scripted
from tests.fakes.git import committed, git
from tests.integration.installed import BLOCKED

ROOT = Path(__file__).parents[2]
NAMES = [f"part{index}" for index in range(8)]
PIPELINE = ("psutil", "dvc", "prefect", "mlflow", "ray", "torch", "transformers", "vllm", "tasks", "flows")
TIMED = {"seconds", "seconds_model", "seconds_tools", "seconds_waiting"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A bare clone, instances whose patches change one function each, and what a model answers about each."""
    root = tmp_path_factory.mktemp("world")
    commit = committed(root / "work", {f"{name}.py": f"def {name}(x):\n    return x + 1\n" for name in NAMES})
    git(root, "clone", "-q", "--bare", "work", "repos/o__shop.git")
    rows = [
        {"instance_id": f"o__shop-{name}", "repo": "o/shop", "base_commit": commit,
         "problem_statement": f"{name}(1) adds one too many in all cases", "patch": patch(name)}
        for name in NAMES
    ]  # fmt: skip
    rows.append({**rows[0], "instance_id": "o__shop-damaged", "patch": "no patch"})
    (root / "set-verified.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return root


def patch(name):
    return (
        f"diff --git a/{name}.py b/{name}.py\n--- a/{name}.py\n+++ b/{name}.py\n@@ -1,2 +1,2 @@\n"
        f" def {name}(x):\n-    return x + 1\n+    return x\n"
    )


def served():
    """A model's side of every instance: half of the answers are right."""
    from fusesearch.agents.parsing import format_calls
    from fusesearch.agents.prompts import render_issue
    from fusesearch.core.config import Agent

    replies = {}
    for place, name in enumerate(NAMES):
        search = format_calls([("grep", {"pattern": f"def {name}"}), ("glob", {"pattern": "*.py"})])
        named = name if place % 2 else NAMES[place - 1]
        answer = f"## Locations to Modify\n- /repo/{named}.py::{named}\n"
        replies[render_issue(Agent(), f"{name}(1) adds one too many in all cases")] = [search, answer]
    return scripted(replies)


def grid_file(world, tmp_path, url, **changes):
    data = {
        "localizers": ["fusesearch", "lexical"],
        "models": [{"name": "m", "base_url": url, "tool_format": "hermes", "backoff_seconds": 0.01, "timeout_seconds": 5,
                    "retries": 20, **changes.pop("model", {})}],
        "benchmarks": [{"name": "verified", "instances": str(world / "set-verified.jsonl"), "repos": str(world / "repos")}],
        "runs": 2, "concurrency": 4,
    } | changes  # fmt: skip
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def run_grid(path, out, **options):
    with opened(load_grid(path), out, Caches(out.parent / "cache"), **options) as current:
        figures = {cell.name: figures_of(current.run(cell)) for cell in current.cells}
        current.finish()
    return figures


def table(out):
    """Every score of a grid but its times."""
    return [row.model_dump(exclude=TIMED) for result in read_results([out]).cells for row in result.scores]


@pytest.fixture(scope="module")
def clean(world, tmp_path_factory):
    """The grid as it is when nothing fails."""
    out = tmp_path_factory.mktemp("clean")
    with Endpoint(served()) as server:
        run_grid(grid_file(world, out, server.url), out / "results")
    return out / "results"


def test_a_grid_has_a_cell_per_system_and_says_what_it_left_out(clean):
    found = read_results([clean])
    assert [row.cell.name for row in found.cells] == ["fusesearch.m.verified", "lexical.verified"]
    facts = found.cells[0].manifest.benchmarks["verified"]
    assert (facts.instances, list(facts.excluded)) == (8, ["o__shop-damaged"])
    assert {row.f1 for row in found.cells[0].scores} == {0.0, 1.0}
    assert pl.read_parquet(clean / "scores.parquet").height == 8 * 2 + 8  # lexical always answers the same, so it runs once
    assert not list(clean.rglob("journal.jsonl"))


def test_a_finished_cell_says_what_its_endpoint_refused(world, tmp_path):
    def plain(request):
        if "seed" in request:
            raise ValueError("seed is not supported")
        return answer(request)

    answer = served()
    with Endpoint(plain) as server:
        run_grid(grid_file(world, tmp_path, server.url, localizers=["fusesearch"]), tmp_path / "results")
    done = json.loads((tmp_path / "results/cells/fusesearch.m.verified/cell.json").read_text())
    assert done["changes"] == ["without seed"]
    assert {row.error for result in read_results([tmp_path / "results"]).cells for row in result.scores} == {None}


def test_without_tries_failures_are_errored_episodes_and_never_zeros(world, clean, tmp_path):
    path = None
    with Endpoint(served(), {"drop": 0.5}, seed=3) as server:
        path = grid_file(world, tmp_path, server.url, model={"retries": 0})
        figures = run_grid(path, tmp_path / "results")["fusesearch.m.verified"]
    scores = table(tmp_path / "results")
    errored = [row for row in scores if row["error"]]
    assert figures["errored"] == len(errored) > 0
    assert all(row["f1"] is None and row["efficiency"] is None for row in errored)
    before = {(row["arm"], row["instance_id"], row["run"]): row for row in table(clean)}
    assert all(row == before[row["arm"], row["instance_id"], row["run"]] for row in scores if not row["error"])
    shown = compared(tmp_path / "results", "--format", "markdown").stdout
    assert f"| {len(errored)} |" in next(line for line in shown.splitlines() if line.startswith("| fusesearch | m |"))
    with Endpoint(served()) as server:  # another address: how the endpoint is reached is no part of the settings
        run_grid(grid_file(world, tmp_path, server.url), tmp_path / "results", retry_errored=True)
        assert sum(server.served.values()) == 2 * len(errored)
    assert table(tmp_path / "results") == table(clean)


def test_a_system_that_could_not_run_at_all_says_why(world, tmp_path, monkeypatch):
    from tests.fakes.commands import app

    def missing():
        raise InfrastructureError("ripgrep is missing")

    given = {
        "instances": world / "set-verified.jsonl",
        "repos": world / "repos",
        "out": tmp_path / "out",
        "cache": tmp_path / "c",
    }
    command = ["evaluate", *(f"--{name}={value}" for name, value in given.items()), "--runs=1", "--localizer=lexical"]
    monkeypatch.setattr(ripgrep, "binary", missing)
    done = CliRunner().invoke(app, command)
    said = "lexical.set-verified: 8 of 8 episodes errored, first: ripgrep is missing; --retry-errored tries them again\n"
    assert (done.exit_code, done.stderr) == (1, said)
    monkeypatch.undo()
    assert CliRunner().invoke(app, [*command, "--retry-errored"]).exit_code == 0


def test_killed_in_the_middle_and_called_again_gives_the_same_table(world, clean, tmp_path):
    out = tmp_path / "results"
    with Endpoint(served(), {"late": 1.0}) as server:
        path = grid_file(world, tmp_path, server.url, concurrency=2)
        command = [sys.executable, "-c", "from fusesearch.cli import main; main()", "evaluate", str(path), "--out", str(out)]
        command += ["--cache", str(tmp_path / "cache")]
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
        journal = out / "cells/fusesearch.m.verified/journal.jsonl"
        deadline = time.monotonic() + 120
        while not (journal.exists() and journal.read_text().count("\n") >= 3):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = journal.read_text().count("\n")
    assert 3 <= kept < 16
    with Endpoint(served()) as server:
        run_grid(grid_file(world, tmp_path, server.url), out)
        assert sum(server.served.values()) == 2 * (16 - kept)
    assert table(out) == table(clean)
    rows = [compared(folder, "--format", "markdown").stdout for folder in (out, clean)]
    assert len({untimed(text) for text in rows}) == 1


def untimed(text):
    """Table 1 and the tests without the column of seconds."""
    searching = re.search(r"How systems search.*?\n## ", text, re.S)
    lines = [line.split("|") for line in text.replace(searching[0], "").splitlines() if line.startswith("| ")]
    return str([cells[:11] + cells[13:] for cells in lines if len(cells) in (17, 5)])


def compared(out, *options):
    from tests.fakes.commands import app

    reference = ["--reference", str(ROOT / "experiments/reference")]
    result = CliRunner().invoke(app, ["compare", str(out), *reference, *options])
    assert result.exit_code == 0, result.output
    return result


def test_the_page_has_the_papers_rows_and_pictures(clean, tmp_path):
    compared(clean, "--format", "html", "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert page.count("data:image/svg+xml") >= 1
    assert "Agentless" in page


def test_one_grid_reads_under_every_protocol_in_every_format(clean):
    protocols = ("fusesearch", "single_file", "codescout", "tooltrain", "locagent")
    for protocol, kind in zip(protocols, ("terminal", "markdown") * 3, strict=False):
        text = compared(clean, "--protocol", protocol, "--format", kind).stdout
        assert "fusesearch" in text
        assert "lexical" in text
        assert ("| --- |" in text) == (kind == "markdown")


def test_evaluate_prints_its_table_and_runs_what_always_answers_the_same_once(world, tmp_path, monkeypatch):
    from tests.fakes.commands import app

    monkeypatch.chdir(tmp_path)
    path = grid_file(world, tmp_path, "", localizers=["lexical", "random"], models=[], runs=3)
    done = CliRunner().invoke(app, ["evaluate", str(path), "--out", "out", "--cache", "cache"])
    assert done.exit_code == 0, done.output

    assert re.search(r"File F1 \(%\) +100\.0", done.stdout)
    assert done.stdout.splitlines()[-1] == "2 cells, 32 episodes in out: `fusesearch compare out` says more"
    assert [len(row.scores) for row in read_results([Path("out")]).cells] == [8, 24]
    assert {child.name for child in tmp_path.iterdir()} == {"grid.yaml", "out", "cache"}


def test_cells_by_name_are_scored_as_the_localizers_they_name(world, clean, tmp_path):
    path = grid_file(world, tmp_path, "", localizers=[], models=[], runs=1, cells={"words": {"localizer": "lexical"}})
    run_grid(path, tmp_path / "results")
    (found,) = read_results([tmp_path / "results"]).cells
    assert (found.cell.name, found.cell.system) == ("words", "words")
    assert table(tmp_path / "results") == [{**row, "arm": "words"} for row in table(clean) if row["arm"] == "lexical.verified"]
    assert "| lexical |" in compared(tmp_path / "results", "--format", "markdown").stdout


def test_settings_that_differ_are_refused_by_name(world, clean, tmp_path):
    from fusesearch.core.errors import ConfigError

    path = grid_file(world, tmp_path, "http://127.0.0.1:1/v1", agent={"max_turns": 3})
    with pytest.raises(ConfigError, match="another agent"):
        run_grid(path, clean)


def test_evaluate_needs_no_package_of_the_pipeline(world, tmp_path):
    """A process that cannot import them, with the packages of the extra `evaluate` alone."""
    path = grid_file(world, tmp_path, "", localizers=["bm25", "lexical"], models=[], runs=1)
    for line in (["evaluate", str(path), "--out", "results", "--cache", "cache"], ["compare", "results"]):
        done = subprocess.run(
            [sys.executable, "-c", BLOCKED.format(modules=PIPELINE), *line], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "lexical" in done.stdout
    assert {child.name for child in tmp_path.iterdir()} == {"grid.yaml", "results", "cache"}
