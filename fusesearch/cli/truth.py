"""``fusesearch truth``: list what a patch modifies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.output import print_json, read_input


def truth(
    repo: Annotated[Path, typer.Option(help="Git repository, bare or not.", metavar="GITDIR")],
    base: Annotated[str, typer.Option(help="Commit the patch applies to.", metavar="SHA")],
    patch: Annotated[Path, typer.Option(help="Unified diff; `-` reads stdin.", metavar="FILE")],
) -> None:
    """List the files and functions that a patch modifies.

    Prints JSON: `files`, `functions`, `lines`, `added_files`, `added_functions`.
    `functions` are `path::Qualified.name`; `lines` are inclusive line ranges before the patch;
    `added_files` and `added_functions` exist only after it. `unread` are files with a changed line in code that
    cannot be parsed: there, functions are unknown. `submodules` that it moves are no files.

    Finds functions in Python and the languages of `fusesearch/code/other/languages.py`; files in other languages count
    as files only. A patch that changes only comments modifies no function.

    ```
    fusesearch truth --repo sympy.git --base 3f8c2a1 --patch fix.diff
    git diff | fusesearch truth --repo . --base HEAD --patch -
    ```
    """
    from fusesearch.data.truth import truth_in_git

    text = read_input(patch, "patch")
    print_json(truth_in_git(repo, base, text).model_dump(mode="json"))
