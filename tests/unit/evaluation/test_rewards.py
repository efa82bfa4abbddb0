"""Rewards by name."""

import pytest

from fusesearch.core.config import Grpo
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.schema import Score
from fusesearch.evaluation.quality import ndcg_at
from fusesearch.evaluation.rewards import NAMES, make_reward


def score(f1, e, **fields):
    return Score(instance_id="i", f1=f1, efficiency=e, **fields)


@pytest.mark.parametrize(
    ("name", "expected"), [("fusesearch", 0.8 * 0.5 + 0.2 * 0.5 * 0.4), ("f1", 0.5), ("f1+e", 0.9), ("f1+f1*e", 0.7)]
)
def test_each_name_is_its_formula(name, expected):
    assert make_reward(name)(score(0.5, 0.4)) == pytest.approx(expected)


def test_weights_are_those_of_equation_six_and_the_default_params_give_the_papers():
    assert make_reward("fusesearch", alpha=1, beta=2, gamma=4)(score(0.5, 0.25)) == pytest.approx(0.5 + 0.5 + 0.5)
    params = Grpo()
    ours = make_reward(params.reward, alpha=params.alpha, beta=params.beta, gamma=params.gamma)
    assert ours(score(1, 0.5)) == pytest.approx(0.9)


def test_ndcg_ranks_functions_and_falls_back_to_files():
    functions = {"predicted_functions": ["x", "f", "g"], "true_functions": ["f", "g"]}
    files = {"predicted_files": ["a", "b"], "true_files": ["b"]}
    assert make_reward("ndcg@2")(score(1, 1, **functions, **files)) == ndcg_at(["x", "f", "g"], ["f", "g"], 2)
    assert make_reward("ndcg@5")(score(1, 1, **files)) == ndcg_at(["a", "b"], ["b"], 5)


def test_an_unknown_name_is_answered_with_the_names():
    for name in ("", "F1", "ndcg", "ndcg@", "ndcg@0", "ndcg@-1", "ndcg@x", "f1 + e"):
        with pytest.raises(ConfigError) as caught:
            make_reward(name)
        assert all(known in str(caught.value) for known in NAMES)


def test_an_errored_score_has_no_reward():
    for name in ("fusesearch", "f1", "ndcg@5"):
        with pytest.raises(DataError, match="the score is absent"):
            make_reward(name)(Score(instance_id="i", error="server gone"))
