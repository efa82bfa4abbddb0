"""An endpoint that drops a third of all requests and answers others late or in part: no episode is scored for it."""

import asyncio

import pytest

from experiments.benchmarks.bench import endpoint
from experiments.benchmarks.bench.endpoint import Faulty, make_episodes
from tasks.agents.models import openai_compatible
from tasks.core.schema import Truth
from tasks.evaluation.metrics import score_trajectory
from tasks.search.repository import Repository

FAULTS = {"drop": 1 / 3, "late": 1 / 12, "cut": 1 / 12, "half": 1 / 12}


@pytest.fixture
def tree(tmp_path):
    for name in ("cart", "order", "till"):
        (tmp_path / f"{name}.py").write_text(f"def {name}():\n    return 1\n")
    return tmp_path


@pytest.fixture(autouse=True)
def _many_faults(monkeypatch):
    monkeypatch.setattr(endpoint, "FAULTS", FAULTS)
    monkeypatch.setattr(endpoint, "TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(openai_compatible, "MAX_WAIT_SECONDS", 0.1)


def run(tree, count, retries):
    repository = Repository(tree)
    episodes = make_episodes(repository, count)
    with Faulty(episodes, late_seconds=0.8) as server:
        return asyncio.run(endpoint._run(repository, episodes, server, retries)), server.served


def test_with_tries_enough_every_episode_ends_well(tree):
    trajectories, served = run(tree, 12, retries=30)
    assert [trajectory.stop for trajectory in trajectories] == ["answer"] * 12
    assert set(served) == {*FAULTS, "fine"}


def test_with_few_tries_an_episode_is_errored_and_has_no_score(tree):
    trajectories, _ = run(tree, 24, retries=1)
    assert {trajectory.stop for trajectory in trajectories} == {"answer", "error"}
    for trajectory in trajectories:
        score = score_trajectory(trajectory, Truth(files=["cart.py", "order.py", "till.py"]))
        assert (score.error is None) == (trajectory.stop == "answer")
        figures = score.model_dump(include={"file_f1", "f1", "efficiency", "reward", "turns", "calls", "seconds"})
        assert score.error is None or set(figures.values()) == {None}
        assert score.error is not None or score.file_f1 > 0


def test_the_rows_say_how_episodes_ended(tree):
    ended, zeros = endpoint.measure_on(tree, 6, retries=1)
    assert (ended.value, ended.met, zeros.value, zeros.met) == (6, True, 0, True)
