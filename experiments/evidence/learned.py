"""Rankers trained on other repositories than they are measured on, from tables of features."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import polars as pl

from fusesearch.core.config import Rank
from fusesearch.training.ranking import COLUMNS, Columns, Floats, fit, folds_of, predict

Tables = dict[str, pl.DataFrame]


def of_other_owners(table: pl.DataFrame, repos: Iterable[str]) -> pl.DataFrame:
    """The rows of repositories whose owner has none of ``repos``: packages of one project have one owner."""
    owners = sorted({repo.partition("/")[0] for repo in repos})
    return table.filter(~pl.col("repo").str.split("/").list.first().is_in(owners))


def leave_out(evaluated: Tables, learned: Tables, rank: Rank, seed: int = 0, columns: Columns = COLUMNS) -> dict[str, Floats]:
    """Scores of all rows of ``evaluated``: in parts of the repositories, each by trees that saw none of its owners."""
    scores = {level: np.zeros(len(table)) for level, table in evaluated.items()}
    for level, table in evaluated.items():
        folds = folds_of(table, rank.folds)
        for part in np.unique(folds):
            inside = folds == part
            rows = table.filter(inside)
            booster = fit(of_other_owners(learned[level], rows["repo"].unique()), columns[level], rank, seed)
            scores[level][inside] = predict(booster, rows, columns[level])
    return scores


def drawn(tables: Tables, count: int, seed: int) -> Tables:
    """``count`` issues, drawn by the seed."""
    names = sorted(set(tables["file"]["instance_id"]))
    kept = random.Random(seed).sample(names, min(count, len(names)))
    return {level: table.filter(pl.col("instance_id").is_in(kept)) for level, table in tables.items()}


def both(*sources: Tables) -> Tables:
    """The rows of all sources."""
    return {level: pl.concat([tables[level] for tables in sources]) for level in COLUMNS}
