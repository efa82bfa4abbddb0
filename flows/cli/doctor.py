"""``python -m flows doctor``: what a checkout needs beside the installation: lock, services, params."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.request import urlopen

import typer

from fusesearch.cli.checks import Check, all_checks
from fusesearch.cli.doctor import report
from fusesearch.cli.output import Format
from fusesearch.core.config import load_params
from fusesearch.core.errors import ConfigError
from fusesearch.core.installation import installed
from fusesearch.evaluation.names import check_names
from fusesearch.training.architectures import folder_of


def doctor(format: Annotated[Format, typer.Option(help="How to print the checks.")] = Format.text) -> None:
    """Check the installation and this checkout, and say how to fix what is missing.

    ```
    python -m flows doctor
    ```
    """
    root = Path.cwd()
    report([*all_checks(root), *checkout_checks(root)], format)


def checkout_checks(root: Path) -> Iterator[Check]:
    """Lock, Prefect server, MLflow store, params and base checkpoint of the checkout at ``root``."""
    yield from lock(root)
    yield prefect_server()
    yield mlflow_store()
    yield from params(root)


def lock(root: Path) -> Iterator[Check]:
    """Whether installed versions agree with ``requirements.lock``; no check outside a checkout."""
    path = root / "requirements.lock"
    if not path.is_file():
        return
    wrong = [
        f"{name} {have} (lock: {want})"
        for name, want in locked(path.read_text(encoding="utf-8"))
        if (have := installed(name)) is not None and have.split("+")[0] != want.split("+")[0]
    ]
    differences = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
    yield Check("lock", not wrong, differences or "installed versions agree with requirements.lock", "make env")


def prefect_server() -> Check:
    """Whether the Prefect server answers: the one at ``PREFECT_API_URL``, or this project's own."""
    from flows.server import running
    from tasks.tracking.store import without_passwords

    api = os.environ.get("PREFECT_API_URL")
    if api:
        return Check(
            "prefect server", _answers(f"{api.rstrip('/')}/health"), without_passwords(api), "start it, or unset PREFECT_API_URL"
        )
    url = running()
    return Check("prefect server", url is not None, url or "not running", "make serve, or run a stage: it starts the server")


def mlflow_store() -> Check:
    """Where MLflow keeps its runs, and whether that store exists or answers."""
    from tasks.tracking.store import is_server, tracking_uri, without_passwords

    uri = tracking_uri()
    if is_server(uri):
        hint = "start it, or unset MLFLOW_TRACKING_URI"
        return Check("mlflow store", _answers(f"{uri.rstrip('/')}/health"), without_passwords(uri), hint)
    exists = Path(uri.removeprefix("sqlite:///").removeprefix("file://")).exists()
    return Check("mlflow store", exists, without_passwords(uri), "the first stage creates it: make reproduce")


def params(root: Path) -> Iterator[Check]:
    """Whether ``params.yaml`` is valid, and its base checkpoint is on this machine."""
    if not (root / "params.yaml").is_file():
        yield Check("params", False, "no params.yaml here", "only stages need it: run from the project's root")
        return
    try:
        values = check_names(load_params(root / "params.yaml"), "params.yaml")
    except ConfigError as error:
        yield Check("params", False, str(error), "correct the key, or git checkout params.yaml")
        return
    yield Check("params", True, f"profile {values.profile}")
    base, hint = values.model.base, "training starts from it: make base, or set model.base"
    yield Check("base checkpoint", folder_of(base, root) is not None, base, hint)


def locked(text: str) -> Iterator[tuple[str, str]]:
    """``(name, version)`` of every line of a lock file that applies to this interpreter."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in text.splitlines():
        try:
            requirement = Requirement(line.split("#")[0].strip())
        except InvalidRequirement:
            continue
        exact = [pin.version for pin in requirement.specifier if pin.operator == "=="]
        if exact and (requirement.marker is None or requirement.marker.evaluate()):
            yield requirement.name, exact[0]


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2):  # noqa: S310 - the address is the user's own setting
            return True
    except (OSError, ValueError):  # ValueError: not an address
        return False
