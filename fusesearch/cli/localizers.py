"""``fusesearch localizers``: the systems that can search, and what each needs."""

from __future__ import annotations

from typing import Annotated

import typer

from fusesearch.cli.checks import NEEDS
from fusesearch.cli.output import Format, print_json
from fusesearch.localizers.registry import LOCALIZERS


def localizers(format: Annotated[Format, typer.Option(help="How to print the list.")] = Format.text) -> None:
    """List the localizers: for `--localizer` of `localize`, `ask` and `mcp`, and for grids of `evaluate`.

    A localizer that asks a model can be fused with the ranking: `NAME+ranker`. `extra` is what `pip install` must bring for it.

    ```
    fusesearch localizers
    fusesearch localize "the text of an issue" --localizer bm25
    ```
    """
    if format is Format.json:
        about = ("asks_model", "issues", "questions", "bound", "summary")
        return print_json({name: {key: getattr(entry, key) for key in about} for name, entry in LOCALIZERS.items()})
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column("localizer", no_wrap=True), "model", "extra", "for", "how it searches", box=None, header_style="bold")
    for name, entry in LOCALIZERS.items():
        asked = "ask" if entry.asks_model else "evaluate"
        use = "evaluate" if entry.bound else "localize" if not entry.questions else "both" if entry.issues else asked
        extra = NEEDS.get(f"localize --localizer {name}") or ("models" if entry.asks_model else "")
        table.add_row(name, "asked" if entry.asks_model else "none", extra, use, entry.summary)
    Console().print(table)
