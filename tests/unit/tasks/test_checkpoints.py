"""What a training stage leaves beside its checkpoint."""

import json

from fusesearch.core.config import Params
from fusesearch.core.storage import read_csv
from tasks.checkpoints import publish_trained, times_of
from tasks.running.node import Job, Node
from tasks.running.places import Places
from tasks.stages import STAGES


def test_the_curve_of_two_runs_is_the_same_whatever_time_they_took(tmp_path):
    curves = []
    for number in range(2):
        job = Job(Node(stage="grpo"), Params(), Places(root=tmp_path / str(number)), tmp_path / f"scratch-{number}")
        (job.scratch / "checkpoint").mkdir(parents=True)
        rows = [
            {"step": 0, "steps": 1, "validation/f1": 0.5, "validation/seconds": number + 1.5},
            {"step": 1, "steps": 1, "reward": 0.25, "train_seconds": number + 2.5, "tokens_per_second": 10.0 + number},
        ]
        (job.scratch / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        publish_trained(job)
        curves.append(job.output("curve").read_bytes())
    assert curves[0] == curves[1]
    assert read_csv(job.output("curve"))[1]["reward"] == "0.25"
    times = read_csv(times_of(job.output("curve")))
    seconds = [(row["step"], row["validation/seconds"], row["train_seconds"]) for row in times]
    assert seconds == [
        ("0", "2.5", ""),
        ("1", "", "3.5"),
    ]
    assert not any(times_of(job.output("curve")).name in path for path in STAGES["grpo"].outputs.values())
