"""veRL's environment, and its configurations: ``experiments/profiles/verl``.

``python -m fusesearch.training.engines.verl_config FOLDER NAME [OPTION ...]``, by veRL's interpreter, composes a configuration
and asks veRL whether it is one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.errors import ConfigError

VERSION = "0.9.1"
"""veRL calls its interfaces alpha, so it is this one."""
ENVIRONMENT = Path(".venv-verl/bin/python")
"""The interpreter that has veRL, as ``make verl`` installs it."""
CONFIGS = Path("experiments/profiles/verl")
NOT_CONFIGURATIONS = ("loop",)
SECONDS = 300.0
"""How long veRL may take to say whether a configuration is one: importing it takes most of it."""


def verl_python(root: Path = Path()) -> Path:
    """The interpreter that has veRL. Raises :class:`ConfigError` without it, or if it has another version."""
    made = "`make verl` makes its environment; grpo.engine: trl needs none"
    python = (root / ENVIRONMENT).absolute()
    if not python.is_file():
        raise ConfigError(f"veRL is not installed (no {ENVIRONMENT}): {made}")
    asked = "import importlib.metadata as found; print(found.version('verl'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    if (version := done.stdout.strip()) != VERSION:
        raise ConfigError(f"{ENVIRONMENT} has {f'veRL {version}' if version else 'no veRL'}, not {VERSION}: {made}")
    return python


def configured(name: str, options: Sequence[str] = (), root: Path = Path()) -> dict[str, Any]:
    """What a configuration and those it is made of say, without veRL's own, and ``options`` over it: values by dotted key.

    Raises :class:`ConfigError` if there is none, or for an option that is not KEY=VALUE.
    """
    path = root / CONFIGS / f"{name}.yaml"
    if not path.is_file() or name in NOT_CONFIGURATIONS:
        known = ", ".join(sorted(path.stem for path in path.parent.glob("*.yaml") if path.stem not in NOT_CONFIGURATIONS))
        raise ConfigError(f"grpo.verl_config: there is no {CONFIGS / path.name}: use one of {known or 'a checkout'}")
    own = yaml.safe_load(path.read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    for earlier in own.pop("defaults"):
        if (path.parent / f"{earlier}.yaml").is_file():
            found |= configured(earlier, root=root)
    found |= _flat(own)
    for option in options:
        key, equals, value = option.lstrip("+").partition("=")
        if not equals:
            raise ConfigError(f"compute.verl_options: {option!r} is not KEY=VALUE")
        found[key] = yaml.safe_load(value)
    return found


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {before + key: value}
    return found


def check(python: Path, folder: Path, name: str, options: Sequence[str] = ()) -> str:
    """What veRL's own check says against the configuration ``name`` in ``folder``, in one line; empty if nothing."""
    line = [str(python), "-m", __name__, str(folder.absolute()), name, *options]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS:g} s"
    lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
    return lines[-1][:300] if done.returncode else ""


def main(folder: str, name: str, *options: str) -> None:
    """Compose a configuration, and raise what veRL says against it."""
    from hydra import compose, initialize_config_dir
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    with initialize_config_dir(folder, version_base=None):
        config = compose(name, list(options))
    validate_config(config, need_reference_policy(config), need_critic(config))


if __name__ == "__main__":
    main(*sys.argv[1:])
