"""Candidates are kept by quality and efficiency, and every drop has one reason."""

import pytest

from fusesearch.agents.parsing import format_answer
from fusesearch.core.config import Select
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Answer, Location, Observation, ToolCall, Trajectory, Truth, Turn
from fusesearch.training.selection import REASONS, drop_table, kept, select

TRUTH = Truth(files=["a.py"], functions=["a.py::f"], lines={"a.py": [(1, 2)]})
RIGHT = Answer(modify=[Location(path="a.py", function="f")])
WRONG = Answer(modify=[Location(path="b.py", function="f")])


def candidate(instance="i", answer=RIGHT, gain=1.0, text="look", error=None):
    call = ToolCall(id="c", name="grep", arguments={"pattern": "f"})
    seen = Observation(call_id="c", output="", entities=["a.py"], gain_turn=gain, gain_call=gain / 2)
    turns = [Turn(text=text, calls=[call], observations=[seen]), Turn(text=format_answer(answer or RIGHT))]
    return Trajectory(
        instance_id=instance, localizer="lexical", system="", issue="", turns=turns, answer=answer, error=error, guidance=2
    )


def reasons(candidates, scope="turn", **rules):
    truths = {name: TRUTH for name in "ijk"}
    return [row.reason for row in select(candidates, truths, Select(**rules), scope)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"answer": None}, "no_answer"),
        ({"answer": Answer(related=[Location(path="a.py")])}, "no_answer"),
        ({"answer": Answer(modify=[Location(path="a.py", function="f g")])}, "unreadable"),
        ({"answer": WRONG}, "low_f1"),
        ({"gain": 0.4}, "low_efficiency"),
        ({"answer": WRONG, "gain": 0.0}, "low_f1"),
        ({"error": "endpoint down", "answer": None}, "errored"),
    ],
)
def test_the_first_reason_that_applies_counts(changes, reason):
    assert reasons([candidate(**changes)], min_f1=0.5, min_efficiency=0.5) == [reason]


def test_thresholds_are_inclusive_and_efficiency_follows_the_history_scope():
    assert reasons([candidate(gain=0.5)], min_f1=1.0, min_efficiency=0.5) == [None]
    assert reasons([candidate(gain=0.8)], scope="call", min_efficiency=0.5) == ["low_efficiency"]


def test_a_word_for_word_repetition_of_a_kept_candidate_is_dropped_within_an_instance_only():
    assert reasons([candidate(), candidate(), candidate("j")]) == [None, "duplicate", None]
    assert reasons([candidate(answer=WRONG), candidate()]) == ["low_f1", None]


def test_the_best_of_an_instance_are_kept_by_f1_and_then_by_e():
    half = Answer(modify=[*RIGHT.modify, Location(path="b.py", function="f")])
    several = [candidate(answer=half), candidate(gain=0.6), candidate(gain=0.9, text="other"), candidate("j", answer=half)]
    assert reasons(several, per_instance=2) == ["over_limit", None, None, None]
    assert reasons(several, per_instance=1) == ["over_limit", "over_limit", None, None]


def test_the_limit_takes_one_of_every_instance_before_a_second():
    several = [candidate("i", text=str(n)) for n in range(3)] + [candidate("j"), candidate("k")]
    assert reasons(several, max_trajectories=3) == [None, "over_limit", "over_limit", None, None]


def test_under_the_limit_repositories_take_turns_though_candidates_come_one_repository_after_another():
    many = [candidate(f"{repo}{n}").model_copy(update={"repo": repo}) for repo in "abcd" for n in range(5)]
    judged = select(many, {row.instance_id: TRUTH for row in many}, Select(max_trajectories=6))
    assert [row.instance_id for row in kept(judged)] == ["a0", "a1", "b0", "b1", "c0", "d0"]


def test_drops_and_kept_add_up_to_all_candidates():
    candidates = [candidate(), candidate(), candidate(answer=WRONG), candidate(error="x")]
    judged = select(candidates, {"i": TRUTH}, Select())
    drops = drop_table(judged)
    assert list(drops) == list(REASONS)
    assert len(kept(judged)) + sum(drops.values()) == len(candidates)


def test_a_candidate_of_an_unknown_instance_is_an_error():
    with pytest.raises(DataError, match="x: a candidate of an unknown instance"):
        select([candidate("x")], {"i": TRUTH}, Select())
