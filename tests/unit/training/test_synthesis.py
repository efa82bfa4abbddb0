"""Candidates are drawn by seed, made once, and go on from the journal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.core.config import Agent, Params, Synthesize, Teacher
from fusesearch.core.errors import EndpointDown, InfrastructureError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Journal
from fusesearch.search.repository import Repository
from fusesearch.training import synthesis
from fusesearch.training.synthesis import draw, synthesize


def instance(name="i", issue="parse_date('2020-13-01') fails"):
    return Instance(instance_id=name, repo="o/r", base_commit="0" * 40, problem_statement=issue)


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    (root / "dates.py").write_text("def parse_date(text):\n    return int(text[:4])\n")
    return Repository(root)


def params(**synthesize_section):
    return Params(agent=Agent(prompt="nano"), synthesize=Synthesize(**{"per_instance": 3, **synthesize_section}))


@given(st.integers(1, 20), st.tuples(st.integers(1, 8), st.integers(1, 8)), st.integers(0, 5))
def test_guidance_stays_in_range_and_repeats_only_when_it_must(per_instance, bounds, seed):
    low, high = sorted(bounds)
    drawn = [c.guidance for c in draw([instance()], Synthesize(per_instance=per_instance, calls_per_turn=(low, high)), seed)]
    assert len(drawn) == per_instance
    assert all(low <= calls <= high for calls in drawn)
    assert len(set(drawn)) == min(per_instance, high - low + 1)


def test_other_instances_do_not_change_what_is_drawn():
    section = Synthesize(per_instance=3)
    alone = draw([instance("b")], section, seed=1)
    among = [c for c in draw([instance("a"), instance("b")], section, seed=1) if c.instance.instance_id == "b"]
    assert alone == among
    assert alone != draw([instance("b")], section, seed=2)


def test_the_lexical_teacher_follows_its_guidance(tmp_path, repository):
    candidates = draw([instance()], params().synthesize, seed=0)
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        made = synthesize(candidates, params(), lambda _: repository, journal)
    assert [trajectory.guidance for trajectory in made] == [candidate.guidance for candidate in candidates]
    assert all(len(turn.calls) <= (made_one.guidance or 0) for made_one in made for turn in made_one.turns)
    assert all(trajectory.answer and trajectory.answer.files == ["dates.py"] for trajectory in made)


def test_answers_and_turns_are_drawn_in_range_where_asked_for_and_leave_the_rest_as_it_is():
    plain = draw([instance("a"), instance("b")], Synthesize(per_instance=7), seed=0)
    assert {(one.answers, one.turns) for one in plain} == {(None, None)}
    varied = draw([instance("a"), instance("b")], Synthesize(per_instance=7, answers=(1, 3), turns=(2, 4)), seed=0)
    assert {one.answers for one in varied} == {1, 2, 3}
    assert {one.turns for one in varied} == {2, 3, 4}
    assert [one.guidance for one in varied if one.instance.instance_id == "a"] == [one.guidance for one in plain[:7]]


def test_a_teacher_that_may_take_two_turns_answers_in_the_second(tmp_path, repository):
    short = params(turns=(2, 2), answers=(1, 1))
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        made = synthesize(draw([instance()], short.synthesize, seed=0), short, lambda _: repository, journal)
    assert {len(trajectory.turns) for trajectory in made} == {2}
    assert {len(trajectory.answer.modify) for trajectory in made} == {1}


def test_candidates_in_the_journal_are_not_made_again(tmp_path, repository):
    candidates = draw([instance("a"), instance("b")], params().synthesize, seed=0)
    opened = []

    def snapshot(which):
        opened.append(which.instance_id)
        return repository

    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        first = synthesize(candidates[:3], params(), snapshot, journal)
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        every = synthesize(candidates, params(), snapshot, journal)
        assert len(journal) == len(candidates)
    assert opened == ["a", "b"]
    assert every[:3] == first


@pytest.mark.parametrize(
    ("section", "error", "said"),
    [
        ({"per_instance": 1}, InfrastructureError, "failed on 1 of 1 candidates"),
        ({"per_instance": 50, "concurrency": 4}, EndpointDown, r"^8 requests in a row failed: .*127\.0\.0\.1:9"),
    ],
)
def test_a_teacher_whose_endpoint_is_down_is_given_up_and_leaves_no_rows(tmp_path, repository, monkeypatch, section, error, said):
    monkeypatch.setattr(synthesis, "OpenAICompatibleModel", lambda name, url, _: OpenAICompatibleModel(name, url, retries=0))
    teacher = Teacher(model="m", base_url="http://127.0.0.1:9/v1")
    down, told = params(**section).model_copy(update={"teacher": teacher}), []
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        candidates = draw([instance()], down.synthesize, seed=0)
        with pytest.raises(error, match=said):
            synthesize(candidates, down, lambda _: repository, journal, lambda done, _: told.append(done))
        assert (len(journal), len(told) <= 7) == (0, True)
