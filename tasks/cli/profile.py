"""``fusesearch profile``: list, show and use the params of one scale."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="List, show and use the params of a scale.", rich_markup_mode="markdown")

Name = Annotated[str, typer.Argument(help="Name of the profile.", metavar="NAME")]


@app.command("list")
def list_profiles() -> None:
    """List the profiles and mark the current one.

    ```
    fusesearch profile list
    ```
    """
    from tasks.cli.profiles import current, load_profile, names

    root = Path.cwd()
    active = current(root)
    for name in names(root):
        params = load_profile(name, root)
        teacher = params.teacher.model or params.teacher.localizer
        typer.echo(f"{'*' if name == active else ' '} {name:<12} base {params.model.base}, teacher {teacher}")


@app.command()
def show(name: Name) -> None:
    """Print all params of a profile as YAML.

    ```
    fusesearch profile show small
    ```
    """
    import yaml

    from tasks.cli.profiles import load_profile

    params = load_profile(name, Path.cwd()).model_dump(mode="json")
    typer.echo(yaml.safe_dump(params, sort_keys=False, allow_unicode=True), nl=False)


@app.command()
def use(name: Name) -> None:
    """Make a profile the current `params.yaml`.

    The next `dvc repro` runs at that scale. `profile use nano` brings back the nano params as they were.

    ```
    fusesearch profile use small && fusesearch doctor --profile small
    ```
    """
    from tasks.cli import profiles

    profiles.use(name, Path.cwd())
    typer.echo(f"params.yaml is now {name}; `fusesearch doctor --profile {name}` says what it needs")
