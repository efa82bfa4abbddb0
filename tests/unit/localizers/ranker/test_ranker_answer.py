from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.spans import FunctionSpan
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Instance
from fusesearch.localizers.base import Setup
from fusesearch.localizers.ranker import answer_of, models, ranking_of
from fusesearch.localizers.ranker.answer import rank
from fusesearch.localizers.ranker.building import Progress
from fusesearch.localizers.ranker.columns import FILE_COLUMNS, FUNCTION_COLUMNS, Candidate
from fusesearch.localizers.ranker.features import Candidates, candidates_of
from fusesearch.localizers.ranker.history import commits_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.localizer import RankerLocalizer
from fusesearch.localizers.ranker.trees import MOST, WEIGHTS, Model, log_odds, read_models
from fusesearch.search.repository import Repository
from tests.fakes.git import git, write

FILES = {
    "pkg/__init__.py": "from pkg.fast import total\n",
    "pkg/fast.py": "from pkg.parts import part\n\n\ndef total(items):\n    return sum(part(item) for item in items)\n",
    "pkg/slow.py": "def total(items):\n    result = 0\n    result += items\n    return result\n",
    "pkg/parts.py": "def part(item):\n    if not item:\n        raise ValueError('items must not be empty here')\n",
    "pkg/store.py": "class Store:\n    def write(self, data):\n        pass\n\n    def read(self):\n        return self.data\n",
    "pkg/other.py": "def unrelated():\n    pass\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "r", FILES)


def commit(root: Path, message: str, path: str = ".") -> None:
    for arguments in (["init", "-q"], ["add", path], ["commit", "-qm", message]):
        git(root, *arguments)


def columns(root: Path, issue: str) -> dict[str, dict[str, float]]:
    with Index(Repository(root), None) as index:
        found = candidates_of(issue, index)
    return {candidate.entity: candidate.columns for candidate in [*found.files, *found.functions]}


@pytest.mark.parametrize("label", ["## Title:\n\n", "# Title\n", "**Title:** ", "Issue title: "])
def test_what_a_form_has_before_the_title_is_none(root: Path, label: str):
    issue = "Title items\n\nThey are read from the store."
    assert str(columns(root, label + issue)) == str(columns(root, issue))  # nan is not itself


def test_columns_are_those_of_models_and_say_what_frames_messages_and_paths_tell(root: Path):
    with Index(Repository(root), None) as index:
        found = candidates_of('`total` is wrong\nTraceback\n  File "pkg/fast.py", line 5, in total\n', index)
    assert {name for candidate in found.files for name in candidate.columns} <= {*FILE_COLUMNS}
    assert {name for candidate in found.functions for name in candidate.columns} <= {*FUNCTION_COLUMNS}
    assert {len(candidate.row()) for candidate in found.functions} == {len(FUNCTION_COLUMNS)}
    named = columns(root, "total([1]) is 2 for items of the store")
    assert named["pkg/fast.py"]["defines_unique"] == named["pkg/slow.py"]["defines_unique"] == 0.5
    trace = 'Crash\n  File "/x/pkg/fast.py", line 5, in total\n  File "/x/pkg/parts.py", line 3, in part\n'
    crash = columns(root, trace + "ValueError: items must not be empty here\nsee pkg/store.py:2")
    assert crash["pkg/parts.py"]["frame_last"] == crash["pkg/parts.py::part"]["frame_last"] == 1
    assert (crash["pkg/fast.py"]["frame"], crash["pkg/parts.py::part"]["phrase"]) == (0.5, 1)
    assert crash["pkg/store.py"]["path_named"] == crash["pkg/store.py::Store.write"]["line"] == 1
    write(
        root,
        {"sum.rs": "pub fn total(x: u8) -> u8 { x }\n\n#[cfg(test)]\nmod tests {\n    fn total_is_right() { total(1); }\n}\n"},
    )
    rust = [entity for entity in columns(root, "total_is_right: `total` panics") if entity.startswith("sum.rs::")]
    assert rust == ["sum.rs::total"]  # unit tests inside files of Rust are no candidates


def test_history_is_unknown_without_git_and_known_with_it(root: Path):
    assert math.isnan(columns(root, "Store is slow")["pkg/store.py"]["history_words"])
    commit(root, "other", "pkg/other.py")
    commit(root, "slow disk")
    found = columns(root, "Store is slow, unrelated")
    assert found["pkg/store.py"]["history_words"] > found["pkg/other.py"]["history_words"] == 0
    assert found["pkg/store.py"]["history_recent"] > found["pkg/other.py"]["history_recent"]
    (root / ".git").rename(root.parent / "elsewhere")
    (root / ".git").symlink_to(root.parent / "elsewhere")
    assert math.isnan(columns(root, "Store is slow")["pkg/store.py"]["history_words"])
    (root / ".git").unlink()
    (root.parent / "elsewhere").rename(root / ".git")
    (root / ".git" / "HEAD").write_text("ref: refs/heads/gone\n")
    assert math.isnan(columns(root, "Store is slow")["pkg/store.py"]["history_words"])


def lead_out(git: Path, how: str) -> None:
    """Change a git directory so that git would read another place, or wait."""
    if how == "pipe":
        (git / "HEAD").unlink()
        os.mkfifo(git / "HEAD")
    elif how == "packs":
        (git / "objects/pack").rename(git.parent.parent / "packs")
        (git / "objects/pack").symlink_to(git.parent.parent / "packs")
    elif how == "include":
        with (git / "config").open("a") as config:
            config.write(f" [Include]\n\tpath = {git.parent.parent}/config\n")
    else:
        shutil.copytree(git, git.parent.parent / "other")
        (git / how).write_text(f"{git.parent.parent}/other\n")


@pytest.mark.parametrize("how", ["pipe", "packs", "include", "commondir", "objects/info/alternates"])
def test_a_git_directory_that_leads_out_has_no_history(root: Path, how: str):
    commit(root, "slow disk")
    assert not math.isnan(columns(root, "Store is slow")["pkg/store.py"]["history_words"])
    lead_out(root / ".git", how)
    assert math.isnan(columns(root, "Store is slow")["pkg/store.py"]["history_words"])


def test_a_work_tree_and_a_clone_that_shares_objects_have_the_history_and_one_that_is_not_its_own_has_none(
    root: Path, tmp_path: Path
):
    commit(root, "slow disk")
    there = tmp_path / "there"
    for name, how in {"tree": ["worktree", "add", "-q"], "clone": ["clone", "-q", "--shared", "."]}.items():
        subprocess.run(["git", *how, str(there / name)], cwd=root, check=True, capture_output=True)
        progress = Progress()
        with Index(Repository(there / name), tmp_path / "index", progress) as index:
            assert [found.files for found in commits_of(index)] == [sorted(FILES)]
        assert (progress.fields(), progress.notes()) == ({}, [])
    moved = shutil.move(there / "tree", there / "moved")  # git's record of it names the old place
    with Index(Repository(moved), tmp_path / "index", progress) as index:
        assert commits_of(index) == []
    why = "`.git` leads elsewhere, to what does not name this folder"
    assert (progress.fields(), progress.notes()) == ({"no_history": why}, [f"History does not count: {why}."])


def test_a_file_that_the_issue_names_outside_of_a_sparse_checkout_is_said_to_be_there(root: Path, tmp_path: Path):
    write(root, {"far/away.py": "def off(): pass\n"})
    commit(root, "far")
    git(root, "sparse-checkout", "set", "pkg")
    for text, outside in (("`off` in far/away.py fails", ["far/away.py"]), ("total of pkg/fast.py", [])):
        progress = Progress()
        answer_of(text, Repository(root), tmp_path / "index", progress)
        assert progress.fields().get("outside", []) == outside
        assert any("far/away.py (`git sparse-checkout add far` adds it)" in note for note in progress.notes()) == bool(outside)


def test_a_notebook_that_has_a_name_of_the_issue_is_named_where_nothing_else_is_found(tmp_path: Path):
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": ["def smooth_curve(values):\n"]}]})
    repository = Repository(write(tmp_path / "r", {"curves.ipynb": notebook, "other.ipynb": "{}"}))
    for text, found in (("smooth_curve returns too much", ["curves.ipynb"]), ("nothing here is smooth", [])):
        progress = Progress()
        answer_of(text, repository, tmp_path / "index", progress)
        assert progress.fields() == ({"notebooks": found} if found else {})
        assert [note.rpartition(" in ")[2] for note in progress.notes()] == [f"{name}." for name in found]


def test_a_shallow_clone_has_the_history_that_it_has(root: Path, tmp_path: Path):
    for message in ("one", "two", "three"):
        (root / "pkg/store.py").write_text(f"{FILES['pkg/store.py']}# {message}\n")
        commit(root, message)
    subprocess.run(["git", "clone", "-q", "--depth", "2", f"file://{root}", str(tmp_path / "shallow")], check=True)
    with Index(Repository(tmp_path / "shallow"), None) as index:
        assert [found.files for found in commits_of(index)] == [["pkg/store.py"], sorted(FILES)]


def localized(root: Path, issue: str, **setup):
    instance = Instance(instance_id="a", repo="a", base_commit="", problem_statement=issue)
    localizer = RankerLocalizer(Setup(None, Agent(), **setup))
    return asyncio.run(localizer.localize(instance, Repository(root)))


def test_an_answer_has_confidence_and_reasons_and_is_the_same_twice(root: Path, tmp_path: Path):
    events = []
    issue = "pkg.total([1]) is 2\n`total` should be 1"
    first = localized(root, issue, caches=Caches(tmp_path), on_event=lambda kind, payload: events.append(kind))
    assert first.error is None
    assert first.answer.modify[0].entity == "pkg/fast.py::total"
    assert 0 <= first.answer.confidence <= 1
    assert first.answer.modify[0].reasons == ["`total` is named in the title"]
    assert "index" in events
    assert localized(root, issue, caches=Caches(tmp_path)).answer == first.answer


STRANGE = [
    "空列表的 total 返回错误的结果\n应该返回 0", "的", "x" * 100_000, "total items " * 5_000, "total(" * 8_000,
    "\n" * 50_000 + "total", f"`{'a' * 90}b` and `{'a' * 90}c`",
    "`plumless` and `buckeroo`",  # two words with the same number
    'Traceback (most recent call last):\n  File "/x/pkg/fast.py", line 5, in total\nValueError: bad\n',
    'Traceback (most recent call last):\n  File "/lib/json.py", line ' + "9" * 5000 + ", in loads\n",
    "../../etc/passwd:3 /etc/shadow ~/.ssh/id_rsa C:\\a.py pkg/../../secret.py:3 .git/config", "\x00\ud800",
]  # fmt: skip


def test_strange_issues_have_an_answer_or_none_and_a_tree_without_code_has_none(root: Path, tmp_path: Path):
    empty = write(tmp_path / "empty", {"README.md": "total"})
    assert localized(empty, "total is wrong", caches=Caches(tmp_path)).stop == "no_answer"
    for issue in STRANGE:
        trajectory = localized(root, issue, caches=Caches(tmp_path), top=3)
        found = trajectory.answer.modify if trajectory.answer else []
        assert (trajectory.error, len(found) <= 3) == (None, True), issue[:80]
        assert {location.path for location in found} <= FILES.keys()


def test_shipped_models_fit_the_features_are_small_and_a_probability_lies_on_the_curve_of_its_group():
    file, function = models()
    assert {file.columns[used] for tree in file.trees for used in tree[0]} <= {*FILE_COLUMNS}
    assert {function.columns[used] for tree in function.trees for used in tree[0]} <= {*FUNCTION_COLUMNS}
    assert WEIGHTS.stat().st_size < 1_000_000
    model = Model([], {"python": (0.0, 1.0, 0.0), "other": (0.0, 0.0, 1.0)}, 0.0)
    assert [model.probability("python", odds, 9) for odds in (-1e9, 0, math.log(4))] == pytest.approx([0, 0.5, 0.8])
    assert [model.probability("other", 9, score) for score in (-math.log(4), 0, 1e9)] == pytest.approx([0.2, 0.5, MOST])


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20).map(sorted))
def test_log_odds_keep_the_order_of_scores(scores: list[float]):
    rows = list(zip(scores, log_odds(scores), strict=True))
    assert all(score == other or odds <= more for (score, odds), (other, more) in pairwise(rows))


