"""The nodes that an experiment needs. Arms and seeds share nodes with each other and with the main pipeline.

The id of a node follows from its stage, the params the stage reads and the ids of the nodes it builds on. A node with the same id
as the main pipeline's run of the stage *is* that run: the experiment uses its artifacts, and nothing runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fusesearch.core.config import Params, Subject
from fusesearch.core.digests import digest
from fusesearch.core.overrides import override
from fusesearch.evaluation.results import TRAJECTORIES
from tasks.experiments.spec import Experiment
from tasks.running.node import Node
from tasks.stages import STAGES, TRAINED


@dataclass(frozen=True)
class ArmPlan:
    """The nodes of an arm with one seed by stage, in pipeline order. ``cell`` is the evaluate stage's name for its model."""

    arm: str
    seed: int
    cell: str
    nodes: Mapping[str, Node]

    @property
    def scores(self) -> Path:
        """The file with its scores; the main pipeline's file has other arms too."""
        return self.nodes["evaluate"].places["evaluate.scores"]

    @property
    def trajectories(self) -> Path:
        """The file with its evaluated episodes."""
        return self.nodes["evaluate"].places["evaluate.cells"] / self.cell / TRAJECTORIES

    @property
    def curves(self) -> dict[str, Path]:
        """The training curves by training stage."""
        return {stage: node.places[f"{stage}.curve"] for stage, node in self.nodes.items() if stage in TRAINED}


def plan(experiment: Experiment, params: Params, seeds: Iterable[int] | None = None) -> list[ArmPlan]:
    """The nodes of every arm with every seed, or with the given ``seeds`` of the experiment.

    Raises :class:`ConfigError` for an arm with an unknown param.
    """
    shared = {spec.subject: set(ids("evaluate", _only(params, spec.subject)).values()) for spec in experiment.arms.values()}
    return [
        _arm(arm, seed, spec.subject, experiment.params(params, arm, seed), params, shared[spec.subject])
        for seed in list(seeds or ()) or experiment.seeds
        for arm, spec in experiment.arms.items()
    ]


def nodes_of(plans: Iterable[ArmPlan]) -> list[Node]:
    """All nodes, the main pipeline's too, each once and after the nodes it builds on."""
    found: dict[str, Node] = {}
    for row in plans:
        for node in row.nodes.values():
            found.setdefault(node.name, node)
    return list(found.values())


def built_on(node: Node, params: Params) -> list[str]:
    """Names of the nodes that a node builds on directly. ``params`` are the main pipeline's."""
    ups = STAGES[node.stage].upstream(node.params or params)
    return [node.origins[stage].name if stage in node.origins else stage for stage in ups]


def ids(stage: str, params: Params) -> dict[str, str]:
    """The ids of ``stage`` and of all stages it builds on under these params, in pipeline order."""
    ups = {stage: STAGES[stage].upstream(params)}
    for name in reversed(STAGES):
        for up in ups.get(name, ()):
            ups.setdefault(up, STAGES[up].upstream(params))
    found: dict[str, str] = {}
    for name in STAGES:
        if name in ups:
            values = STAGES[name].values(params)
            found[name] = f"{name}-{digest(name, values, {up: found[up] for up in ups[name]})[:8]}"
    return found


def _cell(params: Params, subject: Subject) -> str:
    """What ``params.yaml`` calls the cell of a subject; one that it does not evaluate is called by its checkpoint."""
    return next((name for name, cell in params.evaluate.cells.items() if cell == subject), subject.checkpoint)


def _only(params: Params, subject: Subject) -> Params:
    return override(params, {"evaluate.cells": {_cell(params, subject): subject.model_dump(exclude_defaults=True)}}, "evaluate")


def _arm(arm: str, seed: int, subject: Subject, params: Params, base: Params, shared: set[str]) -> ArmPlan:
    """The nodes of an arm with these ``params``. Ids in ``shared`` are the main pipeline's, whose params are ``base``."""
    cell, own = _cell(params, subject), _only(params, subject)
    nodes: dict[str, Node] = {}
    for stage, name in ids("evaluate", own).items():
        if name in shared and (stage != "evaluate" or base.evaluate.cells.get(cell) == subject):
            nodes[stage] = Node(stage=stage)
            continue
        read = override(base, STAGES[stage].values(own), name)
        origins = {up: folder for up in STAGES[stage].upstream(own) if (folder := nodes[up].folder)}
        nodes[stage] = Node(stage=stage, id=name, params=read, origins=origins)
    return ArmPlan(arm, seed, cell, nodes)
