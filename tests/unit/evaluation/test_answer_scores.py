"""Scores, rewards, selection and the table of questions."""

import pytest

from fusesearch.agents.answers import format_values, parse_values
from fusesearch.core.config import Select
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Answer, Expected, Instance, Observation, Score, ToolCall, Trajectory, Truth, Turn, Usage
from fusesearch.evaluation.answers import score_answer
from fusesearch.evaluation.environments import ENVIRONMENTS
from fusesearch.evaluation.metrics import aggregate, score_trajectory
from fusesearch.evaluation.protocols import PROTOCOLS
from fusesearch.evaluation.rewards import make_reward
from fusesearch.training.selection import select

EXPECTED = Expected(family="default", kind="value", values=["42"], evidence=["a.py:3", "b.py:7"], original="10")
TRUTH = Truth(files=["a.py", "b.py"], expected=EXPECTED)


def episode(*values, error=None, broken=0):
    seen = [Observation(call_id="1", output="", entities=["a.py:3", "a.py:4"], gain_turn=1, gain_call=1)]
    seen += [Observation(call_id=str(n + 2), output="", error="no") for n in range(broken)]
    calls = [ToolCall(id=row.call_id, name="grep") for row in seen]
    turns = [Turn(text="", calls=calls, observations=seen, usage=Usage()), Turn(text=format_values(values) if values else "")]
    answer = parse_values(turns[-1].text)
    return Trajectory(instance_id="i", localizer="x", system="", issue="", turns=turns, answer=answer, error=error)


def test_a_score_has_the_share_the_evidence_and_memory():
    score = score_answer(episode("42"), TRUTH, arm="x")
    assert (score.answer_score, score.evidence_seen, score.from_memory) == (1, 0.5, 0)
    assert (score.family, score.predicted_values, score.true_values) == ("default", ["42"], ["42"])
    assert score_answer(episode("10"), TRUTH).from_memory == 1
    assert score_answer(episode(), TRUTH).answer_score == 0


def test_an_infrastructure_failure_is_not_a_zero():
    score = score_answer(episode("42", error="server gone"), TRUTH)
    assert score.answer_score is None
    with pytest.raises(DataError, match="server gone"):
        make_reward("answer")(score)


@pytest.mark.parametrize(
    ("name", "clean", "half_failed"),
    [("answer", 1, 1), ("answer+executed", 1 + 0.1 / 2, 1), ("answer+informative", 1.1, 1.05), ("fusesearch", 1, 0.9)],
)
def test_rewards(name, clean, half_failed):
    reward = make_reward(name)
    assert score_answer(episode("42"), TRUTH, reward=reward).reward == pytest.approx(clean)
    assert score_answer(episode("42", broken=1), TRUTH, reward=reward).reward == pytest.approx(half_failed)


def test_a_question_has_no_ranking_and_an_issue_no_answer():
    with pytest.raises(DataError):
        make_reward("ndcg@5")(score_answer(episode("42"), TRUTH))
    with pytest.raises(DataError, match="not a question"):
        score_answer(episode("42"), Truth(files=["a.py"]))


def test_selection_keeps_right_answers():
    rows = select([episode("42"), episode("41"), episode()], {"i": TRUTH}, Select(), scorer=score_answer)
    assert [row.reason for row in rows] == [None, "low_f1", "no_answer"]


def test_the_table_of_exact_answers_counts_questions_alone():
    scores = [score_answer(episode("42"), TRUTH), score_answer(episode("1"), TRUTH)]
    localized = Score(instance_id="j", true_files=["a.py"], true_functions=["a.py::f"], predicted_files=["a.py"])
    row = PROTOCOLS["exact"].read([*scores, localized])
    assert row == {"answer_score": 0.5, "from_memory": 0.0, "evidence_seen": 0.5}
    assert len(PROTOCOLS["codescout"].view([*scores, localized])) == 1
    assert aggregate(scores)["answer_score"] == 0.5


def test_files_of_localization_have_no_fields_of_questions():
    assert "expected" not in Truth(files=["a.py"]).model_dump_json()
    assert "values" not in Answer().model_dump_json()
    assert "answer_score" not in Score(instance_id="i").model_dump_json()
    assert Truth.model_validate_json(TRUTH.model_dump_json().replace('"evidence"', '"hops":2,"evidence"')) == TRUTH


def test_an_environment_takes_its_own_instances_and_scores_no_others():
    question = Instance(instance_id="q", repo="o/n", base_commit="c", problem_statement="?", truth=TRUTH)
    issue = question.model_copy(update={"instance_id": "i", "truth": Truth(files=["a.py"])})
    found = {name: [row.instance_id for row in environment.own([question, issue])] for name, environment in ENVIRONMENTS.items()}
    assert found == {"both": ["q", "i"], "fusesearch": ["i"], "questions": ["q"], "repoqa": ["q"], "reposearcher": ["i"]}
    with pytest.raises(DataError, match="is that of a question"):
        score_trajectory(episode("42"), TRUTH)
