"""A teacher whose server parses tool calls: from the endpoint to the tokens that SFT trains."""

import asyncio
import json

import pytest
import yaml

from fusesearch.agents.loop import run_episode
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.agents.parsing import parse_turn
from fusesearch.core.config import Select, overlay, parse_params
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Truth
from fusesearch.evaluation.costs import tool_statistics
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository
from fusesearch.training.selection import kept, select
from fusesearch.training.sft import tokenize
from tests.fakes.endpoint import Endpoint

ANSWER = "## Locations to Modify\n- /repo/lib/order.rb::Order.paid?\n"
RULES = Select(min_f1=0.5, min_efficiency=0.0)


def native(patterns):
    """Answers with native calls, then with ANSWER."""

    def answer(request):
        if any(message["role"] == "tool" for message in request["messages"]):
            return {"role": "assistant", "content": ANSWER}
        rows = [{"name": "grep", "arguments": json.dumps({"pattern": pattern})} for pattern in patterns]
        calls = [{"id": f"c{i}", "type": "function", "function": row} for i, row in enumerate(rows)]
        return {"role": "assistant", "content": "I search for it.", "tool_calls": calls}

    return answer


def written(*texts):
    """Answers with each text in turn: calls that the server left in the text, and ANSWER at the end."""
    replies = iter([*texts, ANSWER])
    return lambda request: {"role": "assistant", "content": next(replies)}


@pytest.fixture
def params():
    with open("params.yaml", encoding="utf-8") as file:
        nano = yaml.safe_load(file)
    changes = {"agent": {"prompt": "full"}, "sft": {"max_length": 8192, "drills": 0, "renamed_copies": 0}}
    return parse_params(overlay(nano, changes))


@pytest.fixture
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained("experiments/nano/base")


@pytest.fixture
def episode(tmp_path, params):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/order.rb").write_text("class Order\n  def paid?\n    @total > 0\n  end\nend\n")
    instance = Instance(instance_id="a", repo="r", base_commit="c", problem_statement="paid? is wrong")

    def run(answer):
        with Endpoint(answer) as server:
            model = OpenAICompatibleModel("t", server.url, "k")

            async def search():
                limits = (params.agent, params.tools, Sampling())
                found = await run_episode(make_episode(instance, Repository(tmp_path), model, *limits, localizer="fusesearch"))
                await model.close()
                return found

            return asyncio.run(search())

    return run


def selected(trajectory):
    truth = Truth(files=["lib/order.rb"], functions=["lib/order.rb::Order.paid?"])
    return kept(select([trajectory], {"a": truth}, RULES))


def trained(row, tokenizer):
    """The messages that a row trains, each up to its end-of-turn token."""
    ids = [token if label != -100 else None for token, label in zip(row["input_ids"], row["labels"], strict=True)]
    messages, current = [], []
    for token in ids:
        if token == tokenizer.eos_token_id:
            messages.append(tokenizer.decode(current))
            current = []
        elif token is not None:
            current.append(token)
    return messages


TEXT = 'I search for it.\n[TOOL_CALLS]grep[ARGS]{"pattern": "def paid"}[TOOL_CALLS]grep[ARGS]{"pattern": "total"}'


@pytest.mark.parametrize(
    ("replies", "failed"),
    [(native(["def paid", "total"]), 0), (written(TEXT), 0), (written("<|python_tag|>grep paid", TEXT), 1)],
)
def test_a_student_learns_the_calls_that_were_made_whoever_read_them_and_none_that_could_not_be_read(
    episode, params, tokenizer, replies, failed
):
    trajectory = episode(replies)
    assert tool_statistics(trajectory)["failed_calls"] == failed
    assert all("Right would be" in turn.observations[0].output for turn in trajectory.turns[:failed])
    assert [call.name for call in trajectory.turns[failed].calls] == ["grep", "grep"]
    (chosen,) = selected(trajectory)
    ((row,), left_out) = tokenize([chosen], tokenizer, params)
    first, last = trained(row, tokenizer)
    prose, calls = parse_turn(first)
    assert prose == "I search for it."
    assert [call.arguments for call in calls] == [{"pattern": "def paid"}, {"pattern": "total"}]
    assert last == ANSWER
    assert left_out == 0


def test_a_text_that_does_not_read_as_its_turn_is_never_trained(episode, params, tokenizer):
    trajectory = episode(native(["def paid"]))
    trajectory.turns[-1].text = "Done."
    assert selected(trajectory) == []
    with pytest.raises(DataError, match="does not read as their calls and answer, first a"):
        tokenize([trajectory], tokenizer, params)
