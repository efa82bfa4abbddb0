"""One run of a stage: the main pipeline's, or that of a node, which has other params or inputs.

Arms, seeds and experiments that need the same run share it: its id is made of the stage, the params it reads, and the runs it
builds on. It keeps its files in a folder of its own (:mod:`tasks.running.places`).
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pydantic import Field

from fusesearch.core.config import Params, Section
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import override, parse_change
from fusesearch.core.storage import Progress, silent
from fusesearch.evaluation.names import check_names
from tasks.running.deps import code_of
from tasks.running.places import NODES, Places
from tasks.stages import STAGES, Stage, stage_named


class Node(Section):
    """How one run of a stage differs from the main pipeline's; without an id it is the main pipeline's run itself."""

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
        """Where its files lie; None for the main pipeline's run, whose files lie where the stage's row says."""
        return NODES / self.id if self.id else None

    @property
    def places(self) -> Places:
        """Where it reads and writes."""
        return Places({**self.origins, **({self.stage: self.folder} if self.folder else {})})

    @property
    def outputs(self) -> list[Path]:
        """What it makes, its metrics last."""
        return [self.places[f"{self.stage}.{name}"] for name in (*stage_named(self.stage).outputs, "metrics")]

    def params(self, params: Params) -> Params:
        """``params`` with what differs. Raises :class:`ConfigError` for an unknown key or name, and a value out of range."""
        return check_names(override(params, self.set, self.name) if self.set else params, self.name)

    def inputs(self, params: Params) -> list[Path]:
        """The data that it reads. ``params`` are its own."""
        return [self.places.input(name) for name in stage_named(self.stage).reads(params)]

    def deps(self, params: Params) -> list[Path]:
        """What its outputs depend on besides params: its inputs, and the code of the stage. ``params`` are its own."""
        return [*self.inputs(params), *code_of(self.stage)]

    def arguments(self) -> list[str]:
        """The command line that :func:`parse_node` reads."""
        if not self.id:
            return []
        changes = [f"--set={key}={json.dumps(value)}" for key, value in sorted(self.set.items())]
        return [f"--node={self.id}", *changes, *(f"--from={stage}={path}" for stage, path in sorted(self.origins.items()))]


@dataclass
class Job:
    """What the function of a stage gets.

    Attributes:
        node: which run of the stage it is.
        params: its params.
        places: where it reads and writes.
        scratch: where its unfinished work lies; a run that was killed finds it again.
        progress: takes how far it is.
        curve: takes the rows of a training log as they are made.
        part: does a part of the work, by its name: a task of its own in Prefect.
        metrics: what it reports at the end.
    """

    node: Node
    params: Params
    places: Places
    scratch: Path
    progress: Progress = silent
    curve: Callable[[dict[str, Any]], None] = lambda row: None
    part: Callable[[str, Callable[[], Any]], Any] = lambda name, work: work()
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def stage(self) -> Stage:
        """The row of the stage."""
        return STAGES[self.node.stage]

    def output(self, name: str) -> Path:
        """Where an output of the stage belongs."""
        return self.places[f"{self.node.stage}.{name}"]


def parse_node(stage: str, arguments: Sequence[str]) -> Node:
    """The node that a stage's command line names. Raises :class:`ConfigError` for one that is wrong; ends after ``--help``."""
    line = _CommandLine(f"flows.run {stage}", description=f"Run the stage {stage} as its Prefect flow.", allow_abbrev=False)
    line.add_argument("--node", default="", metavar="ID", help="a run with files of its own, apart from the main pipeline's")
    line.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a param in which it differs; repeatable")
    line.add_argument(
        "--from", dest="origins", action="append", default=[], metavar="STAGE=FOLDER",
        help="where it finds what an earlier stage made; repeatable",
    )  # fmt: skip
    found = line.parse_args(arguments)
    if not found.node and (found.set or found.origins):
        raise ConfigError("--set and --from need --node: the main pipeline's files are made with the values of params.yaml")
    return _node(stage, found.node, found.set, found.origins)


class _CommandLine(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see --help)")


def _node(stage: str, name: str, changes: Sequence[str], origins: Sequence[str]) -> Node:
    pairs = [text.partition("=") for text in origins]
    if unknown := {key for key, _, _ in pairs} - set(STAGES):
        raise ConfigError(f"--from names {', '.join(sorted(unknown))}: there is no such stage")
    wrong = ConfigError(f"--node {name!r} is not the id of a node of {stage}: such ids are {stage}-<8 hexadecimal digits>")
    if name.rpartition("-")[0] != (stage if name else ""):
        raise wrong
    try:
        return Node(
            stage=stage, id=name, set=dict(map(parse_change, changes)), origins={key: Path(value) for key, _, value in pairs}
        )
    except ValueError:
        raise wrong from None
