"""Every localizer that asks a model, with a broken model behind real HTTP, and an endpoint that fails."""

import pytest

from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent
from fusesearch.core.errors import ModelUnavailable
from fusesearch.core.schema import Instance
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import LOCALIZERS, make_localizer
from tests.fakes.encoder import shared_encoder
from tests.fakes.endpoint import Endpoint
from tests.fakes.nonsense import nonsense

FILES = {
    "shop/basket.py": "class Basket:\n    def total(self):\n        return price(self)\n\n\ndef price(item):\n    return 1\n",
    "shop/tests/test_basket.py": "def test():\n    pass\n",
}
STOPS = ("answer", "no_answer", "max_turns", "max_context")


INSTANCE = Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement="`Basket.total` is too low.")
AGENT = Agent(options={"encoder": shared_encoder()})
ASKING = [name for name, entry in LOCALIZERS.items() if entry.asks_model]


@pytest.mark.parametrize("name", ASKING)
async def test_an_endpoint_that_is_gone_is_an_error_and_no_answer(repository, tmp_path, name):
    def reply(messages):
        raise ModelUnavailable("the endpoint is gone")

    done = await make_localizer(name, Setup(ScriptedModel(reply), AGENT, caches=Caches(tmp_path))).localize(INSTANCE, repository)
    assert (done.stop, done.error, done.answer) == ("error", "the endpoint is gone", None)


@pytest.mark.parametrize("name", ASKING)
async def test_a_broken_model_leads_to_an_end_within_bounds(repository, tmp_path, name):
    with Endpoint(nonsense, context_tokens=2 * AGENT.max_context_tokens) as endpoint:
        model = OpenAICompatibleModel("m", endpoint.url, retries=0)
        localizer = make_localizer(name, Setup(model, AGENT, caches=Caches(tmp_path)))
        for number in range(8):
            issue = f"`Basket.total` is {number} too low."
            done = await localizer.localize(INSTANCE.model_copy(update={"problem_statement": issue}), repository)
            assert (done.error, done.stop in STOPS) == (None, True), done.stop
        await model.close()
    assert endpoint.errors == []
    assert endpoint.longest < 2 * AGENT.max_context_tokens
