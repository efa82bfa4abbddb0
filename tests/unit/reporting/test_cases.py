"""Cases: which instances the rule takes, and their table."""

from fusesearch.core.schema import Score
from fusesearch.reporting.cases import TYPICAL, choose, section

NAMES = ["a__a-1", "b__b-2", "c__c-3", "d__d-4"]
FIGURES = {"base": (0.0, 0.5, 0.4, 0.6), "sft": (1.0, 0.1, 0.4, 0.6), "ours+rl": (1.0, 0.1, 0.9, 0.6)}
SCORES = {
    arm: [
        *(Score(instance_id=key, f1=f1) for key, f1 in zip(NAMES, row, strict=True)),
        Score(instance_id="a__a-1", f1=0.5, run=1),
    ]
    for arm, row in FIGURES.items()
}


def test_each_pair_of_neighbours_gives_its_largest_gain_and_loss_once():
    rules = {case.rule: case.instance_id for case in choose(SCORES)}
    assert rules["gains most from base to sft"] == "a__a-1"
    assert rules["loses most from base to sft"] == "b__b-2"
    assert rules["gains most from sft to ours+rl"] == "c__c-3"
    assert "loses most from sft to ours+rl" not in rules
    assert rules[TYPICAL] == "d__d-4"
    (table,) = section(SCORES).tables
    assert ["a__a-1", "gains most from base to sft", "0.00", "1.00", "1.00"] in [row.cells for row in table.rows]


def test_an_errored_episode_is_no_case():
    scores = SCORES | {"sft": [Score(instance_id="a__a-1", error="down"), *SCORES["sft"][1:4]]}
    assert "a__a-1" not in {case.instance_id for case in choose(scores)}
    assert section({"base": [], "sft": SCORES["sft"]}).tables == []
