"""Who takes the place of the best model: only whoever beats it on the same instances, beyond chance."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.schema import Score
from tasks.evaluation.champion import hold, winner


def scored(*f1, start=0, error=None):
    return [Score(instance_id=f"i{number}", f1=value, error=error) for number, value in enumerate(f1, start)]


def outcome(challengers, holder):
    contests = hold(challengers, "holder", holder, samples=500)
    best = winner(contests)
    return best.challenger if best else None, contests


def test_a_clear_paired_win_takes_the_place_and_its_sentence_has_the_numbers():
    best, (contest,) = outcome({"new": scored(*[0.9, 0.8] * 20)}, scored(*[0.5, 0.4] * 20))
    assert best == "new"
    assert contest.sentence.startswith("new beats holder: +0.400 F1 [+0.400, +0.400], p ")
    assert contest.sentence.endswith("40 instances")


def test_better_on_the_whole_but_by_chance_alone_takes_nothing():
    best, (contest,) = outcome({"new": scored(1, 0, 1, 0, 1, 0, 1, 1)}, scored(0, 1, 0, 1, 1, 0, 1, 0))
    assert best is None
    assert "does not beat" in contest.sentence


def test_other_instances_are_not_compared():
    best, (contest,) = outcome({"new": scored(*[1.0] * 20, start=1)}, scored(*[0.0] * 20))
    assert best is None
    assert not contest.shared
    assert "not compared" in contest.sentence


def test_without_scores_of_the_holder_nobody_wins():
    assert outcome({"new": scored(*[1.0] * 20)}, [])[0] is None


def test_of_several_winners_the_best_takes_the_place():
    challengers = {"good": scored(*[0.6] * 30), "best": scored(*[0.8] * 30), "bad": scored(*[0.1] * 30)}
    assert outcome(challengers, scored(*[0.3] * 30))[0] == "best"


def test_many_challengers_need_a_clearer_win():
    lucky, level = [1.0] * 6 + [0.5] * 20, [0.5] * 26
    assert outcome({"one": scored(*lucky)}, scored(*level))[0] == "one"
    several = {f"{number}": scored(*lucky) for number in range(8)}
    assert outcome(several, scored(*level))[0] is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_nobody_beats_itself(f1):
    assert outcome({"same": scored(*f1)}, scored(*f1))[0] is None
