"""Finished checkpoints behind servers that speak vLLM's token protocol: evaluated, and as teachers."""

import pytest

from fusesearch.core.caches import Caches
from fusesearch.core.config import Compute, Teacher
from fusesearch.core.storage import Journal, read_instances
from fusesearch.evaluation.grid import Benchmark, Endpoint, Grid
from fusesearch.evaluation.running import opened
from fusesearch.training.served import served
from fusesearch.training.synthesis import draw, synthesize
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


def test_a_teacher_without_an_endpoint_is_served_by_the_stage(tmp_path, params, instances, base):
    taught = params.model_copy(update={"teacher": Teacher(model=str(base))})
    snapshot = snapshots_in(tmp_path)
    candidates = draw(read_instances(instances), taught.synthesize, 0)
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        made = synthesize(candidates, taught, snapshot, journal, out=tmp_path)
    assert [row.error for row in made] == [None] * len(candidates)
    assert all(turn.tokens for row in made for turn in row.turns)
    assert [row.instance_id for row in made] == [candidate.instance.instance_id for candidate in candidates]
