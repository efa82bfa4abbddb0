"""Which runs of stages an experiment needs: what its arms and seeds share is one run, and the main pipeline's where it can be.

The id of a run is made of its stage, the params the stage reads and the ids of the runs it builds on. A run whose id is that
of the main pipeline's run of the stage *is* that one: its artifacts are used, and nothing runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tasks.core.config import Params
from tasks.core.digests import digest
from tasks.core.errors import ConfigError
from tasks.core.overrides import override
from tasks.pipeline import layout
from tasks.pipeline.experiments.spec import Checkpoint, Experiment
from tasks.pipeline.node import Node, unused_deps
from tasks.pipeline.pipeline import StageSpec, stage_names, stage_outs, stage_spec

PIPELINE = Path("dvc.yaml")
EVALUATED = {"base": "base", **{stage: arm for arm, stage in layout.TRAINED_BY.items()}}
"""What the evaluate stage calls the model that a stage makes."""


@dataclass(frozen=True)
class ArmPlan:
    """The runs that one arm with one seed is made of, by stage, in the order of the pipeline; ``evaluated`` is what the evaluate
    stage calls its model.
    """

    arm: str
    seed: int
    evaluated: str
    nodes: Mapping[str, Node]

    @property
    def scores(self) -> Path:
        """The file that holds its scores, among others' where the main pipeline made it."""
        return self.nodes["evaluate"].places.scores

    @property
    def trajectories(self) -> Path:
        """The file of its evaluated episodes."""
        return self.nodes["evaluate"].places.trajectories / f"{self.evaluated}.jsonl"

    @property
    def curves(self) -> dict[str, Path]:
        """The training curve of each training stage it went through."""
        return {stage: node.places.curve(stage) for stage, node in self.nodes.items() if stage in layout.TRAINED}


def plan(experiment: Experiment, params: Params, seeds: Iterable[int] | None = None, pipeline: Path = PIPELINE) -> list[ArmPlan]:
    """The runs of every arm with every seed, or with some of them (which the experiment must have).

    Raises :class:`ConfigError` for an arm with an unknown param.
    """
    resolver = _Resolver(params, pipeline)
    chosen = list(seeds or ()) or experiment.seeds
    return [
        resolver.arm(arm, seed, experiment.params(params, arm, seed), spec.checkpoint)
        for seed in chosen
        for arm, spec in experiment.arms.items()
    ]


def nodes_of(plans: Iterable[ArmPlan]) -> list[Node]:
    """All runs, each once and after those it builds on; the main pipeline's among them."""
    found: dict[str, Node] = {}
    for row in plans:
        for node in row.nodes.values():
            found.setdefault(node.name, node)
    return list(found.values())


def built_on(node: Node, params: Params) -> list[str]:
    """Names of the runs that a run builds on directly. ``params`` are those of the main pipeline."""
    ups = upstream(node.stage, node.params(params))
    return [node.origins[stage].name if stage in node.origins else stage for stage in ups]


def upstream(stage: str, params: Params, pipeline: Path = PIPELINE) -> list[str]:
    """The stages whose outputs a stage reads under these params."""
    made, unused = stage_outs(pipeline), unused_deps(stage, params)
    deps = stage_spec(stage, pipeline).deps
    return list(dict.fromkeys(made[dep] for dep in deps if dep in made and dep not in unused))


def id_of(node: Node, params: Params) -> str:
    """The id that a run with these changes on these inputs has. ``params`` are those of the main pipeline."""
    own = node.params(params)
    ups = {up: node.origins[up].name if up in node.origins else id_of(Node(stage=up), params) for up in upstream(node.stage, own)}
    return _id(node.stage, stage_spec(node.stage, PIPELINE).values(own), ups)


def check_id(node: Node, params: Params) -> None:
    """Raise :class:`ConfigError` for a run whose id is another than its changes and inputs make: the params have changed."""
    if node.id and (right := id_of(node, params)) != node.id:
        raise ConfigError(f"{node.id} would be {right} with this params.yaml: run `fusesearch experiment plan`")


class _Found(NamedTuple):
    """A run, its id, and the id of the main pipeline's run of the stage."""

    node: Node
    mine: str
    main: str


class _Resolver:
    """Finds the runs of arms; ``base`` are the params of the main pipeline."""

    def __init__(self, base: Params, pipeline: Path) -> None:
        self.base = base
        self.pipeline = pipeline

    def arm(self, arm: str, seed: int, params: Params, checkpoint: Checkpoint) -> ArmPlan:
        evaluated = EVALUATED[checkpoint]
        only = {"evaluate.arms": [evaluated]}
        own, main = (override(values, only, "evaluate") for values in (params, self.base))
        found: dict[str, _Found] = {}
        self._resolve("evaluate", own, main, found)
        stages = [stage for stage in stage_names(self.pipeline) if stage in found]
        return ArmPlan(arm, seed, evaluated, {stage: found[stage].node for stage in stages})

    def _resolve(self, stage: str, own: Params, main: Params, found: dict[str, _Found]) -> None:
        """Find the run of ``stage`` with ``own`` params, and those it builds on; ``main`` params make the main pipeline's."""
        ups = upstream(stage, own, self.pipeline)
        for up in ups:
            if up not in found:
                self._resolve(up, own, main, found)
        spec = stage_spec(stage, self.pipeline)
        values = spec.values(own)
        mine = _id(stage, values, {up: found[up].mine for up in ups})
        theirs = _id(stage, spec.values(main), {up: found[up].main for up in ups})
        if mine == theirs and (stage != "evaluate" or set(own.evaluate.arms) <= set(self.base.evaluate.arms)):
            node = Node(stage=stage)
        else:
            origins = {up: folder for up in ups if (folder := found[up].node.folder)}
            node = Node(stage=stage, id=mine, set=self._changes(spec, values), origins=origins)
        found[stage] = _Found(node, mine, theirs)

    def _changes(self, spec: StageSpec, values: Mapping[str, object]) -> dict[str, object]:
        """Those of the values that are not as in the params of the main pipeline."""
        given = spec.values(self.base)
        return {key: value for key, value in values.items() if key not in given or given[key] != value}


def _id(stage: str, values: Mapping[str, object], ups: Mapping[str, str]) -> str:
    return f"{stage}-{digest(stage, values, ups)[:8]}"
