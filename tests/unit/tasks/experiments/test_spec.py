"""The file that says what an experiment is."""

import pytest
import yaml

from fusesearch.core.config import Params
from fusesearch.core.errors import ConfigError
from tasks.experiments.spec import load_experiment

FILTERING = {
    "title": "Filtering",
    "question": "Does it matter?",
    "hypothesis": "It does.",
    "set": {"grpo.steps": 5},
    "arms": {"none": {"set": {"select.min_f1": 0.0}}, "joint": {"label": "F1 and e", "checkpoint": "grpo"}},
    "seeds": [0, 1],
    "metrics": ["f1_macro", "efficiency"],
    "primary": "f1_macro",
    "claims": [{"metric": "f1_macro", "better": "joint", "than": "none", "paper": True}],
}


def written(root, name="filtering", **changes):
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "experiment.yaml").write_text(yaml.safe_dump({**FILTERING, **changes}, sort_keys=False))
    return root


def test_arms_take_the_values_of_all_then_their_own_then_the_seed(tmp_path):
    experiment = load_experiment("filtering", written(tmp_path))
    params = experiment.params(Params(), "none", 7)
    assert (params.grpo.steps, params.select.min_f1, params.seed) == (5, 0.0, 7)
    assert params.select.min_efficiency == Params().select.min_efficiency
    assert [experiment.label(arm) for arm in experiment.arms] == ["none", "F1 and e"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"claims": [{"metric": "f1_macro", "better": "f1", "than": "none"}]}, "names f1, which is not an arm"),
        ({"claims": [{"metric": "turns", "better": "joint", "than": "none"}]}, "turns is used and not among the metrics"),
        ({"primary": "reward"}, "reward is used and not among the metrics"),
        ({"seeds": [1, 1]}, "seeds has a value twice"),
        ({"seeds": []}, "seeds"),
        ({"arms": {"a/b": {}}}, "arms"),
        ({"arm": {}}, "arm: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, changes, said):
    with pytest.raises(ConfigError, match=said) as refused:
        load_experiment("filtering", written(tmp_path, **changes))
    assert "\n" not in str(refused.value)
    assert "filtering/experiment.yaml" in str(refused.value)


@pytest.mark.parametrize("name", ["absent", "../filtering", "filtering/.."])
def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path, name):
    with pytest.raises(ConfigError, match="there are filtering"):
        load_experiment(name, written(tmp_path))


@pytest.mark.parametrize("change", [{"select.min_f2": 0.1}, {"select": 3}, {"select.min_f1": 2}, {"seed.x": 1}, {"": 1}])
def test_an_unknown_param_or_value_names_the_arm(tmp_path, change):
    arms = {**FILTERING["arms"], "none": {"set": change}}
    with pytest.raises(ConfigError, match=r"experiment\.yaml: none"):
        load_experiment("filtering", written(tmp_path, arms=arms)).params(Params(), "none", 0)
