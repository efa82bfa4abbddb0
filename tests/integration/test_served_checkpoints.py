"""Finished checkpoints behind servers that speak vLLM's token protocol: evaluated, and as teachers."""

import pytest
import torch

from fusesearch.core.caches import Caches
from fusesearch.core.config import Compute, Teacher
from fusesearch.core.errors import ArtifactError
from fusesearch.core.storage import Journal, read_instances
from fusesearch.evaluation.grid import Benchmark, Endpoint, Grid
from fusesearch.evaluation.running import opened
from fusesearch.training.served import ServedPolicy, served
from fusesearch.training.serving import Servers
from fusesearch.training.synthesis import draw, synthesize
from fusesearch.training.trainer import load_student
from tests.fakes.training import snapshots_in

pytestmark = pytest.mark.usefixtures("engine")


def scored(out, params, instances, base, compute):
    grid = Grid(
        localizers=["fusesearch"], models=[Endpoint(name="student", checkpoint=base, temperature=0.0)], runs=1, compute=compute,
        benchmarks=[Benchmark(name="held-out", instances=instances, repos=out.parent / "repos")],
        agent=params.agent, tools=params.tools,
    )  # fmt: skip
    with opened(grid, out, Caches(out.parent), serve=served) as run:
        return run.run(run.cells[0])


def test_a_checkpoint_scores_the_same_behind_servers_as_in_this_process(tmp_path, params, instances, base):
    here = scored(tmp_path / "here", params, instances, base, None)
    there = scored(tmp_path / "there", params, instances, base, Compute(serve=2))
    assert all(score.error is None for score in there)
    assert [(s.instance_id, s.f1, s.turns, s.tokens_context) for s in there] == [
        (s.instance_id, s.f1, s.turns, s.tokens_context) for s in here
    ]
    assert (tmp_path / "there/vllm.log").exists()


def test_running_servers_change_to_the_checkpoint(tmp_path, base):
    other, tokenizer = load_student(base)
    with torch.no_grad():
        other.model.embed_tokens.weight.mul_(2)
    (tmp_path / "running").mkdir()
    with Servers(Compute(), tmp_path / "running/vllm.log", gpus=0) as running:
        running.start(ServedPolicy(tmp_path / "other", running, tokenizer, "float32").write(other, 0))
        with served(base, Compute(servers=running.addresses), tmp_path / "out", "float32") as policy:
            folder = tmp_path / "out/weights"
            assert policy.version() in {path.name for path in folder.iterdir()}
            changed, _ = load_student(folder / policy.version())
    weights = load_student(base)[0].state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in changed.state_dict().items() if name in weights)
    assert not folder.exists()


def test_a_teacher_without_an_endpoint_is_served_by_the_stage(tmp_path, params, instances, base):
    taught = params.model_copy(update={"teacher": Teacher(model=str(base))})
    snapshot = snapshots_in(tmp_path)
    candidates = draw(read_instances(instances), taught.synthesize, 0)
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        made = synthesize(candidates, taught, snapshot, journal, out=tmp_path)
    assert [row.error for row in made] == [None] * len(candidates)
    assert all(turn.tokens for row in made for turn in row.turns)
    assert [row.instance_id for row in made] == [candidate.instance.instance_id for candidate in candidates]


def test_a_checkpoint_that_does_not_exist_is_one_line(tmp_path):
    with (
        pytest.raises(ArtifactError, match="nowhere is not a folder and cannot be downloaded from the hub"),
        served("nowhere", Compute(), tmp_path, "float32"),
    ):
        pass
