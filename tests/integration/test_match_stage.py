"""The stage `match`: a cross-encoder learned out of fold, trees that see it, and the localizer that reads both."""

import shutil

import numpy as np
import polars as pl
import pytest

from fusesearch.core.config import Match, Params
from fusesearch.core.errors import ArtifactError, DataError
from fusesearch.core.storage import read_csv
from fusesearch.localizers.ranker import models, ranking_of
from fusesearch.localizers.ranker.columns import RERANKED, WITH_RERANKER
from fusesearch.localizers.ranker.reranker import Reranker, reranker_in
from fusesearch.localizers.ranker.trees import COLUMNS, read_models
from fusesearch.search.repository import Repository
from fusesearch.training import matching
from fusesearch.training.matching import SURE, Reading, lists_of, with_columns
from tasks.match import match_candidates
from tasks.rank import rank_candidates
from tasks.running.node import Job, Node
from tests.integration.test_ranking_stage import job, source  # noqa: F401

FAST = {"epochs": 2.0, "negatives": 2, "batch_size": 4, "micro_batch": 2, "learning_rate": 1e-3, "folds": 2}


@pytest.fixture
def matched(job, base):  # noqa: F811
    """The stage after `rank`, in whose folder the checkpoint of rank lies."""
    job.places["rank.checkpoint"].parent.mkdir(parents=True, exist_ok=True)
    rank_candidates(job)
    return Job(
        Node(stage="match"),
        Params(rank=job.params.rank, match=Match(base=str(base), **FAST)),
        job.places,
        job.scratch.parent / "matching",
    )


def test_trees_see_what_a_cross_encoder_says_that_saw_nothing_of_the_owner(matched, tmp_path, monkeypatch):
    taught, stopped, scored = {}, [], []
    fit, scores = matching.fit, matching.scores_of

    def fit_once(rows, params, out, on_log):
        if len(taught) == 1 and not stopped:
            stopped.append(out.name)
            raise KeyboardInterrupt  # in the second fold: the first one is not learned again
        assert out.name not in taught
        taught[out.name] = {row["docs"][0] for row in rows}
        return fit(rows, params, out, on_log)

    def scores_seen(readings, folder):
        scored.append({name.partition("-")[0] for name in readings})
        return scores(readings, folder)

    monkeypatch.setattr(matching, "fit", fit_once)
    monkeypatch.setattr(matching, "scores_of", scores_seen)
    with pytest.raises(KeyboardInterrupt):
        match_candidates(matched)
    found = match_candidates(matched)
    assert (found["issues"], found["lists"]) == (6, 24)  # a file and a function of each of 12 issues
    assert (stopped, [*taught]) == (["fold-1"], ["fold-0", "fold-1", "reranker"])
    assert [*map(sorted, scored)] in ([["red"], ["green"], ["blue"]], [["green"], ["red"], ["blue"]])
    for texts, (held_out,) in zip(taught.values(), scored, strict=True):
        assert texts
        assert not any(f"'{held_out}'" in text for text in texts)
    folder = matched.output("checkpoint")
    assert read_models(folder / "weights.json").file.columns == WITH_RERANKER["file"]
    assert {row["metric"] for row in read_csv(matched.output("differences"))} >= {"file_recall@1", "function_recall@5"}
    assert [int(row["step"]) for row in read_csv(matched.output("curve"))] == [10]

    tree = tmp_path / "tree"
    tree.mkdir()
    for thing in ("invoice", "basket"):
        (tree / f"{thing}.py").write_text(source(thing, "here"))
    monkeypatch.setenv("FUSESEARCH_RANKER", str(folder / "weights.json"))
    models.cache_clear()
    try:
        ranking = ranking_of("count_basket is wrong", Repository(tree), tmp_path / "index")
        shutil.rmtree(folder / "reranker")
        reranker_in.cache_clear()
        with pytest.raises(ArtifactError, match="holds no reranker that can be loaded"):
            ranking_of("count_basket is wrong", Repository(tree), tmp_path / "index")
    finally:
        models.cache_clear()
        reranker_in.cache_clear()
    assert {one.candidate.path for one in ranking.files} == {"invoice.py", "basket.py"}
    assert all(np.isfinite(one.candidate.columns["reranker"]) for one in [*ranking.files, *ranking.functions])


