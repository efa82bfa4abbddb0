"""The real vLLM on a CPU beside transformers: tokens, log-probabilities, and weights that change."""

import asyncio
import importlib.util
from pathlib import Path

import pytest
import torch

from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.transformers import TransformersModel
from fusesearch.core.config import Compute
from fusesearch.training import serving
from fusesearch.training.served import ServedPolicy
from fusesearch.training.serving import Servers
from fusesearch.training.trainer import load_student
from tests.fakes.conversations import all_played, assert_same

ROOT = Path(__file__).parents[2]
BASE = ROOT / "experiments/nano/base"
ISSUES = [f"is_prime({n}) returns True but should be False, see the function primes_below_{n}" for n in range(32)]

pytestmark = [
    pytest.mark.rare,
    pytest.mark.skipif(
        not (ROOT / serving.ENVIRONMENT).is_file() and importlib.util.find_spec("vllm") is None,
        reason="vLLM is not installed: run `make serve-model`",
    ),
]


class Setting:
    def __init__(self, folder):
        self.student, self.tokenizer = load_student(BASE)
        self.servers = Servers(Compute(), folder / "vllm.log", gpus=0)
        self.weights = ServedPolicy(folder / "weights", self.servers, self.tokenizer, "float32")

    def served(self):
        return self.weights.model()

    def local(self):
        return TransformersModel(self.student, self.tokenizer)


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    it = Setting(tmp_path_factory.mktemp("vllm"))
    with pytest.MonkeyPatch.context() as patch, it.servers:
        patch.chdir(ROOT)
        it.servers.start(it.weights.write(it.student, 0))
        yield it


def assert_same_tokens(setting):
    sampling = Sampling(temperature=0.0, max_new_tokens=48)
    ours, theirs = (asyncio.run(all_played(model, ISSUES, sampling)) for model in (setting.local(), setting.served()))
    assert_same(ours, theirs, 1e-3)


def test_new_weights_are_sampled_from(setting):
    assert setting.weights.check(setting.student, 0.7) < 1e-4
    assert_same_tokens(setting)
    with torch.no_grad():
        for number, parameter in enumerate(setting.student.parameters()):
            parameter.mul_(1.02 if number % 2 else 0.98)
    setting.weights.publish(setting.student, 1)
    assert_same_tokens(setting)
