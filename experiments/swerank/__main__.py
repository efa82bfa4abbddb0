"""``python -m experiments.swerank measure``: what an encoder retrieves for real issues beside the ranker and BM25; the page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.evidence.page import difference_cell, interval_cell, texts_of
from fusesearch.cli.app import command_group
from fusesearch.core.storage import read_json, write_json, write_text
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ABSENT, MINUS, Row, Table

HERE = Path(__file__).parent
PUBLISHED = HERE.parent / "reference/swerank_table1_swebench_lite.csv"
ACC = [f"file_acc@{k}" for k in (1, 3, 5)] + [f"function_acc@{k}" for k in (5, 10)]
RECALL = ["file_recall@1", "file_recall@5", "function_recall@1", "function_recall@5"]
app = command_group("SweRank's retriever with an untrained encoder, on real issues.")


@app.command("measure")
def measure(
    verified: Annotated[Path, typer.Option(help="SWE-bench Verified, from which the ranker learns, too.", metavar="FILE")],
    lite: Annotated[Path, typer.Option(help="SWE-bench Lite.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    encoder: Annotated[str, typer.Option(help="Folder of the encoder, or its name on the hub.", metavar="DIR")],
    most: Annotated[int | None, typer.Option(help="Only the first issues of the order that the page names.", metavar="N")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Also rerank flask's issues with this model.", metavar="DIR")] = None,
    out: Annotated[Path, typer.Option(help="Folder of what is kept between runs.", metavar="DIR")] = Path("artifacts/swerank"),
) -> None:
    """Retrieve, score and write ``results.json`` and the page. Goes on where it was stopped."""
    import asyncio

    import torch

    from experiments.evidence.cases import read_cases
    from experiments.swerank.run import chosen, reranked, study
    from fusesearch.agents.models.transformers import TransformersModel

    torch.set_num_threads(1)
    sets = {"verified": verified, "lite": lite}
    results = study(sets, repos, encoder, most, out)
    results["reranked"] = read_json(HERE / "results.json")["reranked"] if (HERE / "results.json").exists() else None
    if checkpoint:
        rows = [row for row in chosen(read_cases(sets, repos, out)) if row.repo == "pallets/flask"]
        results["reranked"] = asyncio.run(reranked(rows, repos, encoder, TransformersModel.load(checkpoint), out))
    write_json(HERE / "results.json", results)
    page()


@app.command("page")
def page() -> None:
    """Write ``RESULTS.md`` from ``results.json`` and ``text.md``."""
    write_text(HERE / "RESULTS.md", rendered(read_json(HERE / "results.json"), texts_of(HERE)))


def rendered(results: Mapping[str, Any], texts: Mapping[str, Sequence[str]]) -> str:
    """The page in Markdown."""
    tables = {
        "Under SweRank's rule": [_systems(results, ACC), _differences(results, ACC), _published()],
        "Under the rule of the other pages": [_systems(results, RECALL), _differences(results, RECALL)],
    }
    return Page(
        "SweRank: retrieve and rerank", [Section(title, list(of), tables.get(title, [])) for title, of in texts.items()]
    ).render("md")


def _name(key: str) -> str:
    return key.replace("_acc", " Acc").replace("_recall", " R")


def _systems(results: Mapping[str, Any], keys: Sequence[str]) -> Table:
    rows = [Row([row["system"], *(interval_cell(row[key]) for key in keys)]) for row in results["table"]]
    return Table(f"Measured here, {results['instances']} issues", ["system", *map(_name, keys)], rows)


def _differences(results: Mapping[str, Any], keys: Sequence[str]) -> Table:
    found = {(row["first"], row["second"], row["metric"]): row for row in results["differences"]}
    pairs = dict.fromkeys((first, second) for first, second, _ in found)
    rows = [
        Row([f"{first} {MINUS} {second}", *(difference_cell(found.get((first, second, key))) for key in keys)])
        for first, second in pairs
    ]
    return Table("Paired differences in points, p after Holm's correction", ["difference", *map(_name, keys)], rows)


def _published() -> Table:
    with PUBLISHED.open(encoding="utf-8") as handle:
        found = [row for row in csv.DictReader(handle) if row["type"] in ("retriever", "reranker")]
    rows = [
        Row([row["type"], row["method"], row["model"] or ABSENT, *(row[key.replace("@", "_at_")] for key in ACC)])
        for row in found
    ]
    return Table(
        "Published: SweRank's table 1, all 274 issues of Lite that modify a function",
        ["type", "method", "size", *map(_name, ACC)],
        rows,
    )


if __name__ == "__main__":
    app()
