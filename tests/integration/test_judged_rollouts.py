"""Rollouts on open questions, whose reward is the grade that a judge behind an endpoint gives."""

import re

import pytest

from fusesearch.agents.models.base import Completion
from fusesearch.core.config import Params
from fusesearch.core.schema import Expected, Instance, Truth
from fusesearch.search.repository import Repository
from fusesearch.training.rollouts import Episodes
from tests.fakes.endpoint import Endpoint

QUESTION = Instance(
    instance_id="open", repo="o/yard", base_commit="0" * 40, problem_statement="How does `pull` fail?",
    truth=Truth(expected=Expected(family="open", kind="text", values=["It raises TooShort."])),
)  # fmt: skip
SAID = ["It raises TooShort.", "It returns None.", "", "unclear"]


class Policy:
    """Answers at once, by the seed of its rollout; a reflection changes nothing."""

    name = "policy"

    async def complete(self, messages, tools, sampling):
        said = SAID[(sampling.seed or 0) % len(SAID)]
        return Completion(text=f"## Answer\n- {said}" if said else "I do not know.")

    async def close(self):
        pass


def judged(request):
    """Half the points for another answer than the reference, and prose for an unclear one."""
    prompt = request["messages"][-1]["content"]
    reference, candidate = (text in prompt for text in ("It raises TooShort.", "It returns None."))
    points = "Hm." if "unclear" in prompt else f"[[completeness: {50 if candidate else 100}]]"
    assert reference
    return {"role": "assistant", "content": points}


def made(tmp_path, url, **search):
    (tmp_path / "yard.py").write_text("def pull(): ...\n")
    grpo = {"reward": "answer+executed", "prompts_per_step": 1, "group": 4, "micro_batch": 4, "search": search,
            "judge": {"model": "j", "base_url": url}}  # fmt: skip
    params = Params.model_validate({"agent": {"toolset": "questions"}, "grpo": grpo})
    episodes = Episodes(params, params.grpo, {"open": QUESTION}, lambda _: Repository(tmp_path), eos=0, out=tmp_path / "out")
    return episodes.make(["open"] * 4, 0, Policy()).scores


def test_a_judge_gives_the_reward_and_a_failed_judge_gives_no_reward(tmp_path):
    with Endpoint(judged) as endpoint:
        scores = made(tmp_path, endpoint.url)
        asked = len(endpoint.asked)
        again = made(tmp_path, endpoint.url)
        assert len(endpoint.asked) - asked == 3  # only what failed is asked again, as often as a judge is
    assert endpoint.errors == []
    assert [score.answer_score for score in scores] == [1.0, pytest.approx(0.6), 0.0, None]
    assert [score.reward for score in scores] == [1.0, pytest.approx(0.6), 0.0, None]
    assert re.match("no verdict: ", scores[3].error)
    assert [score.reward for score in again] == [score.reward for score in scores]


def test_trees_are_grown_by_the_judges_grades(tmp_path):
    with Endpoint(judged) as endpoint:
        scores = made(tmp_path, endpoint.url, kind="mcts", children=2)
    assert endpoint.errors == []
    rewards = [score.reward for score in scores]
    assert any(reward is not None for reward in rewards)
    assert set(rewards) <= {None, 0.0, 0.6, 1.0}
    assert len(list((tmp_path / "out/trees").iterdir())) == 1
