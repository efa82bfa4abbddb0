"""What ``dvc.yaml`` says of a stage: the one place that lists its inputs and params.

Progress folders and tracking read it, so that "the inputs of a stage" means the same to DVC, to a killed run that goes on
and to MLflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tasks.core.config import Params
from tasks.core.errors import ConfigError
from tasks.core.overrides import flatten

DATA = ("data", "artifacts", "experiments")


@dataclass(frozen=True)
class StageSpec:
    """A stage of ``dvc.yaml``: its dependencies and the params it reads, as keys such as ``mine`` or ``evaluate.runs``."""

    name: str
    deps: tuple[Path, ...]
    params: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Dependencies that are data, not code."""
        return tuple(path for path in self.deps if path.parts[0] in DATA)

    def values(self, params: Params) -> dict[str, Any]:
        """The params this stage reads, flattened to ``section.key``."""
        flat = flatten(params.model_dump(mode="json"))
        return {
            key: value for key, value in flat.items() if any(key == name or key.startswith(f"{name}.") for name in self.params)
        }


def stage_spec(name: str, path: Path = Path("dvc.yaml")) -> StageSpec:
    """Read one stage. Raises :class:`ConfigError` when the file or the stage is not there."""
    stage = stage_entry(name, path)
    deps = tuple(Path(_key(dep)) for dep in stage.get("deps", []))
    return StageSpec(name, deps, tuple(_key(param) for param in stage.get("params", [])))


def stage_names(path: Path = Path("dvc.yaml")) -> list[str]:
    """All stages in the order of the file."""
    return list(_stages(path))


def stage_entry(name: str, path: Path = Path("dvc.yaml")) -> dict[str, Any]:
    """A stage as it stands in the file. Raises :class:`ConfigError` when the file or the stage is not there."""
    stages = _stages(path)
    if name not in stages:
        raise ConfigError(f"{path} has no stage {name!r}: it has {', '.join(stages)}")
    return dict(stages[name])


def stage_outs(path: Path = Path("dvc.yaml")) -> dict[Path, str]:
    """What the stages make (outs, not metrics), and which of them makes it."""
    return {Path(_key(out)): name for name, stage in _stages(path).items() for out in stage.get("outs", [])}


def producer_of(artifact: Path, path: Path = Path("dvc.yaml")) -> str | None:
    """The stage that makes an artifact, itself or the folder it is in; None for what no stage makes."""
    made = ((Path(_key(out)), name) for name, stage in _stages(path).items() for out in _made(stage))
    return next((name for out, name in made if artifact == out or out in artifact.parents), None)


def _made(stage: dict[str, Any]) -> list[Any]:
    return [*stage.get("outs", []), *stage.get("metrics", [])]


def _stages(path: Path) -> dict[str, Any]:
    try:
        return dict(_parsed(path.read_text(encoding="utf-8"))["stages"])
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing: run from the project's root") from None
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise ConfigError(f"{path} is no pipeline: {' '.join(str(error).split())}") from None


@lru_cache(maxsize=4)
def _parsed(text: str) -> Any:
    """The file is asked for often while experiments are planned; its values are not changed by anybody."""
    return yaml.safe_load(text)


def _key(entry: str | dict[str, Any]) -> str:
    return entry if isinstance(entry, str) else next(iter(entry))