def test_models_that_are_damaged_or_of_other_features_are_refused(tmp_path: Path, root: Path):
    data = json.loads(WEIGHTS.read_text())
    data["file"]["trees"] = data["file"]["trees"][:1]
    broken = ["[" * 100_000, "", "[]", json.dumps(data | {"version": 0}), json.dumps(data | {"file": data["function"]})]
    tree, calibration = data["file"]["trees"][0], data["file"]["calibration"]
    for part, place, value in (
        (tree["column"], 0, 1.5), (tree["left"], 0, 1.5), (tree["left"], 0, 0), (tree["value"], 0, math.nan),
        (calibration["python"], 0, math.nan), (calibration["other"], 1, -1.0),
    ):  # fmt: skip
        kept, part[place] = part[place], value
        broken.append(json.dumps(data))
        part[place] = kept
    for text in broken:
        (tmp_path / "weights.json").write_text(text)
        with pytest.raises(ArtifactError, match="weights"):
            read_models(tmp_path / "weights.json")
    with pytest.raises(ArtifactError):
        read_models(tmp_path / "none.json")


def test_the_one_file_that_an_issue_names_by_its_path_comes_first_and_no_other_is_more_probable():
    model = Model([], {"python": (0.7, 0.0, 0.0), "other": (0.7, 0.0, 0.0)}, 0.0)  # says 67% of every file
    named, other = Candidate("b.py", columns={"path_named": 1.0}), Candidate("a.py")
    found = rank(Candidates([other, named], []), model, model).files
    assert [one.candidate.path for one in found] == ["b.py", "a.py"]
    assert found[0].probability >= found[1].probability
    both = rank(Candidates([other, named, Candidate("c.py", columns={"path_named": 1.0})], []), model, model).files
    assert both[0].candidate.path == "a.py"
    assert rank(Candidates([named, other], []), model, model).files[0].probability == 0.8


