"""Tables beside the papers', escaped for where they are printed; grids as files; benchmarks read."""

import json
from pathlib import Path

import pytest
import yaml

from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.schema import Instance, Score, Truth
from fusesearch.core.storage import write_instances
from fusesearch.evaluation.benchmarks import read_benchmark
from fusesearch.evaluation.grid import Benchmark, Grid, load_grid
from fusesearch.evaluation.protocols import PROTOCOLS
from fusesearch.evaluation.results import Cell, CellResult, Loaded, Manifest
from fusesearch.evaluation.running import cells_of
from fusesearch.reporting.comparison import compare_cells, paper_rows, quality_columns
from fusesearch.reporting.comparison_pages import sections_of
from fusesearch.reporting.page import Page, Section, show
from fusesearch.reporting.table import Row, Table

REFERENCE = Path(__file__).parents[3] / "experiments/reference"


@pytest.mark.parametrize(
    ("protocol", "benchmark", "rows"),
    [("fusesearch", "SWE-bench_Verified", 24), ("fusesearch", "Loc-Bench_V1", 2), ("tooltrain", "verified", 21),
     ("codescout", "verified", 0), ("fusesearch", "lite", 0)],
)  # fmt: skip
def test_the_papers_rows_stand_under_the_protocol_and_benchmark_they_are_of(protocol, benchmark, rows):
    found = paper_rows(protocol, benchmark, REFERENCE)
    assert len(found) == rows
    keys = {column.paper for column in quality_columns(PROTOCOLS[protocol])}
    assert all(keys & set(row.figures) >= {"file_f1"} or protocol == "tooltrain" for row in found)


def test_cells_are_text_wherever_they_are_printed():
    evil = "<b>|\\input{x}_%&$"
    section = Section("t", tables=[Table(evil, ["System", "Model", "x"], [Row([evil, "m", "1.0 [0.5, 1.5]"])])])
    page = Page("t", [section])
    assert "<b>" not in page.render("html").split("<h2>")[1]
    assert "&lt;b>\\|" in page.render("md")
    table = Table("", ["a"], [Row(["c\\|d", "![x](http://e/p.png)", "*"])])
    assert "| c\\\\\\|d | ![x]\\(http://e/p.png) | \\* |" in Page("t", [Section("t", tables=[table])]).render("md")


@pytest.mark.parametrize(("instances", "enough"), [(2, False), (9, False), (10, True)])
def test_intervals_and_tests_need_ten_instances(instances, enough):
    grid = Grid(localizers=["bm25", "lexical"], benchmarks=[Benchmark(name="b", instances="i", repos="r")])
    manifest = Manifest(grid=grid, benchmarks={"b": Loaded(source="i")}, cells=[])
    truth = {"true_files": ["a.py"], "true_functions": ["a.py::f"]}
    systems = []
    for name, sure in (("bm25", False), ("lexical", True)):
        files = ["a.py" if n % 2 or sure else "b.py" for n in range(instances)]
        scores = [Score(instance_id=str(n), **truth, predicted_files=[file]) for n, file in enumerate(files)]
        systems.append(CellResult(Cell(localizer=name, benchmark="b"), Path("x"), scores, manifest))
    found = compare_cells(systems, PROTOCOLS["fusesearch"], reference=Path("none"))
    assert (found.summary["bm25"]["file_f1"].low is not None) is enough
    assert bool(found.tests) is enough
    assert found.too_few == (0 if enough else instances)
    text = " ".join(line for section in sections_of(found, figures=False) for line in section.text)
    assert ("too few" in text) is not enough


def test_a_table_that_is_too_wide_stands_on_its_side(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    wide = Table("t", ["System", *(f"A long heading {n}" for n in range(20))], [Row(["bm25", *map(str, range(20))])])
    show([Section("s", tables=[wide])])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[4].split() == ["A", "long", "heading", "0", "0"]
    show([Section("s", tables=[Table("t", ["System", "x"], [Row(["bm25", "1"]), Row(["lexical", "2"])])])])
    assert "lexical" in capsys.readouterr().out.splitlines()[5]


def write(path, data):
    path.write_text(yaml.safe_dump(data))
    return path


BENCHMARK = {"name": "b", "instances": "i.jsonl", "repos": "r"}
MODEL = {"name": "m", "base_url": "http://localhost/v1"}


def test_cells_are_localizers_by_models_by_benchmarks_and_one_for_those_that_ask_none(tmp_path):
    data = {"localizers": ["fusesearch", "lexical"], "models": [MODEL, {**MODEL, "name": "n"}],
            "benchmarks": [BENCHMARK, {**BENCHMARK, "name": "c"}]}  # fmt: skip
    names = [cell.name for cell in cells_of(load_grid(write(tmp_path / "g.yaml", data)))]
    assert names == [f"{who}.{what}" for what in ("b", "c") for who in ("fusesearch.m", "fusesearch.n", "lexical")]
    assert [name for name in names if name.startswith("lexical")] == ["lexical.b", "lexical.c"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"benchmarks": [{"name": "../b", "instances": "i", "repos": "r"}]}, "benchmarks.0.name"),
        ({"benchmarks": [BENCHMARK, BENCHMARK]}, "benchmark b is given twice"),
        ({"models": [{"name": "m"}]}, "either base_url or checkpoint"),
        ({"localizer": ["x"]}, "localizer"),
        ({"localizers": []}, "give either localizers or cells"),
        ({"cells": {"words": {"localizer": "lexical"}}}, "give either localizers or cells"),
    ],
)
def test_a_malformed_grid_is_one_clear_line(tmp_path, change, message):
    data = {"localizers": ["lexical"], "benchmarks": [BENCHMARK]} | change
    with pytest.raises(ConfigError, match=message):
        load_grid(write(tmp_path / "g.yaml", data))


ROW = {"instance_id": "i", "repo": "o/r", "base_commit": "c", "problem_statement": "p", "patch": ""}


def test_a_benchmark_is_a_file_of_swe_bench_or_one_of_our_own(tmp_path):
    truth = Truth(files=["a.py"])
    (tmp_path / "a.jsonl").write_text(
        f"{json.dumps({**ROW, 'truth': truth.model_dump()})}\n{json.dumps({**ROW, 'instance_id': 'j'})}\n"
    )
    write_instances(tmp_path / "b.parquet", [Instance(**ROW, truth=truth)])
    assert [row.truth for row in read_benchmark(tmp_path / "a.jsonl")] == [truth, None]
    assert [row.truth for row in read_benchmark(tmp_path / "b.parquet")] == [truth]
    (tmp_path / "c.jsonl").write_text(f"{json.dumps(ROW)}\n" * 2)
    with pytest.raises(DataError, match="duplicate instance i"):
        read_benchmark(tmp_path / "c.jsonl")
