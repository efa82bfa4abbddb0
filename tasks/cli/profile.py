"""``fusesearch profile``: ``params.yaml`` is nano; ``experiments/profiles/NAME.yaml`` are overlays for larger scales."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tasks.core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tasks.core.config import Params

PARAMS = Path("params.yaml")
FOLDER = Path("experiments/profiles")
BASE = "nano"
NANO_COPY = Path(".fusesearch/params.nano.yaml")

app = typer.Typer(no_args_is_help=True, help="List, show, switch and rehearse profiles.", rich_markup_mode="markdown")

Name = Annotated[str, typer.Argument(help="Name of the profile.", metavar="NAME")]


@app.command("list")
def list_profiles() -> None:
    """List the profiles and mark the current one.

    ```
    fusesearch profile list
    ```
    """
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

    params = load_profile(name, Path.cwd()).model_dump(mode="json")
    typer.echo(yaml.safe_dump(params, sort_keys=False, allow_unicode=True), nl=False)


@app.command()
def use(name: Name) -> None:
    """Write a profile to `params.yaml`.

    The next `dvc repro` runs at that scale. `profile use nano` restores the nano params exactly.

    ```
    fusesearch profile use small && fusesearch doctor --profile small
    ```
    """
    switch(name, Path.cwd())
    typer.echo(f"params.yaml is now {name}; `fusesearch doctor --profile {name}` says what it needs")


@app.command()
def rehearse(
    name: Name,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Folder with the model's tokenizer and chat template, if the weights are not here.")
    ] = None,
) -> None:
    """Run every stage of a profile on a small random model of its architecture, on the CPU, in minutes.

    The profile's own settings, lengths and chat template; a few instances. Everything lies in
    `.fusesearch/rehearsals/NAME`, which is emptied first. Each line of the table says what was less than the profile asks.

    ```
    fusesearch profile rehearse small
    ```
    """
    from tasks.pipeline.rehearsal import FOLDER, STEPS, rehearse

    root = Path.cwd()
    for step in rehearse(load_profile(name, root), tokenizer, root, _doing):
        _doing("", "")
        typer.echo(f"{'ok    ' if step.ok else 'failed'}  {step.name:<10}  {step.seconds:6.1f} s  {step.note}".rstrip())
        if not step.ok:
            raise DataError(f"{name}: {step.name}: {step.error} (all it printed: {FOLDER / name / step.name}.log)")
    typer.echo(f"All {len(STEPS)} steps of {name} ran to their end.")


def _doing(step: str, what: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r\033[K{step} {what}\r", nl=False, err=True)


def names(root: Path) -> list[str]:
    """Names of all profiles of the checkout at ``root``."""
    return [BASE, *sorted(path.stem for path in (root / FOLDER).glob("*.yaml") if path.stem != BASE)]


def load_profile(name: str, root: Path) -> Params:
    """Typed params of a profile. Raises :class:`ConfigError` when it is unknown or malformed."""
    from tasks.core.config import parse_params

    return parse_params(merged(name, root), source=name)


def merged(name: str, root: Path) -> dict[str, Any]:
    """The nano params with the overlay of ``name`` on top, as a plain mapping."""
    from tasks.core.config import overlay

    base = _mapping(_nano_file(root))
    if name == BASE:
        return base
    if name not in names(root):
        raise ConfigError(f"no profile {name!r}: there are {', '.join(names(root))}")
    return overlay(base, {"profile": name, **_mapping(root / FOLDER / f"{name}.yaml")})


def switch(name: str, root: Path) -> None:
    """Write profile ``name`` to ``params.yaml``. Keeps a copy of nano's file, so that it can be restored exactly."""
    import yaml

    from tasks.core.config import parse_params
    from tasks.core.storage import write_text

    data = merged(name, root)
    parse_params(data, source=name)
    nano = _nano_file(root).read_text(encoding="utf-8")
    if name == BASE:
        text = nano
    else:
        plain = json.loads(json.dumps(data))  # copies shared objects, which YAML would write as anchors
        text = f"# Profile {name}: experiments/profiles/{name}.yaml over nano. Back with `fusesearch profile use nano`.\n"
        text += yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    write_text(root / NANO_COPY, nano)
    write_text(root / PARAMS, text)


def current(root: Path) -> str:
    """Name of the profile in ``params.yaml``."""
    from tasks.core.config import load_params

    return load_params(root / PARAMS).profile


def _nano_file(root: Path) -> Path:
    if current(root) == BASE:
        return root / PARAMS
    if (root / NANO_COPY).is_file():
        return root / NANO_COPY
    raise ConfigError(f"{PARAMS} holds another profile and the copy of nano's params is missing: git checkout {PARAMS}")


def _mapping(path: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if data is not None and not isinstance(data, dict):
        raise ConfigError(f"{path}: the top level must be a mapping of sections")
    return data or {}
