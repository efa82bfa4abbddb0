"""A project with every artifact that the dashboard reads, written by the code that writes the real ones."""

import random
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import yaml

from fusesearch.core.config import Params
from fusesearch.core.schema import Answer, Instance, Location, Observation, Score, ToolCall, Trajectory, Truth, Turn
from fusesearch.core.storage import write_instances, write_jsonl, write_text
from fusesearch.evaluation.metrics import score_trajectory
from tasks.experiments.results import write_results
from tasks.report import make_report
from tasks.running import places
from tasks.running.places import MAIN, Places
from tests.fakes.experiment_runs import experiment, reference, runs

HOSTILE = (
    "<script>document.title = 'hacked'</script><img src=x onerror=\"document.title = 'hacked'\"> **b** $x$ `c` [l](javascript:x)"
)
ARMS = {"base": 0.1, "sft": 0.5, "sft+rl": 0.8, "lexical": 0.9}
NODES = {"evaluate": "evaluate-0123abcd"}
"""The runs of the arm `joint` with seed 1."""

INSTANCES = 12
TRUTH = Truth(files=["pkg/a.py"], functions=["pkg/a.py::f"], lines={"pkg/a.py": [(2, 3)]})


def write_project(root: Path) -> Path:
    """Write everything below ``root``."""
    write_text(root / "params.yaml", yaml.safe_dump({"profile": "nano"}))
    reference(root)
    _evaluate(root)
    _data(root)
    with patch("fusesearch.reporting.charts.svg", lambda chart, form="": "<svg/>"):
        make_report(Params(), Places(root=root))
        for name, skill in (("filtering", 0.4), ("reward", 0.2)):
            _experiment(root, name, skill)
    return root


def instance_id(number: int) -> str:
    """Ids as benchmarks write them."""
    return f"own__repo-{number}"


def episode(number: int, arm: str, right: bool, calls: int = 2) -> Trajectory:
    """Two turns and an answer; the first calls already show the truth."""
    made = [ToolCall(id=str(place), name="grep", arguments={"pattern": f"f{place} {HOSTILE}"}) for place in range(calls)]
    shown = {"output": "/repo/pkg/a.py\n2:def f(x):\n3:    return x\n", "entities": ["pkg/a.py:2", "pkg/a.py:3"]}
    seen = [
        Observation(call_id=call.id, **shown, gain_turn=1 - place / 4, gain_call=1 / (1 + place))
        for place, call in enumerate(made)
    ]
    failed = Observation(call_id="9", output=f"no such file {HOSTILE}", error="no such file")
    turns = [
        Turn(text=f"I look. {HOSTILE}", calls=made, observations=seen),
        Turn(text="Again.", calls=[ToolCall(id="9", name="read_file", arguments={"path": "x"})], observations=[failed]),
        Turn(text="Here."),
    ]
    answer = Answer(modify=[Location(path="pkg/a.py" if right else "pkg/b.py", function="f")])
    return Trajectory(
        instance_id=instance_id(number), repo="own/repo", base_commit="c0ffee", localizer="fusesearch", model=arm, system="s",
        issue=f"Issue {number}. {HOSTILE}", turns=turns, answer=answer, guidance=calls, seconds=1.5,
    )  # fmt: skip


def _evaluate(root: Path) -> None:
    draw = random.Random(0)
    scores = []
    for arm, skill in ARMS.items():
        episodes = [episode(number, arm, draw.random() < skill, 1 + number % 3) for number in range(INSTANCES)]
        write_jsonl(root / MAIN["evaluate.cells"] / f"{arm}/trajectories.jsonl", episodes)
        scored = [score_trajectory(row, TRUTH, reward=lambda score, _: score.f1 or 0.0) for row in episodes]
        scores += [score.model_copy(update={"arm": arm}) for score in scored]
    folder = root / places.NODES / NODES["evaluate"] / MAIN["evaluate.cells"].name  # an experiment's run
    write_jsonl(folder / "sft/trajectories.jsonl", [episode(number, "sft", True) for number in range(2)])
    scores.append(Score(instance_id=instance_id(99), arm="base", error="endpoint down", true_files=["a"]))
    write_jsonl(root / MAIN["evaluate.scores"], scores)


def _data(root: Path) -> None:
    common = {"repo": "own/repo", "base_commit": "c", "problem_statement": HOSTILE, "patch": "p", "truth": TRUTH}
    instances = [Instance(instance_id=instance_id(number), **common) for number in range(INSTANCES)]
    for split in ("sft", "rl", "validation"):
        write_instances(root / MAIN[f"split.{split}"], instances)
    candidates = [episode(number, "lexical", number % 3 > 0, 1 + number % 4) for number in range(INSTANCES)]
    write_jsonl(root / MAIN["synthesize.candidates"], candidates)


def _experiment(root: Path, name: str, skill: float) -> None:
    spec = experiment(
        name=name, title=f"Does {name} matter?", hypothesis="It helps.", seeds=[0, 1], metrics=["f1_macro", "efficiency"]
    )
    write_text(root / f"experiments/{name}/experiment.yaml", yaml.safe_dump(spec.model_dump(mode="json", exclude={"name"})))
    made = runs(root, {"none": 0.2, "joint": 0.2 + skill}, seeds=(0, 1), instances=20)
    made[-1] = replace(made[-1], nodes=NODES)
    write_results(spec, made, root / f"experiments/{name}", root)
