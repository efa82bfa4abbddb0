"""Every localizer that asks a model, with a broken model behind real HTTP, and an endpoint that fails."""

import pytest

from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent
from fusesearch.core.schema import Instance
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import LOCALIZERS, make_localizer
from fusesearch.search.snapshots import SnapshotStore
from tests.fakes.endpoint import Endpoint
from tests.fakes.git import committed
from tests.fakes.nonsense import nonsense

FILES = {
    "shop/basket.py": "class Basket:\n    def total(self):\n        return price(self)\n\n\ndef price(item):\n    return 1\n",
    "shop/tests/test_basket.py": "def test():\n    pass\n",
}
STOPS = ("answer", "no_answer", "max_turns", "max_context")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    committed(folder, FILES)
    return SnapshotStore(tmp_path_factory.mktemp("cache")).repository(folder, "HEAD")


@pytest.mark.parametrize("name", [name for name, entry in LOCALIZERS.items() if entry.asks_model])
async def test_a_broken_model_leads_to_an_end_within_bounds(repository, tmp_path, name):
    agent = Agent()
    with Endpoint(nonsense, context_tokens=2 * agent.max_context_tokens) as endpoint:
        model = OpenAICompatibleModel("m", endpoint.url, retries=0)
        localizer = make_localizer(name, Setup(model, agent, caches=Caches(tmp_path)))
        for number in range(8):
            instance = Instance(
                instance_id="i", repo="o/n", base_commit="c", problem_statement=f"`Basket.total` is {number} too low."
            )
            done = await localizer.localize(instance, repository)
            assert (done.error, done.stop in STOPS) == (None, True), done.stop
        await model.close()
    assert endpoint.errors == []
    assert endpoint.longest < 2 * agent.max_context_tokens
