"""Evaluation with real tools over a real tree: runs, resuming, retries and errors."""

import json

import pytest

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.errors import DataError, ModelUnavailable, RepositoryError
from fusesearch.core.schema import Answer, Instance, Location, Tokens, Trajectory, Truth
from fusesearch.evaluation.harness import evaluate
from fusesearch.evaluation.rewards import make_reward
from fusesearch.localizers.base import Setup
from fusesearch.localizers.fusesearch import FuseSearchLocalizer
from fusesearch.search.repository import Repository

SEARCH = format_calls([("grep", {"pattern": "def total"}), ("glob", {"pattern": "**/*.py"})])
ANSWER = "## Locations to Modify\n- /repo/cart.py::total\n"
TRUTH = Truth(files=["cart.py"], functions=["cart.py::total"])


def instance(name, truth=TRUTH, commit="c"):
    return Instance(instance_id=name, repo="o/shop", base_commit=commit, problem_statement=f"{name}: total is wrong", truth=truth)


INSTANCES = [instance("one"), instance("two"), instance("three", commit="d")]


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "cart.py").write_text("def total(x):\n    return x\n")
    return tmp_path / "tree"


@pytest.fixture
def bench(tree, tmp_path):
    async def run(subject, instances=INSTANCES, repositories=None, **options):
        return await evaluate(
            subject, instances, repositories or (lambda instance: Repository(tree)), journal=tmp_path / "journal.jsonl",
            **({"runs": 2, "arm": "sft", "reward": make_reward("fusesearch")} | options),
        )  # fmt: skip

    return run


def arm(model):
    return FuseSearchLocalizer(Setup(model))


class Flaky:
    """A model that is down for the first ``failures`` requests about an instance."""

    name = "flaky"

    def __init__(self, instance_id, failures):
        self.instance_id, self.failures, self.seeds = instance_id, failures, []
        self.script = ScriptedModel([SEARCH, ANSWER])

    async def complete(self, messages, tools, sampling):
        self.seeds.append(sampling.seed)
        if self.instance_id in messages[1].content and self.failures:
            self.failures -= 1
            raise ModelUnavailable("the endpoint is down")
        return await self.script.complete(messages, tools, sampling)

    async def close(self):
        pass


async def test_every_instance_is_run_and_scored_in_order_and_runs_differ_in_their_seed_alone(bench, tmp_path):
    found = await bench(arm(ScriptedModel([SEARCH, ANSWER])))
    assert [(score.instance_id, score.run) for score in found.scores] == [(i.instance_id, r) for i in INSTANCES for r in (0, 1)]
    assert {(score.f1, score.reward, score.calls, score.arm) for score in found.scores} == {(1, 1, 2, "sft")}
    assert [row.instance_id for row in found.trajectories] == [score.instance_id for score in found.scores]
    (tmp_path / "journal.jsonl").unlink()
    again = await bench(arm(ScriptedModel([SEARCH, ANSWER])), concurrency=1)
    seeds = [row.seed for row in found.trajectories]
    assert len(set(seeds)) == 6
    assert [row.seed for row in again.trajectories] == seeds


async def test_an_endpoint_that_fails_once_leaves_no_trace_and_one_that_stays_down_gives_errors_not_zeros(bench, tmp_path):
    found = await bench(arm(Flaky("two", failures=1)))
    assert [score.error for score in found.scores] == [None] * 6
    (tmp_path / "journal.jsonl").unlink()
    found = await bench(arm(Flaky("two", failures=99)))
    errored = [score for score in found.scores if score.error]
    assert [(score.instance_id, score.f1, score.reward) for score in errored] == [("two", None, None)] * 2
    assert "the endpoint is down" in errored[0].error


async def test_a_snapshot_that_cannot_be_read_is_tried_again_then_reported(bench, tree):
    asked = []

    def repositories(instance):
        asked.append(instance.base_commit)
        if instance.base_commit == "d":
            raise RepositoryError("commit d is not there")
        return Repository(tree)

    found = await bench(arm(ScriptedModel([SEARCH, ANSWER])), repositories=repositories, runs=1)
    assert [score.error for score in found.scores] == [None, None, "commit d is not there"]
    assert (asked.count("c"), asked.count("d")) == (1, 2)


async def test_finished_episodes_are_not_run_again(bench, tmp_path):
    whole = await bench(arm(ScriptedModel([SEARCH, ANSWER])))
    lines = (tmp_path / "journal.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_text("".join(lines[:4]) + lines[4][:50])
    model = Flaky("nobody", 0)
    resumed = await bench(arm(model))
    assert len(model.seeds) == 2 * 2
    figures = {"f1", "reward", "calls", "instance_id", "run", "tokens_billed"}
    assert [s.model_dump(include=figures) for s in resumed.scores] == [s.model_dump(include=figures) for s in whole.scores]
    keys = [json.loads(line)["key"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 6


async def test_a_failing_program_is_not_an_errored_score(bench):
    with pytest.raises(ZeroDivisionError):
        await bench(arm(ScriptedModel(lambda messages: 1 / 0)))


class Guess:
    """A localizer that is no model."""

    name = "guess"

    async def localize(self, instance, repository, seed=None):
        answer = Answer(modify=[Location(path=path) for path in repository.files()])
        return Trajectory(instance_id=instance.instance_id, localizer=self.name, system="", issue="", answer=answer)


async def test_any_localizer_can_be_evaluated(bench):
    done = []
    found = await bench(Guess(), runs=1, progress=lambda *counts: done.append(counts))
    assert {(score.file_f1, score.function_f1, score.localizer) for score in found.scores} == {(1, 0, "guess")}
    assert done == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("sees_truth", [False, True])
async def test_a_localizer_is_given_no_truth_and_no_patch_unless_it_is_a_bound(bench, sees_truth):
    given = []

    class Peeking(Guess):
        async def localize(self, instance, repository, seed=None):
            given.append(instance)
            return await super().localize(instance, repository, seed)

    peeking = Peeking()
    peeking.sees_truth = sees_truth
    told = INSTANCES[0].model_copy(update={"patch": "diff --git a/cart.py b/cart.py", "hints_text": "look at cart.py"})
    await bench(peeking, [told], runs=1)
    kept = {name for name, value in given[0].model_dump().items() if value}
    assert ({"truth", "patch", "hints_text"} <= kept) is sees_truth


async def test_token_ids_are_not_kept(bench):
    class Ids(ScriptedModel):
        async def complete(self, *request):
            completion = await super().complete(*request)
            return completion.model_copy(update={"tokens": Tokens(prompt_ids=[1], completion_ids=[2], logprobs=[0.0])})

    found = await bench(arm(Ids([SEARCH, ANSWER])))
    assert all(turn.tokens is None for row in found.trajectories for turn in row.turns)


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([instance("x", truth=None)], "x has no truth"),
        ([instance("x", truth=Truth())], "x: the truth names no file"),
        ([instance("x"), instance("x")], "duplicate instance x"),
    ],
)
async def test_unusable_instances_are_refused_before_any_work(bench, instances, message):
    model = Flaky("nobody", 0)
    with pytest.raises(DataError, match=message):
        await bench(arm(model), instances)
    assert model.seeds == []
