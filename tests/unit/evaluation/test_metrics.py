"""Quality, ranked metrics, aggregates and scores of trajectories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Answer, Location, Observation, Score, ToolCall, Trajectory, Truth, Turn, Usage
from fusesearch.evaluation import metrics, quality
from fusesearch.evaluation.rewards import make_reward

NAMES = [f"f{index}.py" for index in range(12)]
TRUE = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True)
PREDICTED = st.lists(st.sampled_from(NAMES), max_size=10)
PAIRS = st.lists(st.tuples(PREDICTED, TRUE), min_size=1, max_size=8)


@given(PAIRS)
def test_an_oracle_scores_exactly_one_also_where_the_truth_names_no_function(pairs):
    files = [(true, true) for _, true in pairs]
    functions = [([], [])] + [(true, true) for _, true in pairs[1:]]
    summary = quality.summarize(files, functions)
    assert summary["f1"] == {"micro": 1, "macro": 1}


def test_a_repeated_name_counts_once_at_its_first_rank():
    predicted, true = ["x", "a", "x", "y", "b", "z"], ["a", "b", "c"]
    assert [of(predicted, true) for of in quality.RANKED.values()] == [of([*"xaybz"], true) for of in quality.RANKED.values()]


def test_instances_without_a_true_function_leave_the_means_but_their_guesses_stay_in_the_pool():
    summary = quality.summarize_level([(["a"], ["a"]), (["b"], [])])
    assert summary["instances"] == 1
    assert summary["macro"]["f1"] == 1
    assert summary["micro"]["precision"] == 1 / 2


def test_a_level_that_no_truth_names_has_no_figures():
    summary = quality.summarize([(["a"], ["a"])], [(["f"], [])])
    assert summary["function"]["micro"]["f1"] is None
    assert summary["function"]["map"] is None
    assert summary["f1"] == {"micro": 1, "macro": 1}


def test_combined_f1_weighs_files_seven_to_three():
    assert quality.combined_f1(1, 0) == pytest.approx(0.7)
    assert quality.combined_f1(0.5, 1) == pytest.approx(0.65)
    assert quality.combined_f1(0.5, None) == 0.5


TRUTH = Truth(files=["a.py", "b.py"], functions=["a.py::f"])


def call_turn(gains, prompt, completion=10, errors=0):
    calls = [ToolCall(id=str(index), name="grep") for index in range(len(gains))]
    observations = [
        Observation(call_id=str(index), output="", gain_turn=gain, gain_call=gain / 2, error="bad" if index < errors else None)
        for index, gain in enumerate(gains)
    ]
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion, seconds=0.5)
    return Turn(text="", calls=calls, observations=observations, usage=usage, seconds_tools=0.25)


@pytest.fixture
def episode():
    answer = Answer(modify=[Location(path="a.py", function="f"), Location(path="a.py", function="g"), Location(path="c.py")],
                    related=[Location(path="b.py")])  # fmt: skip
    turns = [call_turn([1, 0, 1, 1], 100, errors=1), call_turn([0.5], 160), call_turn([], 200, 30)]
    return Trajectory(
        instance_id="i", repo="o/r", localizer="fusesearch", system="", issue="", turns=turns, answer=answer, seconds=4
    )


def test_a_score_holds_quality_efficiency_and_cost(episode):
    score = metrics.score_trajectory(episode, TRUTH, reward=make_reward("fusesearch"), arm="sft", run=2)
    assert (score.file_precision, score.file_recall, score.file_f1) == (0.5, 0.5, 0.5)
    assert (score.function_precision, score.function_recall) == (0.5, 1)
    assert score.f1 == pytest.approx(0.7 * 0.5 + 0.3 * 2 / 3)
    assert (score.efficiency, score.efficiency_call) == pytest.approx((0.7, 0.35))
    assert score.reward == pytest.approx(0.8 * score.f1 + 0.2 * score.f1 * 0.7)
    assert (score.turns, score.calls, score.calls_per_turn, score.failed_calls) == (3, 5, 2.5, 1)
    assert (score.seconds, score.seconds_model, score.seconds_tools) == (4, 1.5, 0.75)
    assert (score.tokens_context, score.tokens_billed) == (230, 110 + 170 + 230)
    assert (score.arm, score.run, score.repo, score.localizer) == ("sft", 2, "o/r", "fusesearch")
    assert score.predicted_files == ["a.py", "c.py"]


def test_tool_success_is_over_the_calls_of_all_scores(episode):
    scores = [metrics.score_trajectory(episode, TRUTH), Score(instance_id="j", calls=3, failed_calls=1)]
    scores += [Score(instance_id="k", calls=0, failed_calls=0), Score(instance_id="l", error="gone")]
    assert metrics.aggregate(scores)["tool_success"] == pytest.approx(1 - 2 / 8)


def test_figures_are_printed_in_the_units_of_their_headings():
    score = Score(
        instance_id="i", f1=0.5, answer_score=0.25, evidence_seen=0.5, reward=0.1234, efficiency=0.125, redundancy=0.25,
        redundancy_call=0.75, turns=3, calls=4, failed_calls=1, calls_each_turn=[3, 1, 0], seconds=1.5, tokens_billed=12_345,
    )  # fmt: skip
    found, rows = metrics.aggregate([score, score]), metrics.METRICS
    assert [f"{row.heading} {row.show(found[key])}" for key, row in rows.items() if found.get(key) is not None] == [
        "F1 0.7/0.3, mean (%) 50.0", "Answer (%) 25.0", "Evidence seen (%) 50.0", "Reward 0.123", "e, history by turn (%) 12.5",
        "Redundant, by turn (%) 25.0", "Redundant, by call (%) 75.0", "Repeated within a turn (%) 50.0", "Tool success (%) 75.0",
        "Turns 3.00", "Calls 4.00", "Calls, first turn 3.00", "Calls, later turns 1.00", "Failed calls 1.00", "Seconds 1.50",
        "Tokens, billed (k) 12.35",
    ]  # fmt: skip
    assert [(rows[key].points, rows[key].show(0.01, signed=True)) for key in ("f1_macro", "turns")] == [
        (" points", "+1.0"), ("", "+0.01")
    ]  # fmt: skip


def test_history_scope_decides_which_e_the_reward_uses(episode):
    reward = make_reward("f1+e")
    by_turn, by_call = (metrics.score_trajectory(episode, TRUTH, reward=reward, scope=scope) for scope in ("turn", "call"))
    assert by_turn.reward - by_call.reward == pytest.approx(0.35)


def test_an_errored_episode_has_no_figures_and_one_without_an_answer_scores_zero(episode):
    broken = episode.model_copy(update={"error": "server gone", "stop": "error"})
    silent = episode.model_copy(update={"answer": None, "stop": "max_turns"})
    none, zero = (metrics.score_trajectory(row, TRUTH, reward=make_reward("fusesearch")) for row in (broken, silent))
    assert none.error == "server gone"
    assert (none.f1, none.efficiency, none.reward, none.turns, none.seconds) == (None,) * 5
    assert (zero.f1, zero.reward, zero.error) == (0, 0, None)


def test_an_episode_without_calls_has_zero_efficiency_and_a_truth_without_functions_is_scored_by_files_alone(episode):
    score = metrics.score_trajectory(episode.model_copy(update={"turns": episode.turns[-1:]}), TRUTH)
    assert (score.efficiency, score.calls_per_turn, score.calls, score.turns) == (0, 0, 0, 1)
    score = metrics.score_trajectory(episode, Truth(files=["a.py"]))
    assert score.function_f1 is None
    assert score.f1 == score.file_f1 == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="i: the truth names no file"):
        metrics.score_trajectory(episode, Truth())


def test_functions_that_are_unknown_leave_all_figures_of_functions_and_are_counted(episode):
    unknown = metrics.score_trajectory(episode, Truth(files=["a.py"], functions=["a.py::f"], unread=["a.py"]))
    known = metrics.score_trajectory(episode, TRUTH)
    assert unknown.function_f1 is None
    assert unknown.f1 == unknown.file_f1
    both, alone = metrics.aggregate([known, unknown]), metrics.aggregate([known])
    assert both["functions_unknown"] == 1
    assert both["function_micro_f1"] == alone["function_micro_f1"]
    assert both["function_recall_at_5"] == alone["function_recall_at_5"]
    assert "functions_unknown" not in alone


def test_aggregates_count_errored_scores_and_leave_them_out():
    good = Score(instance_id="1", f1=1, reward=0.9, turns=3, predicted_files=["a"], true_files=["a"])
    bad = Score(instance_id="2", error="down", true_files=["b"])
    summary = metrics.aggregate([good, bad])
    assert (summary["instances"], summary["scores"], summary["errored"]) == (1, 1, 1)
    assert (summary["f1_micro"], summary["reward"], summary["turns"], summary["seconds"]) == (1, 0.9, 3, None)
