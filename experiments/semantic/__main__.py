"""``python -m experiments.semantic measure|page``: the ranker with and without a sentence encoder, on real issues.

The control learns from the same similarities in a random order within each issue: what more columns are worth by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.evidence.page import differences_table, percent, systems_table, texts_of
from fusesearch.cli.app import command_group
from fusesearch.core.storage import read_json, write_json, write_text
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import Row, Table

if TYPE_CHECKING:
    from experiments.evidence.run import Tables
    from experiments.evidence.systems import System
    from fusesearch.core.schema import Instance

HERE = Path(__file__).parent
WORDS, SEMANTIC, SHUFFLED = "ranker", "ranker, semantic", "ranker, semantic, shuffled"
TITLES = {"verified": "SWE-bench Verified", "lite": "SWE-bench Lite", "locbench": "Loc-Bench", "multi_swe": "Multi-SWE-bench"}
app = command_group("What similarities of a sentence encoder are worth to the ranker.")


@app.command("measure")
def measure(
    issues: Annotated[list[Path], typer.Option(help="Real issues with patches; may be repeated.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    histories: Annotated[
        list[str] | None, typer.Option(help="A clone whose commit messages are learned from, too.", metavar="OWNER/NAME")
    ] = None,
    unseen: Annotated[
        list[Path] | None, typer.Option(help="Issues that are scored once with the models that ship.", metavar="FILE")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of what is kept between runs.", metavar="DIR")] = Path("artifacts/semantic"),
    page: Annotated[Path, typer.Option(help="Folder of RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Score the ranker with words alone, with similarities and with shuffled ones, and write the page.

    Issues are scored in parts of their repositories, by trees that saw none of their owners. Goes on where it was stopped.
    """
    from experiments.evidence.cases import in_order, read_cases
    from experiments.evidence.run import RANKER, systems_of
    from experiments.evidence.run import ranker as in_parts
    from experiments.evidence.unseen import rankings_by
    from experiments.evidence.weights import learned_from
    from fusesearch.core.config import Rank
    from fusesearch.localizers.ranker.encoder import needed
    from fusesearch.localizers.ranker.trees import MEANING_WEIGHTS, WEIGHTS, read_models
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.ranking import collect

    encoder = needed()
    snapshots = partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos)
    cases = read_cases({path.stem: path for path in issues}, repos, out)
    rows = [*in_order(cases.rows.values())]
    mined = [row for number, repo in enumerate(histories or []) for row in learned_from(repo, repos, number)]
    tables = collect([*rows, *mined], snapshots, out / "features-semantic", encoder=encoder)
    had = set(tables["file"]["instance_id"])
    rows = [row for row in rows if row.instance_id in had]
    systems = {
        WORDS: in_parts(tables, rows, Rank())[RANKER],
        SEMANTIC: in_parts(tables, rows, Rank(), encoder.identity)[RANKER],
        SHUFFLED: in_parts(shuffled(tables), rows, Rank(), encoder.identity)[RANKER],
    }
    sets = {name: _figures([row for row in cases.of(name) if row.instance_id in had], systems) for name in cases.sets}
    for path in unseen or []:
        strange = read_cases({path.stem: path}, repos, out / "unseen")
        rows = [*in_order(strange.rows.values())]
        tables = collect(rows, snapshots, out / "unseen/features-semantic", encoder=encoder)
        had = set(tables["file"]["instance_id"])
        rows = [row for row in rows if row.instance_id in had]
        shipped = {
            name: systems_of(rows, rankings_by(read_models(file), tables))[RANKER]
            for name, file in ((WORDS, WEIGHTS), (SEMANTIC, MEANING_WEIGHTS))
        }
        sets[path.stem] = _figures(rows, shipped)
    write_json(page / "results.json", {"encoder": encoder.identity, "sets": sets})
    write_page(page)


def shuffled(tables: Tables, seed: int = 0) -> Tables:
    """The tables with the similarities of each issue's candidates in another order, drawn anew for each issue."""
    import numpy as np
    import polars as pl

    from fusesearch.localizers.ranker.columns import COLUMNS, WITH_MEANING
    from fusesearch.localizers.ranker.meaning import FILES, FUNCTIONS
    from fusesearch.training.ranking import issues

    draw = np.random.default_rng(seed)
    found = {}
    for level, compared in (("file", FILES), ("function", FUNCTIONS)):
        order = np.arange(len(tables[level]))
        for part in issues(tables[level]):
            first = slice(part.start, min(part.stop, part.start + compared))
            order[first] = draw.permutation(order[first])
        similarities = [name for name in WITH_MEANING[level] if name not in COLUMNS[level]]
        found[level] = pl.concat([tables[level].drop(similarities), tables[level].select(similarities)[order]], how="horizontal")
    return found


def _figures(rows: Sequence[Instance], systems: Mapping[str, System]) -> dict[str, Any]:
    from experiments.evidence.measures import best_readings, by_group, confidence_of, differences, table
    from experiments.evidence.run import CONFIDENCE

    here = {name: system.only(row.instance_id for row in rows) for name, system in systems.items()}
    figures = table(here)
    compared = differences(here, SEMANTIC, best_readings(figures), CONFIDENCE)
    return {
        "table": figures,
        "differences": [row.model_dump(mode="json") for row in compared],
        "repositories": by_group(here, [WORDS, SEMANTIC], "repository", {row.instance_id: row.repo for row in rows}),
        "calibration": {name: confidence_of(system) for name, system in here.items()},
    }


@app.command("page")
def write_page(
    page: Annotated[Path, typer.Option(help="Folder of RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Write the page again, from `results.json` and `text.md`."""
    results, texts = read_json(page / "results.json"), texts_of(HERE)
    sections = [Section("What this is", texts["What this is"], [])]
    for name, found in results["sets"].items():
        tables = [systems_table(found), differences_table(found["differences"])]
        errors = [Row([system, percent(one["expected_error"])]) for system, one in found["calibration"].items()]
        tables.append(Table("Expected calibration error of the first file, in points", ["system", "error"], errors))
        sections.append(Section(TITLES[name], texts.get(TITLES[name], []), tables))
    sections += [Section(title, text, []) for title, text in texts.items() if title not in {one.title for one in sections}]
    write_text(page / "RESULTS.md", Page("Meaning: a sentence encoder in the ranker", sections).render("md"))


if __name__ == "__main__":
    app(prog_name="python -m experiments.semantic")
