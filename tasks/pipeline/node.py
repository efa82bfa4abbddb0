"""A node: one run of one stage with certain params on certain inputs, beside the main pipeline's.

Arms, seeds and experiments that need the same run share it: its id is made of the stage, the params it reads, and the runs it
builds on. It keeps its files in a folder of its own (:mod:`tasks.pipeline.places`).
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import Field

from tasks.core.config import Params, Section
from tasks.core.errors import ConfigError
from tasks.core.overrides import override, parse_change
from tasks.pipeline import layout
from tasks.pipeline.pipeline import StageSpec, stage_names, stage_outs, stage_spec
from tasks.pipeline.places import Places


class Node(Section):
    """How one run of a stage differs from the main pipeline's; without an id it does not: it is the main pipeline's."""

    stage: str
    id: str = Field("", pattern=r"^([a-z_]+-[0-9a-f]{8})?$", description="<stage>-<digest>; empty: the main pipeline's run")
    set: dict[str, Any] = Field(default_factory=dict, description="params by dotted key that differ from params.yaml")
    origins: dict[str, Path] = Field(default_factory=dict, description="folder of the node that made it, by stage, for inputs")

    @property
    def name(self) -> str:
        """Its id, or the name of the stage for the main pipeline's run."""
        return self.id or self.stage

    @property
    def folder(self) -> Path | None:
        """Where its files lie; None for the main pipeline's run, whose files lie where :mod:`tasks.pipeline.layout` says."""
        return layout.NODES / self.id if self.id else None

    @property
    def places(self) -> Places:
        """Where it reads and writes."""
        return Places({**self.origins, **({self.stage: self.folder} if self.folder else {})})

    def params(self, params: Params) -> Params:
        """``params`` with what differs."""
        return override(params, self.set, self.name) if self.set else params

    def spec(self, params: Params, pipeline: Path = Path("dvc.yaml")) -> StageSpec:
        """What the run depends on: the stage's dependencies, where this node has them. ``params`` are its own."""
        spec = stage_spec(self.stage, pipeline)
        made = stage_outs(pipeline)
        unused = unused_deps(self.stage, params)
        deps = tuple(self.places.of(made[dep], dep) if dep in made else dep for dep in spec.deps if dep not in unused)
        return StageSpec(spec.name, deps, spec.params)

    def arguments(self) -> list[str]:
        """The command line that :func:`parse_node` reads."""
        if not self.id:
            return []
        changes = [f"--set={key}={json.dumps(value)}" for key, value in sorted(self.set.items())]
        return [f"--node={self.id}", *changes, *(f"--from={stage}={path}" for stage, path in sorted(self.origins.items()))]


def parse_node(stage: str, arguments: Sequence[str]) -> Node:
    """The node that a stage's command line names. Raises :class:`ConfigError` for one that is wrong; ends after ``--help``."""
    found = _command_line(stage).parse_args(arguments)
    if not found.node and (found.set or found.origins):
        raise ConfigError("--set and --from need --node: the main pipeline's files are made with the values of params.yaml")
    return _node(stage, found.node, found.set, found.origins)


class _CommandLine(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (--help says what there is)")


def _command_line(stage: str) -> ArgumentParser:
    line = _CommandLine(f"flows.{stage}", description=f"Run the stage {stage} as its Prefect flow.", allow_abbrev=False)
    line.add_argument("--node", default="", metavar="ID", help="a run with files of its own, apart from the main pipeline's")
    line.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a param in which it differs; repeatable")
    line.add_argument(
        "--from", dest="origins", action="append", default=[], metavar="STAGE=FOLDER",
        help="where it finds what an earlier stage made; repeatable",
    )  # fmt: skip
    return line


def _node(stage: str, name: str, changes: Sequence[str], origins: Sequence[str]) -> Node:
    pairs = [text.partition("=") for text in origins]
    if unknown := {key for key, _, _ in pairs} - set(stage_names()):
        raise ConfigError(f"--from names {', '.join(sorted(unknown))}, which is no stage")
    if name.rpartition("-")[0] != (stage if name else ""):
        raise ConfigError(f"--node {name!r} is no id of a node of {stage}: such ids are {stage}-<8 hexadecimal digits>")
    try:
        return Node(
            stage=stage, id=name, set=dict(map(parse_change, changes)), origins={key: Path(value) for key, _, value in pairs}
        )
    except ValueError:
        raise ConfigError(f"--node {name!r} is no id of a node of {stage}: such ids are {stage}-<8 hexadecimal digits>") from None


def unused_deps(stage: str, params: Params) -> set[Path]:
    """Dependencies of the stage that its params switch off: the models of arms that are not evaluated."""
    if stage != "evaluate":
        return set()
    arms = params.evaluate.arms
    models = {arm: layout.checkpoint_path(trained) for arm, trained in layout.TRAINED_BY.items()}
    return {path for arm, path in {**models, "base": Path(params.model.base)}.items() if arm not in arms}
