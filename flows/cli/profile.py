"""``python -m flows profile``: list, show and switch the profiles of the checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from fusesearch.cli.profiles import BASE, NANO_COPY, PARAMS, current, load_profile, merged, names, nano_file

app = typer.Typer(no_args_is_help=True, help="List, show and switch profiles.", rich_markup_mode="markdown")

Name = Annotated[str, typer.Argument(help="Name of the profile.", metavar="NAME")]


@app.command("list")
def list_profiles() -> None:
    """List the profiles and mark the current one.

    ```
    python -m flows profile list
    ```
    """
    root = Path.cwd()
    active = current(root)
    width = max(map(len, names(root)), default=0)
    for name in names(root):
        params = load_profile(name, root)
        teacher = params.teacher.model or "lexical"
        typer.echo(f"{'*' if name == active else ' '} {name:<{width}} base {params.model.base}, teacher {teacher}")


@app.command()
def show(name: Name) -> None:
    """Print all params of a profile as YAML.

    ```
    python -m flows profile show small
    ```
    """
    import yaml

    params = load_profile(name, Path.cwd()).model_dump(mode="json")
    typer.echo(yaml.safe_dump(params, sort_keys=False, allow_unicode=True), nl=False)


@app.command()
def use(name: Name) -> None:
    """Write a profile to `params.yaml`, and what it reads to `dvc.yaml`.

    The next `dvc repro` runs at that scale. `profile use nano` restores both files exactly.

    ```
    python -m flows profile use small && fusesearch doctor --profile small
    ```
    """
    switch(name, Path.cwd())
    typer.echo(f"params.yaml is now {name}; `fusesearch doctor --profile {name}` says what it needs")


def switch(name: str, root: Path, over: str = BASE, changes: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write profile ``name`` to ``params.yaml`` and its base model and localizers to ``dvc.yaml``.

    What the profile does not say is that of ``over``; ``changes`` go over both, as in ``params.yaml``. Keeps a copy
    of nano's params, so that they can be restored exactly.
    """
    import yaml

    from fusesearch.core.config import overlay, parse_params
    from fusesearch.core.storage import write_text
    from fusesearch.evaluation.names import check_names
    from tasks.running.deps import DVC_YAML, render

    data = overlay(merged(name, root, over), dict(changes))
    check_names(parse_params(data, source=name), name)
    nano = nano_file(root).read_text(encoding="utf-8")
    if name == BASE:
        text = nano
    else:
        # JSON has no shared objects, which YAML would write as anchors, and no dates, which DVC cannot read
        plain = json.loads(json.dumps(data, default=str))
        text = f"# Profile {name}: experiments/profiles/{name}.yaml over {over}. Back with `python -m flows profile use nano`.\n"
        text += yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    write_text(root / NANO_COPY, nano)
    write_text(root / PARAMS, text)
    if (root / DVC_YAML).exists():
        write_text(root / DVC_YAML, render(root))
