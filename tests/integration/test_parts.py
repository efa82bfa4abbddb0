"""Parts of a stage's work: together they make what one process makes, and the stage itself makes a lost one."""

import json

import pytest

from fusesearch.core.config import parse_params
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import read_instances, read_json, read_trajectories, silent, write_instances
from tasks.evaluate import evaluate_cells
from tasks.mine import mine
from tasks.running.node import Job, Node
from tasks.running.parts import done, join, parts_of
from tasks.running.places import MAIN
from tasks.running.resume import alone
from tasks.synthesize import synthesize_candidates
from tests.fakes.git import committed, git
from tests.fakes.timeless import timeless

PARAMS = parse_params(
    {
        "agent": {"prompt": "nano", "max_turns": 4},
        "synthesize": {"per_instance": 3, "concurrency": 4},
        "evaluate": {"cells": {"words": {"localizer": "lexical"}}, "runs": 2},
    }
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Five instances of one repository, in the sft split and held out."""
    monkeypatch.chdir(tmp_path)
    tree = tmp_path / "tree"
    head = committed(tree, {f"part{number}.py": f"def work_{number}(x):\n    return x + {number}\n" for number in range(5)})
    git(tree, "clone", "-q", "--bare", str(tree), str(tmp_path / MAIN["mine.repos"] / "o__r.git"))
    rows = [
        Instance(
            instance_id=f"i{number}", repo="o/r", base_commit=head, problem_statement=f"work_{number} adds the wrong number",
            truth=Truth(files=[f"part{number}.py"], functions=[f"part{number}.py::work_{number}"]),
        )
        for number in range(5)
    ]  # fmt: skip
    for split in ("sft", "validation"):
        write_instances(MAIN[f"split.{split}"], rows)
    return tmp_path


def lines(path):
    return [json.dumps(timeless(json.loads(line))) for line in path.read_text().splitlines()]


def job(stage, folder, progress=silent, params=PARAMS):
    return Job(Node(stage=stage), params, MAIN, folder, progress)


def do(job, count, lost=None):
    """Do a job's work in at most ``count`` parts per journal, all but one that is lost. Returns the parts."""
    parts = parts_of(job, count) if count else []
    for number, part in reversed(list(enumerate(parts))):
        if number != lost:
            join(job, part, *done(job, part))
    return parts


def scratch(project, name):
    (project / name).mkdir()
    return project / name


@pytest.mark.usefixtures("project")
def test_episodes_of_models_that_vllm_serves_are_left_to_the_stage_and_its_servers(tmp_path):
    cells = {"words": {"localizer": "lexical"}, "trained": {"localizer": "fusesearch", "checkpoint": "base"}}
    ours = {"evaluate": {"cells": cells}, "teacher": {"model": "m", "base_url": "http://localhost/v1"}}
    vllm = {"evaluate": {"cells": cells, "rollouts": "vllm"}, "teacher": {"model": "m"}}
    expected = {"evaluate": (["words", "trained"], ["words"]), "synthesize": ([""], [])}
    for stage, cells_in_parts in expected.items():
        for given, cells in zip((ours, vllm), cells_in_parts, strict=True):
            place = scratch(tmp_path, f"{stage} {len(cells)}")
            assert [part.cell for part in parts_of(job(stage, place, params=parse_params(given)), 1)] == cells


@pytest.mark.parametrize("lost", [None, 0])
def test_candidates_made_in_parts_are_those_of_one_process_byte_for_byte(project, lost):
    synthesize_candidates(job("synthesize", scratch(project, "alone")))
    alone = MAIN["synthesize.candidates"].read_bytes()

    shared = scratch(project, "shared")
    parts = do(job("synthesize", shared), 2, lost)
    if lost is None:
        join(job("synthesize", shared), parts[0], *done(job("synthesize", shared), parts[0]))  # twice is once
    assert bool(parts_of(job("synthesize", shared), 2)) == (lost is not None)
    made = []
    synthesize_candidates(job("synthesize", shared, lambda done, total: made.append(done)))
    assert len(made) == (0 if lost is None else 3 * len(parts[lost].keys))
    assert MAIN["synthesize.candidates"].read_bytes() == alone
    assert len(read_trajectories(MAIN["synthesize.candidates"])) == 15


def test_episodes_made_in_parts_have_the_scores_of_one_process(project):
    figures = []
    for name, count in (("alone", 0), ("shared", 3)):
        place = scratch(project, name)
        with alone("evaluate", place):
            do(job("evaluate", place), count)
            evaluate_cells(job("evaluate", place))
        figures.append((lines(MAIN["evaluate.scores"]), lines(MAIN["evaluate.cells"] / "words/trajectories.jsonl")))
    assert figures[0] == figures[1]
    assert len(figures[0][0]) == 10


def test_pairs_mined_in_parts_are_those_of_one_process_byte_for_byte(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = {"packages": ["pygtrie", "tabulate", "not_there"], "per_repository": 2, "attempts_per_repository": 20, "workers": 1}
    params = parse_params({"mine": config})

    made = []
    for count, lost in ((0, None), (3, 0)):
        place = scratch(tmp_path, f"mine-{count}")
        with alone("mine", place):
            assert len(do(job("mine", place, params=params), count, lost)) == count
            mine(job("mine", place, params=params))
        made.append([MAIN["mine.pairs"].read_bytes(), read_json(MAIN["mine.table"])])
        made[-1].append(sorted(path.relative_to(MAIN["mine.repos"]) for path in MAIN["mine.repos"].rglob("*")))
    assert made[0] == made[1]
    assert len(read_instances(MAIN["mine.pairs"])) >= 2
    assert "warning: 1 repositories or packages gave nothing: not_there" in capsys.readouterr().err
