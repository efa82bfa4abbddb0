"""``fusesearch doctor``: what is installed, what is missing, and how to fix it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fusesearch.cli.output import Format, print_json, usage_error
from fusesearch.cli.screen import screen, wrapped

if TYPE_CHECKING:
    from fusesearch.cli.checks import Check


def doctor(
    profile: Annotated[str | None, typer.Option(help="Check what this profile needs instead.", metavar="NAME")] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs of another machine, to plan for.", min=1, metavar="N")] = None,
    gpu_memory: Annotated[float | None, typer.Option(help="Memory of each in GiB.", min=1, metavar="GIB")] = None,
    endpoint: Annotated[str | None, typer.Option(help="Try this endpoint (with its /v1) instead.", metavar="URL")] = None,
    model: Annotated[str | None, typer.Option(help="Its model. The key is read from OPENAI_API_KEY.", metavar="NAME")] = None,
    format: Annotated[Format, typer.Option(help="How to print the checks.")] = Format.text,
) -> None:
    """Check the installation, and say how to fix what is missing.

    Exit code 0: the core works (search, scores, endpoints), or with `--profile`, that profile can run here.

    ```
    fusesearch doctor
    fusesearch doctor --profile paper-4b
    fusesearch doctor --profile paper-4b --gpus 8 --gpu-memory 80
    fusesearch doctor --endpoint http://localhost:8000/v1 --model Qwen/Qwen3-4B-Instruct-2507
    ```
    """
    from dataclasses import asdict

    from fusesearch.cli.checks import INSTALLED

    root = Path.cwd()
    if (gpus is None) != (gpu_memory is None) or (gpus and not profile):
        raise usage_error("a machine to plan for is --profile, --gpus and --gpu-memory together", "--gpus")
    if (endpoint is None) != (model is None):
        raise usage_error("an endpoint is tried with --endpoint and --model together", "--endpoint")
    if endpoint and model:
        import asyncio

        from fusesearch.cli.endpoint import tried

        checks, good = asyncio.run(tried(endpoint, model)), "Localizers can ask this model."
    elif profile:
        from fusesearch.cli.needs import Machine, Place, checked
        from fusesearch.cli.profiles import PARAMS, current, load_profile
        from fusesearch.core.config import load_params

        machine = Machine.here()
        if gpus and gpu_memory:  # as fast as those here
            machine = Machine(gpus, gpu_memory * 2**30, machine.name or "H100")
        params = load_params(root / PARAMS) if profile == current(root) else load_profile(profile, root)
        place = Place(params, root, machine)
        checks, good = checked(place), "Everything that the profile needs is here."
    else:
        checks, good = [check for each in INSTALLED for check in each(root)], "The core is complete."
    missing = [check for check in checks if not check.ok and (check.core or profile)]
    if format is Format.json:
        print_json({"ok": not missing, "checks": [asdict(check) for check in checks]})
    else:
        print_checks(checks, missing)
        typer.echo(f"\nMissing: {', '.join(check.name for check in missing)}." if missing else f"\n{good}")
    raise typer.Exit(1 if missing else 0)


def print_checks(checks: list[Check], missing: list[Check]) -> None:
    """One line for each, and below it what to do where something is not there."""
    width, shown = max(len(check.name) for check in checks), screen()
    indent = " " * (11 + width)
    for check in checks:
        mark, colour = ("ok", "green") if check.ok else ("missing", "red") if check in missing else ("absent", "yellow")
        first, *more = wrapped(check.detail, shown, indent)
        lines = [f"{typer.style(f'{mark:<7}', fg=colour)}  {check.name:<{width}}  {first.lstrip()}", *more]
        lines += [f"{indent}-> {check.hint}"] if not check.ok and check.hint else []  # whole, to be copied
        typer.echo("\n".join(lines))
