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
    instances: Annotated[list[Path], typer.Option(help="Issues with their patches; may be repeated.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    model: Annotated[
        Path | None, typer.Option(help="Model file of the ranker. Default: the one that ships.", metavar="FILE")
    ] = None,
    free: Annotated[
        list[str] | None, typer.Option(help="A localizer without a model to run. Default: bm25 and lexical.", metavar="NAME")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of what is kept between runs.", metavar="DIR")] = Path("artifacts/evidence"),
    page: Annotated[Path, typer.Option(help="Folder for RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Score localizers without a model on real issues that the ranker's model never saw, and write the page.

    Goes on where it was stopped. Figures that this command does not measure stay as they are in `results.json`.
    """
    from experiments.evidence.run import evidence
    from fusesearch.localizers.ranker.trees import WEIGHTS

    found = evidence(instances, repos, model or WEIGHTS, free or ["bm25", "lexical"], out)
    write_jsonl(page / "unseen.jsonl", found.pop("instances"))
    write_json(page / "results.json", read_json(HERE / "results.json") | {"unseen": found})
    write_page(page)


@app.command("pro")
def pro(
    audit: Annotated[Path, typer.Argument(help="Clone of kimjune01/swebench-pro-audit.", metavar="AUDIT")],
    benchmark: Annotated[Path, typer.Argument(help="Clone of scaleapi/SWE-bench_Pro-os.", metavar="BENCHMARK")],
    to: Annotated[Path, typer.Option(help="File of instances for `fusesearch evaluate`.", metavar="FILE")],
    whole: Annotated[bool, typer.Option("--whole", help="With the sections REQUIREMENTS and INTERFACE.")] = False,
) -> None:
    """Make the instances of SWE-bench Pro from its two public repositories."""
    from experiments.evidence.pro import pro_rows

    rows = [*pro_rows(audit, benchmark, whole)]
    write_jsonl(to, rows)
    print(f"{len(rows)} issues of {len({row['repo'] for row in rows})} repositories")


@app.command("page")
def write_page(
    page: Annotated[Path, typer.Option(help="Folder of RESULTS.md and results.json.", metavar="DIR")] = HERE,
) -> None:
    """Write the page again, from `results.json` and `text.md`."""
    write_text(page / "RESULTS.md", results_page(read_json(page / "results.json"), texts_of(HERE)))


if __name__ == "__main__":
    app(prog_name="python -m experiments.evidence")