def test_without_a_base_the_rankers_are_those_of_rank(matched):
    off = Job(matched.node, Params(rank=matched.params.rank), matched.places, matched.scratch)
    assert match_candidates(off) == {"lists": 0}
    made = (off.output("checkpoint") / "weights.json").read_bytes()
    assert made == (off.places["rank.checkpoint"] / "weights.json").read_bytes()
    assert read_models(off.output("checkpoint") / "weights.json").reranker is None


def test_the_same_seed_gives_the_same_weights(base, tmp_path):
    rows = [
        {"query": f"{word} fails\n\n", "docs": [f"{other}.py\n" for other in (word, "x")], "labels": [SURE, 0.0]} for word in "ab"
    ]
    params = Params(match=Match(base=str(base), **FAST))
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        assert matching.fit(rows, params, tmp_path / run, lambda row: None)["steps"] == 2
    assert (tmp_path / "one/checkpoint/model.safetensors").read_bytes() == (
        tmp_path / "two/checkpoint/model.safetensors"
    ).read_bytes()


def test_scores_are_those_of_the_library_that_trained_it(base, tmp_path):
    from sentence_transformers.cross_encoder import CrossEncoder
    from torch.nn import Identity
    from transformers import AutoModelForSequenceClassification

    AutoModelForSequenceClassification.from_pretrained(str(base), num_labels=1).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(base / name, tmp_path / name)
    texts = ["a.py::f\ndef f(): pass", "b.py\n", "long.py\n" + "word " * 900]
    theirs = CrossEncoder(str(tmp_path), max_length=512, device="cpu").predict(
        [("An issue\n\n", text) for text in texts], activation_fn=Identity()
    )
    assert Reranker(tmp_path).scores("An issue\n\n", texts) == pytest.approx(theirs.tolist(), abs=1e-4)
    assert Reranker(tmp_path).scores("An issue\n\n", []) == []


def test_a_language_model_is_no_reranker(base):
    with pytest.raises(ArtifactError, match="lacks the weights of a score"):
        Reranker(base)


def test_a_base_that_is_none_is_one_line(base, tmp_path):
    rows = [{"query": "a", "docs": ["b", "c"], "labels": [SURE, 0.0]}]
    with pytest.raises(ArtifactError, match="cannot be loaded: "):
        matching.fit(rows, Params(match=Match(base=str(tmp_path), **FAST)), tmp_path, lambda row: None)
    with pytest.raises(DataError, match="there is nothing to match"):
        matching.fit([], Params(match=Match(base=str(base), **FAST)), tmp_path, lambda row: None)


def test_a_list_has_one_right_text_and_wrong_ones_of_the_same_issue():
    table = pl.DataFrame(
        [("i", "o/r", f"f{place}.py", int(place in (1, 3))) for place in range(6)],
        schema=["instance_id", "repo", "candidate", "label"],
        orient="row",
    )
    rows = lists_of({"i": Reading("said", [*"abcde"], [])}, {"file": table, "function": table.head(0)}, 2, 0)
    assert [row["docs"][0] for row in rows] == ["b", "d"]
    assert all(set(row["docs"][1:]) < {"a", "c", "e"} and row["labels"] == [SURE, 0.0, 0.0] for row in rows)


def test_candidates_that_were_not_read_have_no_number():
    def table(level, names):
        columns = dict.fromkeys(COLUMNS[level], 0.0)
        return pl.DataFrame([{"instance_id": "i", "repo": "o/r", "candidate": name, "label": 0, **columns} for name in names])

    tables = {"file": table("file", ["a.py", "b.py", "c.py"]), "function": table("function", ["b.py::f", "a.py::g", "c.py::h"])}
    found = with_columns(tables, {"i": ([1.0, 3.0], [5.0, 4.0])})
    assert found["file"].select(RERANKED[0], f"function_{RERANKED[0]}", f"function_{RERANKED[2]}").rows()[:2] == [
        (1.0, 4.0, 0.5),
        (3.0, 5.0, 1.0),
    ]
    assert np.isnan(found["file"][RERANKED[0]][2])
    assert found["function"][f"file_{RERANKED[0]}"].to_list()[:2] == [3.0, 1.0]
    assert found["function"].columns == [*tables["function"].columns, *WITH_RERANKER["function"][len(COLUMNS["function"]) :]]
