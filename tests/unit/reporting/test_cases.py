"""Pages of cases: which instances the rule takes, and what stands on their pages."""

import pytest

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Answer, Location, Observation, Score, ToolCall, Trajectory, Turn
from fusesearch.core.storage import write_jsonl
from fusesearch.reporting.episodes.cases import INDEX, TYPICAL, Arm, Study, choose, pages, read_study

NAMES = ["a__a-1", "b__b-2", "c__c-3", "d__d-4"]


def arm(name, *figures):
    scores = {
        key: Score(instance_id=key, f1=f1, true_files=["x.py"], true_functions=["x.py::f"])
        for key, f1 in zip(NAMES, figures, strict=True)
    }
    turns = [
        Turn(
            text="", calls=[ToolCall(id="1", name="grep", arguments={"pattern": f"<b>{name}</b>"})],
            observations=[Observation(call_id="1", output="x.py", entities=["x.py"], gain_turn=1.0)],
        )
    ]  # fmt: skip
    answer = Answer(modify=[Location(path="x.py", function="g")])
    episodes = {
        key: Trajectory(instance_id=key, localizer=name, system="", issue="It is <i>wrong</i>.", turns=turns, answer=answer)
        for key in NAMES
    }
    return Arm(scores, episodes)


ARMS = {
    "base": arm("base", 0.0, 0.5, 0.4, 0.6),
    "sft": arm("sft", 1.0, 0.1, 0.4, 0.6),
    "ours+rl": arm("ours+rl", 1.0, 0.1, 0.9, 0.6),
}
SCORES = {name: arm.scores for name, arm in ARMS.items()}


def test_each_pair_of_neighbours_gives_its_largest_gain_and_loss_once():
    rules = {case.rule: case.instance_id for case in choose(SCORES)}
    assert rules["gains most from base to sft"] == "a__a-1"
    assert rules["loses most from base to sft"] == "b__b-2"
    assert rules["gains most from sft to ours+rl"] == "c__c-3"
    assert "loses most from sft to ours+rl" not in rules
    assert rules[TYPICAL] == "d__d-4"


def test_an_errored_episode_is_no_case():
    spoilt = ARMS["sft"].scores["a__a-1"].model_copy(update={"f1": None})
    scores = SCORES | {"sft": {**SCORES["sft"], "a__a-1": spoilt}}
    assert "a__a-1" not in {case.instance_id for case in choose(scores)}
    with pytest.raises(DataError, match="in common"):
        choose({"base": {}, "sft": SCORES["sft"]})


def test_cases_are_read_from_the_first_run_and_an_episode_that_is_not_there_is_named(tmp_path):
    files = {name: tmp_path / f"{name}.jsonl" for name in ARMS}
    second = Score(instance_id="a__a-1", f1=0.9, run=1)
    for name, arm in ARMS.items():
        again = arm.trajectories["a__a-1"].model_copy(update={"issue": "of the second run"})
        write_jsonl(files[name], [*arm.trajectories.values(), again])
    scores = {name: [*rows.values(), second] for name, rows in SCORES.items()}
    assert read_study(scores, files) == Study(choose(SCORES), ARMS)
    write_jsonl(files["sft"], [ARMS["sft"].trajectories["a__a-1"]])
    with pytest.raises(DataError, match=r"sft.jsonl lacks the episode of b__b-2"):
        read_study(scores, files)


def test_the_index_leads_to_a_page_for_each_case_and_that_to_every_episode():
    made = pages(Study(choose(SCORES), ARMS))
    assert {"a__a-1.html", "a__a-1.base.html", "a__a-1.ours_rl.html", INDEX} <= made.keys()
    assert 'href="a__a-1.html"' in made[INDEX]
    page = made["a__a-1.html"]
    assert 'href="a__a-1.ours_rl.html"' in page
    assert "right file, other function" in page
    assert "&lt;b&gt;base&lt;/b&gt;" in page
    assert "<i>wrong" not in page