@given(st.lists(st.tuples(st.floats(0, 1), st.lists(st.floats(0, 1), max_size=3)), max_size=6), st.integers(0, 6))
def test_no_file_is_less_probable_than_its_functions_or_than_a_later_file(rows: list[tuple[float, list[float]]], named: int):
    files, functions = [], []
    for number, (file, own) in enumerate(rows):
        columns = {"path_named": float(number == named), "all": file}
        files.append(Candidate(f"{number}.py", columns=columns))
        functions += [
            Candidate(f"{number}.py", FunctionSpan(1, 1, f"f{place}"), columns={"all": score}) for place, score in enumerate(own)
        ]
    model = Scored([], {}, 0.0)
    found = rank(Candidates(files, functions), model, model)
    said = [one.probability for one in found.files]
    assert said == sorted(said, reverse=True)
    of_file = {one.candidate.path: one.probability for one in found.files}
    assert all(one.probability <= of_file[one.candidate.path] for one in found.functions)
    assert len(found.files) == len(files)
    assert len(found.functions) == len(functions)


class Scored(Model):
    """A model that takes the first column for the probability."""

    def score(self, row: Sequence[float]) -> float:
        return row[0]

    def probability(self, group: str, odds: float, score: float) -> float:
        return score


def test_of_many_methods_of_a_name_only_the_one_with_the_frames_line_is_said_to_be_in_the_frame(tmp_path: Path):
    methods = [
        f"    {name} {{\n        int read(int x) {{\n            return x / {number};\n        }}\n    }},\n"
        for number, name in enumerate("ABC")
    ]
    source = "package p;\n\nenum State {\n" + "".join(methods) + "    LAST;\n    abstract int read(int x);\n}\n"
    issue = "Division fails\n\njava.lang.ArithmeticException: / by zero\n\tat p.State$2.read(State.java:11)\n"
    repository = Repository(write(tmp_path / "tree", {"p/State.java": source}))
    ranking = ranking_of(issue, repository, tmp_path / "index")
    functions = [one.candidate for one in ranking.functions]
    said = {one.lines.name: [reason.what for reason in one.reasons if reason.kind == "frame"] for one in functions}
    assert said == {"State.A.read": [], "State.B.read": ["the last"], "State.C.read": []}


def test_a_frame_that_every_trace_passes_comes_after_those_that_few_call(tmp_path: Path):
    users = {f"p/use{number}.js": f"function use{number}() {{ report({number}) }}\n" for number in range(20)}
    own = {"p/errors.js": "function report(a) {\n  throw a\n}\n", "p/store.js": "function put(a) {\n  report(a)\n}\n"}
    trace = "It stops\n\nError: full\n    at report (/x/p/errors.js:2:1)\n    at put (/x/p/store.js:2:1)\n"
    for files, last in ((own, "p/errors.js"), (own | users, "p/store.js")):
        found = columns(write(tmp_path / f"{len(files)}", files), trace)
        assert [path for path in own if found[path].get("frame_last")] == [last]
