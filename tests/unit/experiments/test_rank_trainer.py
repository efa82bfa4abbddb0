"""Rankers of candidates: what they learn, and that no repository is scored by what was learned from it."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from experiments.evidence.trainer import (
    Settings,
    fit,
    from_lightgbm,
    issues,
    out_of_fold,
    predict,
    train,
)
from fusesearch.core.errors import DataError
from fusesearch.localizers.ranker.columns import FILE_COLUMNS, FUNCTION_COLUMNS
from fusesearch.localizers.ranker.trees import Model

COLUMNS = ("signal", "noise")
FEW = Settings(trees=20, min_leaf=2, folds=3)


def table(repositories: int = 4, instances: int = 12, candidates: int = 8, signal: float = 1.0) -> pl.DataFrame:
    """Issues with one right candidate each, the one with the highest ``signal``."""
    random = np.random.default_rng(0)
    rows = []
    for repo in range(repositories):
        for instance in range(instances):
            right = int(random.integers(candidates))
            for place in range(candidates):
                told = signal * (place == right) + 0.1 * random.random()
                rows.append((f"r{repo}-{instance}", f"o/r{repo}", f"f{place}.py", int(place == right), told, random.random()))
    return pl.DataFrame(rows, schema=["instance_id", "repo", "candidate", "label", *COLUMNS], orient="row")


def right_first(found: pl.DataFrame, scores: np.ndarray) -> float:
    labels = found["label"].to_numpy()
    return float(np.mean([labels[rows][np.argmax(scores[rows])] for rows in issues(found)]))


def test_trees_find_the_feature_that_tells_and_are_the_same_for_the_same_seed():
    given = table()
    trees = fit(given, COLUMNS, FEW, seed=0)
    assert trees.model_to_string() == fit(given, COLUMNS, FEW, seed=0).model_to_string()
    scores = predict(trees, given, COLUMNS)
    assert right_first(given, scores) == 1


def test_no_repository_is_scored_by_trees_that_saw_it():
    given = table()
    # in one repository the feature misleads: trees that saw only the others rank by it, and are wrong there
    wrong = given.with_columns(signal=pl.when(pl.col("repo") == "o/r0").then(-pl.col("signal")).otherwise(pl.col("signal")))
    scores = out_of_fold(wrong, COLUMNS, replace(FEW, folds=4), seed=0)
    inside = (wrong["repo"] == "o/r0").to_numpy()
    assert right_first(wrong.filter(inside), scores[inside]) < 0.5
    assert right_first(wrong.filter(~inside), scores[~inside]) > 0.9


def test_trees_learn_from_some_issues_and_what_a_score_means_from_others():
    told = table().with_columns(pl.lit(0.0).alias(name) for name in {*FILE_COLUMNS, *FUNCTION_COLUMNS} - {"all"})
    told = told.with_columns(pl.col("signal").alias("all"))
    wrong = told.with_columns(instance_id=pl.lit("w") + pl.col("instance_id"), label=pl.lit(0, pl.Int64))
    both = {"file": pl.concat([told, wrong]), "function": pl.concat([told, wrong]).with_columns(pl.col("candidate") + "::f")}
    right, other = set(told["instance_id"]), set(wrong["instance_id"])

    def trained(judged: set[str]) -> dict[str, Any]:
        return train(both, FEW, 0, {}, right, judged)

    alone = train({level: rows.filter(pl.col("instance_id").is_in(list(right))) for level, rows in both.items()}, FEW, 0, {})
    sure, doubtful = trained(right), trained(other)
    assert sure["file"]["trees"] == doubtful["file"]["trees"] == alone["file"]["trees"]
    assert sure["function"]["file_share"] == doubtful["function"]["file_share"]
    probability = [Model.of(found["file"], FILE_COLUMNS).probability("python", 1.0, -0.5) for found in (sure, doubtful)]
    assert probability[0] > 0.8 > 0.3 > probability[1]


def test_nothing_right_is_one_clear_line():
    with pytest.raises(DataError, match="nothing to learn"):
        fit(table().with_columns(label=pl.lit(0)), COLUMNS, FEW, seed=0)


@pytest.mark.parametrize("use_missing", [True, False])
def test_exported_trees_score_as_lightgbm_does(use_missing: bool):
    lightgbm = pytest.importorskip("lightgbm")
    draw = np.random.default_rng(0)
    rows = draw.choice([-1.5, 0.0, 0.4, 1.0, 2.0, np.nan], (400, len(FILE_COLUMNS)))
    labels = (np.nan_to_num(rows[:, 0]) > 0.3).astype(int)
    parameters = {"objective": "binary", "verbosity": -1, "num_leaves": 8, "use_missing": use_missing, "num_threads": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(rows, labels), 10)
    calibration = {"python": [0, 1, 0], "other": [0, 1, 0]}
    model = Model.of(
        {"columns": FILE_COLUMNS, "trees": from_lightgbm(booster.dump_model()), "calibration": calibration}, FILE_COLUMNS
    )
    assert [model.score(list(row)) for row in rows] == pytest.approx(list(booster.predict(rows, raw_score=True)), abs=1e-4)
