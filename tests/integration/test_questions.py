"""Questions about a small made-up package: each truth is known, and what is unclear is not asked."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from fusesearch.agents.questions import read_back
from fusesearch.core.config import Agent, Filter, Mine, Params, Select, Tools, parse_params
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import Journal, silent, write_instances, write_jsonl
from fusesearch.data.filtering import filter_pairs
from fusesearch.data.repositories import Repositories
from fusesearch.data.sources.synthetic import Synthetic
from fusesearch.data.sources.synthetic.mining import without_common
from fusesearch.evaluation.answers import score_answer
from fusesearch.evaluation.environments import environment_named
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.search.git import Git
from fusesearch.training import synthesis
from fusesearch.training.selection import kept, select
from fusesearch.training.sft import tokenize
from fusesearch.training.trainer import load_student
from tasks.running.node import Job, Node
from tasks.running.places import MAIN
from tasks.select import select_candidates
from tests.fakes.git import files_in, write
from tests.fakes.training import snapshots_in

FILES = files_in(Path(__file__).parent / "quizpkg.txt")
NANO = {"read_lines": 5, "grep_lines": 4, "line_chars": 56, "output_chars": 900}


@pytest.fixture(scope="module")
def mined(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    write(folder, FILES)
    config = Mine(tasks=["questions"], packages=[str(folder / "quizpkg")], questions_per_repository=30, workers=1)
    result = Synthetic(config, 0, folder / "journal").mine(folder / "repos", silent)
    return result, folder


def asked(mined, family):
    return {row.problem_statement: row.truth.expected for row in mined[0].instances if row.truth.expected.family == family}


def only(found, *words):
    (text,) = [text for text in found if all(f"`{word}`" in text for word in words)]
    return found[text]


def test_each_question_has_its_true_answer_can_be_read_back_and_unclear_ones_are_counted_and_not_asked(mined):
    default = asked(mined, "default")
    assert only(default, "speed", "quizpkg.sail").original == "3"
    assert only(default, "port", "quizpkg.sail").original == "'harbor-7'"
    assert len(default) == 3  # speed of the decoy, too; neither dry=False nor parameters without a default
    exported = asked(mined, "exported")
    assert only(exported, "quizpkg.dive").values == ["quizpkg/engine.py::go_down"]
    assert not any("`first`" in text for text in default)  # a decorator may put another in its place
    (table,) = mined[0].table["repositories"]
    kept = Counter(row.truth.expected.family for row in mined[0].instances)
    assert (table["questions"]["kept"], set(kept)) == (kept, {"default", "exported"})
    for row in mined[0].instances:
        assert not re.search(r"\w+\.py\b|/", row.problem_statement)
        assert read_back(row.problem_statement) is not None


def test_the_snapshot_has_the_literal_that_is_expected_and_not_the_published_one(mined):
    rows = [row for row in mined[0].instances if row.truth.expected.original]
    assert len(rows) == 3
    for row in rows:
        expected = row.truth.expected
        path, _, line = expected.evidence[0].rpartition(":")
        with Git(mined[1] / "repos/local__quizpkg.git") as reader:
            text = reader.read(row.base_commit, path)
        assert expected.values[0] in text.split("\n")[int(line) - 1]
        assert expected.values[0] != expected.original


def answered(mined, name, tools, **agent):
    rows, folder = mined[0].instances, mined[1]
    setup = Setup(agent=Agent(toolset="questions", **agent), tools=tools)
    snapshot, found = snapshots_in(folder), {}
    for row in rows:
        task = row if name == "oracle" else row.task()
        trajectory = asyncio.run(make_localizer(name, setup).localize(task, snapshot(row), 0))
        assert trajectory.error is None
        found[row.problem_statement] = score_answer(trajectory, row.truth)
    return found


def test_the_teacher_answers_what_one_look_does_not_also_within_small_limits_and_the_oracle_every_question(mined):
    teacher = answered(mined, "lexical-answers", Tools()).values()
    assert len([score for score in teacher if score.answer_score < 1]) <= 1  # a decoy has the name that another is exported by
    assert any(score.hops for score in teacher)
    assert any(score.evidence_seen == 1 for score in teacher)
    limited = answered(mined, "lexical-answers", Tools(**NANO), prompt="nano", max_turns=5).values()
    assert all(score.turns <= 5 for score in limited)
    assert sum(score.answer_score for score in limited) > 0.5 * len(limited)
    assert all(score.answer_score == 1 for score in answered(mined, "oracle", Tools()).values())


def test_no_answer_is_common():
    row = {"instance_id": "i", "repo": "o/n", "base_commit": "c", "problem_statement": "?"}
    expected = {"family": "default", "kind": "value"}
    kept, left_out = without_common([
        Instance.model_validate(row | {"truth": {"files": ["a.py"], "expected": expected | {"values": [str(value)]}}})
        for value in [7] * 30 + list(range(100, 170))
    ])  # fmt: skip
    assert (len(kept), left_out) == (75, 25)


def test_questions_pass_the_filter_with_their_truth(mined):
    rows = mined[0].instances
    other = "Where is the rudder of a raft that nobody has built so far?\n"
    stranger = rows[0].model_copy(update={"instance_id": "x", "base_commit": "0" * 40, "problem_statement": other})
    pairs, drops = [*rows, rows[0].model_copy(update={"instance_id": "again"}), stranger], Counter()
    with Repositories(mined[1] / "repos") as repositories:
        kept = list(filter_pairs(pairs, Filter(), repositories.reader, drops))
    assert [row.truth for row in kept] == [row.truth for row in rows]
    assert (drops["duplicate_issue"], drops["no_snapshot"]) == (1, 1)


@pytest.mark.parametrize("prompt", ["full", "nano"])
def test_the_teacher_makes_trajectories_to_learn_from(mined, tmp_path, prompt, monkeypatch):
    rows, folder = mined[0].instances, mined[1]
    agent = {"toolset": "questions", "prompt": prompt, "max_turns": 6}
    params = parse_params({"agent": agent, "synthesize": {"per_instance": 2}, "tools": {} if prompt == "full" else NANO})
    snapshot = snapshots_in(folder)
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        made = synthesis.synthesize(synthesis.draw(rows, params.synthesize, 0), params, snapshot, journal)
    assert all("about the code" in row.system or "questions about a repository" in row.system for row in made)
    truths = {row.instance_id: row.truth for row in rows}
    judged = select(made, truths, Select(min_f1=1, min_efficiency=0.2), scorer=score_answer)
    assert len(kept(judged)) >= len(rows) // 2
    assert all(row.score.answer_score == 1 for row in judged if row.reason is None)
    monkeypatch.chdir(tmp_path)
    write_instances(MAIN["split.sft"], rows)
    write_jsonl(MAIN["synthesize.candidates"], made)
    stage = Params(select=Select(min_f1=1, min_efficiency=0.2))  # which lacks agent.toolset
    assert select_candidates(Job(Node(stage="select"), stage, MAIN, tmp_path))["selected"] == len(kept(judged))


def test_one_student_is_taught_issues_and_questions(mined, tmp_path, base):
    question, folder = mined[0].instances[0], mined[1]
    truth = Truth(files=["quizpkg/engine.py"], functions=["quizpkg/engine.py::go_down"])
    told = "`go_down(4)` returns 5\n\n>>> go_down(4)\n5\nbut it should be 4\n"
    issue = question.model_copy(update={"instance_id": "issue", "problem_statement": told, "truth": truth})
    both = environment_named("both")
    assert both.own([issue, question]) == [issue, question]
    params = parse_params(
        {"agent": {"toolset": "both", "prompt": "nano"}, "tools": NANO, "sft": {"renamed_copies": 0, "drills": 0}}
    )
    snapshot = snapshots_in(folder)
    with Journal(tmp_path / "journal.jsonl", key="key") as journal:
        drawn = synthesis.draw([issue, question], params.synthesize, 0)
        made = [row for row in synthesis.synthesize(drawn, params, snapshot, journal)]
    located, answered = ([row for row in made if bool(row.answer.text) == of] for of in (False, True))
    assert {row.instance_id for row in located} == {"issue"}
    assert {row.instance_id for row in answered} == {question.instance_id}
    assert both.score(located[0], truth).file_f1 == 1
    assert max(both.score(row, question.truth).answer_score for row in answered) == 1
    rows, _ = tokenize([located[0], answered[0]], (tokenizer := load_student(base)[1]), params)
    openings = [environment_named(name).spec.instruct(params.agent, "", None).system for name in ("fusesearch", "questions")]
    texts = [tokenizer.decode(row["input_ids"]) for row in rows]
    assert [[opening in text for opening in openings] for text in texts] == [[True, False], [False, True]]
    with pytest.raises(ConfigError, match="both is for training"):
        both.spec.of(issue.task().question)
