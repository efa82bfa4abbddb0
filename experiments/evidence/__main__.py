"""``python -m experiments.evidence measure|page``: the table from local files, and its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.evidence.page import results_page, texts_of
from fusesearch.cli.app import command_group
from fusesearch.core.storage import read_json, write_json, write_jsonl, write_text

HERE = Path(__file__).parent
app = command_group("Localizers without a model beside released answers, on real issues.")


@app.command("measure")
def measure(
    verified: Annotated[Path, typer.Option(help="SWE-bench Verified, .json, .jsonl or .parquet.", metavar="FILE")],
    lite: Annotated[Path, typer.Option(help="SWE-bench Lite, likewise.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    cosil: Annotated[
        Path, typer.Option(help="Clone of ZhonghaoJiang/CoSIL, which holds the released answers.", metavar="GITDIR")
    ],
    also: Annotated[
        list[Path] | None, typer.Option(help="Other real issues to learn from; may be repeated.", metavar="FILE")
    ] = None,
    free: Annotated[
        list[str] | None, typer.Option(help="A localizer without a model to run. Default: bm25 and lexical.", metavar="NAME")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only issues of this repository; may be repeated.", metavar="OWNER/NAME")
    ] = None,
    unseen: Annotated[
        list[Path] | None,
        typer.Option(help="Issues of repositories that nobody looked at, with --model; may be repeated.", metavar="FILE"),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model file that is scored on --unseen. Default: the one that ships.", metavar="FILE")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of what is kept between runs.", metavar="DIR")] = Path("artifacts/evidence"),
    page: Annotated[Path, typer.Option(help="Folder for RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Score localizers without a model and released answers on the same real issues, and write the page.

    What is scored was never trained on: rankers learn from the other repositories. Goes on where it was stopped. Figures that
    this command does not measure stay as they are in `results.json`.
    """
    from experiments.evidence.run import Given, evidence
    from experiments.evidence.run import unseen as scores_of
    from experiments.evidence.trainer import Settings
    from fusesearch.localizers.ranker.trees import WEIGHTS

    sets = {"verified": verified, "lite": lite}
    free = free or ["bm25", "lexical"]
    results = read_json(HERE / "results.json") | evidence(
        Given(sets, repos, cosil, also or [], free, only or [], out), Settings()
    )
    if unseen:
        results["unseen"] = scores_of(unseen, repos, model or WEIGHTS, free, out)
        write_jsonl(page / "unseen.jsonl", results["unseen"].pop("instances"))
    write_json(page / "results.json", results)
    write_page(page)


@app.command("page")
def write_page(
    page: Annotated[Path, typer.Option(help="Folder of RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Write the page again, from `results.json` and `text.md`."""
    write_text(page / "RESULTS.md", results_page(read_json(page / "results.json"), texts_of(HERE)))


if __name__ == "__main__":
    app(prog_name="python -m experiments.evidence")
