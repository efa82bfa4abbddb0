"""Rankers trained leave-one-repository-out, from tables of features."""

from __future__ import annotations

import random

import polars as pl

from tasks.core.config import Rank
from tasks.training.ranking import COLUMNS, Columns, Floats, fit, predict

Tables = dict[str, pl.DataFrame]


def of_other_owners(table: pl.DataFrame, repo: str) -> pl.DataFrame:
    """The rows of repositories that are not ``repo`` and not of its owner: packages of one project have one owner."""
    owner = repo.partition("/")[0]
    return table.filter(pl.col("repo").str.split("/").list.first() != owner)


def leave_one_out(evaluated: Tables, learned: Tables, rank: Rank, seed: int = 0, columns: Columns = COLUMNS) -> dict[str, Floats]:
    """Scores of all rows of ``evaluated``, those of each repository by trees that saw nothing of its owner."""
    scores = {level: table["label"].to_numpy() * 0.0 for level, table in evaluated.items()}
    for repo in sorted(set(evaluated["file"]["repo"])):
        for level, table in evaluated.items():
            inside = (table["repo"] == repo).to_numpy()
            booster = fit(of_other_owners(learned[level], repo), columns[level], rank, seed)
            scores[level][inside] = predict(booster, table.filter(inside), columns[level])
    return scores


def drawn(tables: Tables, count: int, seed: int) -> Tables:
    """``count`` issues, drawn by the seed."""
    names = sorted(set(tables["file"]["instance_id"]))
    kept = random.Random(seed).sample(names, min(count, len(names)))
    return {level: table.filter(pl.col("instance_id").is_in(kept)) for level, table in tables.items()}


def both(*sources: Tables) -> Tables:
    """The rows of all sources."""
    return {level: pl.concat([tables[level] for tables in sources]) for level in COLUMNS}
