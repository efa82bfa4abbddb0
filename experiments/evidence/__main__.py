"""``python -m experiments.evidence``: the table and its page, from local files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HERE = Path(__file__).parent


def main(
    verified: Annotated[Path, typer.Option(help="SWE-bench Verified, .json, .jsonl or .parquet.", metavar="FILE")],
    lite: Annotated[Path, typer.Option(help="SWE-bench Lite, likewise.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    cosil: Annotated[
        Path, typer.Option(help="Clone of ZhonghaoJiang/CoSIL, which holds the released answers.", metavar="GITDIR")
    ],
    also: Annotated[
        list[Path] | None, typer.Option(help="Other real issues to learn from; may be repeated.", metavar="FILE")
    ] = None,
    histories: Annotated[
        list[str] | None, typer.Option(help="A clone in DIR whose commit messages are learned from too.", metavar="OWNER/NAME")
    ] = None,
    synthetic: Annotated[
        Path | None, typer.Option(help="A reproduction: synthetic faults in its data/ are learned from too.", metavar="DIR")
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

    What is scored was never trained on: rankers learn from the other repositories. Goes on where it was stopped.
    """
    from experiments.evidence.page import results_page, sections
    from experiments.evidence.run import Given, evidence
    from experiments.evidence.unseen import unseen as scores_of
    from experiments.evidence.wordings import wordings
    from fusesearch.core.config import Rank
    from fusesearch.core.storage import read_text, write_json, write_jsonl, write_text
    from fusesearch.localizers.ranker.trees import WEIGHTS

    sets = {"verified": verified, "lite": lite}
    free = free or ["bm25", "lexical"]
    given = Given(sets, repos, cosil, also or [], histories or [], synthetic, free, only or [], out)
    results = evidence(given, Rank())
    if unseen:
        results["unseen"] = scores_of(unseen, repos, model or WEIGHTS, free, out)
        write_jsonl(page / "unseen.jsonl", results["unseen"].pop("instances"))
    results["wordings"] = wordings(HERE / "wordings.jsonl", verified, repos, HERE / "without_verified.json", out)
    write_json(page / "results.json", results)
    write_text(page / "RESULTS.md", results_page(results, sections(read_text(HERE / "text.md"))))


if __name__ == "__main__":
    typer.run(main)
