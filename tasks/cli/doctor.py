"""``fusesearch doctor``: what is installed, what is missing, what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasks.cli.output import Format, print_json

if TYPE_CHECKING:
    from tasks.cli.checks import Check


def doctor(
    profile: Annotated[
        str | None, typer.Option(help="Say what this profile needs, and what is missing here.", metavar="NAME")
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print the checks.")] = Format.text,
) -> None:
    """Say what is installed and what is missing.

    What is missing comes with what to do about it.
    Exit code 0 when the core works (search, truth, scores, endpoints); with `--profile`, when that profile can run here.

    ```
    fusesearch doctor
    fusesearch doctor --profile paper-4b
    ```
    """
    from dataclasses import asdict

    checks = list(_checks(profile))
    missing = [check for check in checks if not check.ok and (check.core or profile)]
    if format is Format.json:
        print_json({"ok": not missing, "checks": [asdict(check) for check in checks]})
    else:
        _print(checks, missing)
    raise typer.Exit(1 if missing else 0)


def _checks(profile: str | None) -> list[Check]:
    from tasks.cli.checks import all_checks
    from tasks.cli.needs import profile_checks
    from tasks.cli.profiles import load_profile

    root = Path.cwd()
    return list(profile_checks(load_profile(profile, root), root)) if profile else list(all_checks(root))


def _print(checks: list[Check], missing: list[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = typer.style("ok     ", fg="green") if check.ok else typer.style("missing", fg="red" if check.core else "yellow")
        typer.echo(f"{mark}  {check.name:<{width}}  {check.detail}")
        if not check.ok and check.hint:
            typer.echo(f"{'':9}{'':<{width}}  -> {check.hint}")
    names = ", ".join(check.name for check in missing)
    typer.echo(f"\nMissing: {names}." if missing else "\nNothing that is needed is missing.")
