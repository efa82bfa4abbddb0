"""veRL's environment, its configurations (``experiments/profiles/verl``), the rows it reads and the scores its workers note."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance, Record, Score
from fusesearch.core.storage import replacing
from fusesearch.training.environment import SearchTasks

VERSION = "0.9.1"
"""veRL calls its interfaces alpha, so it is this one."""
ENVIRONMENT = Path(".venv-verl/bin/python")
"""The interpreter that has veRL, as ``make verl`` installs it."""
CONFIGS = Path("experiments/profiles/verl")
NOT_CONFIGURATIONS = ("loop",)
F1 = "f1"
"""What an episode reports beside its reward, how good its answer is: veRL replaces groups without spread of it."""


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


def write_rows(instances: Iterable[Instance], tasks: SearchTasks, out: Path, held_out: bool = False) -> None:
    """Write a Parquet file with a row for each of the ``instances`` that ``tasks`` can have.

    ``prompt`` has the opening messages, by which veRL measures a row, and ``extra_info.instance`` the instance, which
    :class:`~fusesearch.training.engines.verl.SearchLoop` runs. ``held_out``: they are for validation.
    """
    import polars as pl

    known = {row.instance_id: row for row in instances}
    rows = []
    for number, row in enumerate(tasks.of(known.values()).prompts()):
        instance = known[row["prompt"][0]["instance_id"]]
        prompt = [{name: message[name] for name in ("role", "content")} for message in row["prompt"]]
        extra = {"index": number, "instance": instance.model_dump_json(), "held_out": held_out}
        rows.append({"data_source": "fusesearch", "agent_name": "fusesearch", "prompt": prompt, "extra_info": extra})
    with replacing(out) as path:
        pl.DataFrame(rows).write_parquet(path)


class Noted(Record):
    """The score of an episode of a step; ``held_out``: of its validation."""

    step: int
    held_out: bool
    score: Score

    def append(self, path: Path) -> None:
        """Add a line to ``path``, which one process alone writes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{self.model_dump_json(exclude_defaults=True)}\n")


def noted(folder: Path, step: int) -> list[Noted]:
    """What was noted of ``step``, by instance."""
    lines = [line for path in folder.glob("*.jsonl") for line in whole_lines(path) if line.startswith(f'{{"step":{step},')]
    return sorted(map(Noted.model_validate_json, lines), key=lambda row: row.score.instance_id)


def whole_lines(path: Path) -> list[str]:
    """The lines of a file, none before it is there. The last line of a process that died may be cut off, and does not count."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    return [line for line in lines if line.endswith("\n")]
