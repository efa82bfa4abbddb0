"""The stage `rank` over small repositories: features, rankers that the localizer can read, curve and calibration."""

import polars as pl
import pytest

from fusesearch.core.config import Params, Rank
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import read_csv, read_json, write_instances
from fusesearch.localizers.ranker.trees import read_models
from fusesearch.training.ranking import described
from tasks.rank import rank_candidates
from tasks.running.node import Job, Node
from tasks.running.places import Places
from tests.fakes.git import committed

THINGS = ("invoice", "basket", "customer", "parcel", "refund", "voucher")
PARAMS = Params(rank=Rank(trees=20, min_leaf=2, folds=2))


def source(thing: str, repo: str) -> str:
    return "".join(f"def {verb}_{thing}(value):\n    return '{repo}' + str(value)\n\n\n" for verb in ("open", "close", "count"))


@pytest.fixture
def job(tmp_path, monkeypatch) -> Job:
    """Three repositories with six issues each; the last one is held out."""
    monkeypatch.chdir(tmp_path)
    places = Places(root=tmp_path)
    rows = {}
    for repo in ("red", "green", "blue"):
        folder = tmp_path / f"data/repos/o{repo}__{repo}.git"
        base = committed(folder, {f"{thing}.py": source(thing, repo) for thing in THINGS})
        rows[repo] = [
            Instance(
                instance_id=f"{repo}-{thing}", repo=f"o{repo}/{repo}", base_commit=base, patch="",
                problem_statement=f"The {thing} is not counted\n\n`count_{thing}(1)` returns text",
                provenance={"source": "synthetic"},
                truth=Truth(files=[f"{thing}.py"], functions=[f"{thing}.py::count_{thing}"]),
            )
            for thing in THINGS
        ]  # fmt: skip
    for split, repo in (("sft", "red"), ("rl", "green"), ("validation", "blue")):
        places[f"split.{split}"].parent.mkdir(parents=True, exist_ok=True)
        write_instances(places[f"split.{split}"], rows[repo])
    return Job(Node(stage="rank"), PARAMS, places, tmp_path / "scratch")


def test_rankers_learn_from_two_splits_and_are_measured_on_the_third(job):
    found = rank_candidates(job)
    assert (found["issues"], found["file_recall@1"], found["function_recall@1"]) == (6, 1, 1)
    files, functions, reranker = read_models(job.output("checkpoint") / "weights.json")
    assert reranker is None
    assert len(files.trees) == len(functions.trees) == 20
    provenance = read_json(job.output("checkpoint") / "weights.json")["provenance"]
    assert provenance == {"issues": 12, "sources": {"synthetic": 12}, "repositories": {"ogreen/green": 6, "ored/red": 6}}
    table = pl.read_parquet(job.output("functions"))
    assert set(table["repo"]) == {"ored/red", "ogreen/green", "oblue/blue"}
    assert table["label"].sum() == 18
    assert table["file_history_recent"].is_nan().all()  # the newest commit of a synthetic instance planted its fault
    assert [row["step"] for row in read_csv(job.output("curve"))] == ["20"]
    assert read_json(job.output("calibration"))["bins"][-1]["right"] == 1


def test_a_killed_run_goes_on_from_the_features_it_has(job):
    rank_candidates(job)
    first = read_json(job.output("checkpoint") / "weights.json")
    made = {path: path.stat().st_mtime_ns for path in (job.scratch / "features").glob("*.parquet")}
    rank_candidates(job)
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert read_json(job.output("checkpoint") / "weights.json") == first


def test_the_model_file_says_the_licences_that_are_known():
    rows = [Instance(instance_id=repo, repo=repo, base_commit="", patch="", problem_statement="", provenance={"licence": licence})
            for repo, licence in (("o/b", "MIT"), ("o/a", "Apache-2.0"), ("o/c", None))]  # fmt: skip
    assert described(rows)["licences"] == {"o/a": "Apache-2.0", "o/b": "MIT"}
    assert "licences" not in described(rows[2:])


def test_one_repository_is_enough(job):
    write_instances(job.places["split.rl"], [])
    assert rank_candidates(job)["file_recall@1"] == 1
