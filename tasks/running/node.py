"""One run of a stage: the main pipeline's, or that of a node, which has other params or inputs.

Arms, seeds and experiments that need the same run share it: its id is made of the stage, the params it reads, and the runs it
builds on. It keeps its files in a folder of its own (:mod:`tasks.running.places`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from fusesearch.core.config import Params, Section, parse_section, read_mapping
from fusesearch.core.errors import ConfigError
from fusesearch.core.storage import Progress, silent
from fusesearch.evaluation.names import check_names
from tasks.code import code_file
from tasks.running.places import NODES, Places
from tasks.stages import STAGES, Stage, stage_named


class Node(Section):
    """One run of a stage; without an id it is the main pipeline's."""

    stage: str
    id: str = Field("", description="<stage>-<digest>; empty: the main pipeline's run")
    params: Params | None = Field(None, description="all of its params; null: those of params.yaml")
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

    def inputs(self, params: Params) -> list[Path]:
        """The data that it reads. ``params`` are the main pipeline's."""
        return [self.places.input(name) for name in stage_named(self.stage).reads(self.params or params)]

    def deps(self, params: Params) -> list[Path]:
        """Its inputs, and the digests of its stage's code. ``params`` are the main pipeline's."""
        return [*self.inputs(params), code_file(self.stage)]

    def text(self) -> str:
        """What a node's file says: the origins, then all values as in ``params.yaml``."""
        origins = {stage: folder.as_posix() for stage, folder in self.origins.items()}
        values = self.params.model_dump(mode="json") if self.params else {}
        return yaml.dump({"origins": origins, **values}, Dumper=_Dumper, sort_keys=False)


_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def node_file(name: str) -> Path:
    """The file with the params of a node."""
    return NODES / name / "params.yaml"


def read_node(stage: str, name: str) -> Node:
    """The node of a stage with an id, from its file; without one the main pipeline's run.

    Raises :class:`ConfigError` for a wrong id, and for a file that is missing or of other params.
    """
    if not name:
        return Node(stage=stage)
    if not re.fullmatch(rf"{stage}-[0-9a-f]{{8}}", name):
        raise ConfigError(f"--node {name!r} is not the id of a node of {stage}: such ids are {stage}-<8 hexadecimal digits>")
    path = node_file(name)
    data = read_mapping(path, "run `python -m tasks.experiments.dvc_file`")
    node = parse_section(Node, {"stage": stage, "id": name, "origins": data.pop("origins", {}), "params": data}, str(path))
    return check_names(node, str(path))


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
    """The node that ``--node=ID`` on a stage's command line names. Raises :class:`ConfigError` for anything else."""
    if not arguments:
        return Node(stage=stage)
    option, _, name = arguments[0].partition("=")
    if option != "--node" or not name or arguments[1:]:
        raise ConfigError(f"usage: python -m flows.run {stage} [--node=ID], a run with params and files of its own in {NODES}/ID")
    return read_node(stage, name)
