"""Which questions are trained on, by what a weak and a strong system make of them."""

from fusesearch.core.schema import Instance, Score
from fusesearch.evaluation.curriculum import left_out
from fusesearch.evaluation.judged import JudgedScore


def question(name):
    return Instance(instance_id=name, repo="o/n", base_commit="0" * 40, problem_statement="Why?", patch="")


def score(name, grade, run=0, error=None):
    return Score(instance_id=name, localizer="ircot", run=run, answer_score=grade, error=error)


ROWS = [question(name) for name in ("easy", "once", "fair", "hard", "failed")]
WEAK = [
    score("easy", 1.0), score("once", 0.2), score("once", 0.8, run=1), score("fair", 0.4), score("hard", 0.0),
    score("failed", None, error="no server"),
]  # fmt: skip
STRONG = [score(name, 1.0) for name in ("easy", "once", "fair", "failed")] + [score("hard", 0.6)]


def test_what_the_weak_system_answers_once_is_trivial_and_what_the_strong_one_never_does_is_hopeless():
    found = left_out(ROWS, WEAK, STRONG, hard=0)
    assert found == {"easy": "trivial", "once": "trivial", "hard": "hopeless", "failed": "unknown"}


def test_some_that_nobody_answers_stay_the_same_ones_each_time():
    many = [question(str(number)) for number in range(100)]
    nobody = [score(row.instance_id, 0.0) for row in many]
    found = left_out(many, nobody, nobody)
    assert [*found.values()] == ["hopeless"] * 60
    assert found == left_out(many, nobody, nobody)


def test_a_judge_decides_about_open_answers_and_its_failure_about_none():
    def graded(name, grade):
        return JudgedScore(**score(name, None).model_dump(), judge_grade=grade)

    weak = [graded("fair", 0.2), graded("hard", None)]
    assert left_out(ROWS[2:4], weak, [graded("fair", 1.0), graded("hard", 1.0)]) == {"hard": "unknown"}
