"""Runs of an experiment as tests need them: made of numbers, with everything a real run has."""

import random

from fusesearch.core.schema import Score
from tasks.experiments.outcome import ArmRun
from tasks.experiments.spec import Experiment

ARMS = {
    "none": {"label": "no filter", "paper_row": {"filtering": "none"}},
    "joint": {"label": "F1 and e", "paper_row": {"filtering": "joint"}},
}
PAPER = "filtering,file_f1,function_f1,efficiency\nnone,75.44,43.52,55.77\njoint,78.86,47.94,62.03\n"


def experiment(**changes):
    """Two arms beside a table, one claim that the paper makes."""
    given = {
        "name": "filtering",
        "title": "Filtering",
        "question": "Does filtering help?",
        "hypothesis": "It does.",
        "paper": {"table": "table4.csv", "caption": "FuseSearch table 4"},
        "arms": ARMS,
        "seeds": [0, 1, 2],
        "metrics": ["file_micro_f1", "f1_macro", "efficiency", "efficiency_call", "redundancy", "tool_success", "tokens_context"],
        "primary": "f1_macro",
        "claims": [{"metric": "f1_macro", "better": "joint", "than": "none", "paper": True}],
        "figures": ["calls_by_turn"],
    }
    return Experiment(**{**given, **changes})


def score(instance, right, draw, e=0.5):
    hits = float(right)
    return Score(
        instance_id=f"i{instance}", repo=f"o/r{instance % 4}", efficiency=e,
        file_precision=hits, file_recall=hits, file_f1=hits, f1=hits,
        efficiency_call=e / 2, redundancy=1 - e, redundancy_call=1 - e / 2, turns=3, calls=4, calls_per_turn=2.0, failed_calls=1,
        calls_each_turn=[3, draw.choice((1, 2)), 0], tokens_context=400 + 10 * draw.randrange(9), seconds=1.0,
        true_files=["a"], predicted_files=["a" if right else "b"],
    )  # fmt: skip


def run(folder, arm, seed, skill, instances=60, e=0.5):
    """An arm that is right at about ``skill`` of the instances."""
    draw = random.Random(f"{arm} {seed}")
    scores = [score(i, draw.random() < skill, draw, e) for i in range(instances)]
    return ArmRun(arm, seed, scores, folder / "none.jsonl", {}, {"sft": f"sft-{arm}{seed}"})


def runs(folder, skill, seeds=(0, 1, 2), **options):
    """``skill`` by arm, for each of the seeds."""
    return [run(folder, arm, seed, value, **options) for arm, value in skill.items() for seed in seeds]


def reference(root):
    """A project with the paper's table."""
    folder = root / "experiments/reference"
    folder.mkdir(parents=True)
    (folder / "table4.csv").write_text(PAPER)
    return root
