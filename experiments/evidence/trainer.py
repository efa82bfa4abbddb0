"""Trains what :mod:`fusesearch.localizers.ranker` ranks by: gradient-boosted trees over candidate files and functions (LightGBM).

A table has the candidates of many issues at one level, a row each: ``instance_id``, ``repo``, ``candidate`` (a path or
``path::Qualified.name``), ``label`` (1 if the gold patch modifies it), and the features by name. Rows of an issue are
consecutive.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fusesearch.core.errors import DataError, RepositoryError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import replacing
from fusesearch.core.text import safe_name
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.trees import COLUMNS, GROUPS, PARTS, VERSION, group_of, log_odds

if TYPE_CHECKING:
    import lightgbm
    import polars as pl

    from fusesearch.search.repository import Repository

logger = logging.getLogger(__name__)

FILE_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
CALIBRATED = 10
"""Best candidates of an issue that a calibration is fitted to."""
DOUBT = 1.0
"""What keeps a calibration near the identity: a penalty on the squares of its distances, in issues."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """How trees are grown: LightGBM's names in brackets."""

    trees: int = 100
    """At each level (``num_iterations``)."""
    leaves: int = 7
    """Of a tree (``num_leaves``)."""
    learning_rate: float = 0.05
    min_leaf: int = 20
    """Fewest rows in a leaf (``min_data_in_leaf``)."""
    l2: float = 5.0
    """Penalty on the values of leaves (``lambda_l2``)."""
    rows: float = 0.8
    """Share of the rows that a tree sees (``bagging_fraction``)."""
    features: float = 0.4
    """Share of the features that a tree sees (``feature_fraction``)."""
    folds: int = 5
    """Parts of the repositories; each is scored by trees of the others, for calibration."""


def tables_of(instance: Instance, repository: Repository, index: Path | None) -> dict[str, pl.DataFrame]:
    """The candidates of one instance by level, best first by the sum set by hand; ``index`` is the folder of the ranker's index.

    A modified file or function that is not a candidate has no row, so recall can stay below 1.
    """
    import polars as pl

    truth = instance.truth
    if truth is None:
        raise ValueError(f"{instance.instance_id} has no truth")
    with Index(repository, index) as opened:
        found = candidates_of(instance.problem_statement, opened)
    about = {"instance_id": pl.String, "repo": pl.String, "candidate": pl.String, "label": pl.Int8}
    levels = {"file": (found.files, truth.files), "function": (found.functions, truth.functions)}
    return {
        level: pl.DataFrame(
            [(instance.instance_id, instance.repo, one.entity, int(one.entity in right), *one.row()) for one in candidates],
            schema={**about, **dict.fromkeys(COLUMNS[level], pl.Float32)},
            orient="row",
        )
        for level, (candidates, right) in levels.items()
    }


def collect(
    instances: Sequence[Instance], repositories: Callable[[Instance], Repository], folder: Path
) -> dict[str, pl.DataFrame]:
    """The rows of all instances by level. Those of each instance are kept in ``folder``, so that a killed run goes on.

    Instances whose snapshot cannot be made have no rows.
    """
    import polars as pl

    found: dict[str, list[pl.DataFrame]] = {level: [] for level in COLUMNS}
    for instance in instances:
        kept = {level: folder / f"{safe_name(instance.instance_id)}.{level}.parquet" for level in COLUMNS}
        if not all(path.exists() for path in kept.values()):
            try:
                tables = tables_of(instance, repositories(instance), folder / "index")
            except RepositoryError as error:
                logger.warning("%s has no features: %s", instance.instance_id, error)
                continue
            for level, path in kept.items():
                with replacing(path) as temporary:
                    tables[level].write_parquet(temporary)
        for level, path in kept.items():
            found[level].append(pl.read_parquet(path))
    if not found["file"]:
        raise DataError(f"none of {len(instances)} instances has a snapshot")
    return {level: pl.concat(tables) for level, tables in found.items()}


def fit(table: pl.DataFrame, columns: Sequence[str], settings: Settings, seed: int) -> lightgbm.Booster:
    """Trees that give the right candidates of an issue higher scores than the others.

    Issues none of whose candidates is right teach what says little. Raises :class:`DataError` where all are such.
    """
    import lightgbm

    if not table["label"].max():
        raise DataError("no issue has a right candidate: there is nothing to learn from")
    asked = {
        "objective": "binary", "seed": seed, "learning_rate": settings.learning_rate,
        "num_leaves": settings.leaves, "min_data_in_leaf": settings.min_leaf, "lambda_l2": settings.l2,
        "feature_fraction": settings.features, "bagging_fraction": settings.rows, "bagging_freq": 1,
        "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1,
    }  # fmt: skip
    data = lightgbm.Dataset(
        table.select(columns).to_numpy(), table["label"].to_numpy(), group=lengths(table), feature_name=[*columns]
    )
    return lightgbm.train(asked, data, settings.trees)


def out_of_fold(
    table: pl.DataFrame, columns: Sequence[str], settings: Settings, seed: int, learned: Collection[str] | None = None
) -> Floats:
    """Scores of all rows, each by trees that saw nothing of its fold, of all issues or of those ``learned`` from."""
    folds = folds_of(table, settings.folds)
    teaches = _of(table, learned)
    scores = np.zeros(len(table))
    for held_out in np.unique(folds):
        inside = folds == held_out
        booster = fit(table.filter(~inside & teaches), columns, settings, seed)
        scores[inside] = predict(booster, table.filter(inside), columns)
    return scores


def folds_of(table: pl.DataFrame, count: int) -> NDArray[np.int_]:
    """The fold of each row: of its repository, or of its issue where there is one repository.

    The largest repository comes first, each goes into the fold with the fewest issues so far.
    """
    key = "repo" if table["repo"].n_unique() > 1 else "instance_id"
    sizes = Counter(row[key] for row in table.select("repo", "instance_id").unique().iter_rows(named=True))
    filled = [0] * min(count, len(sizes))
    fold = {}
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold[name] = filled.index(min(filled))
        filled[fold[name]] += size
    return np.array([fold[name] for name in table[key]])


def predict(booster: lightgbm.Booster, table: pl.DataFrame, columns: Sequence[str]) -> Floats:
    """Scores of the rows."""
    return np.asarray(booster.predict(table.select(columns).to_numpy(), raw_score=True, num_threads=1), dtype=float)


def train(
    tables: Mapping[str, pl.DataFrame],
    settings: Settings,
    seed: int,
    provenance: Mapping[str, Any],
    learned: Collection[str] | None = None,
    judged: Collection[str] | None = None,
) -> dict[str, Any]:
    """The model file of :mod:`fusesearch.localizers.ranker.trees` with rankers of both levels.

    What a score means, and how much a function's file counts, comes from scores out of fold. Trees learn from the issues
    ``learned``, what a score means from those ``judged``; by default both from all.
    """
    held_out = {level: out_of_fold(table, COLUMNS[level], settings, seed, learned) for level, table in tables.items()}
    teaches = {level: _of(table, learned) for level, table in tables.items()}
    ours = {level: table.filter(teaches[level]) for level, table in tables.items()}
    share = max(
        FILE_SHARES,
        key=lambda share: first_right(ours["function"], with_files(tables, held_out, share)[teaches["function"]]),
    )
    held_out["function"] = with_files(tables, held_out, share)
    boosters = {level: fit(table, COLUMNS[level], settings, seed) for level, table in ours.items()}
    told = {level: _of(table, judged) for level, table in tables.items()}
    models = {
        level: {
            "columns": [*COLUMNS[level]],
            "trees": from_lightgbm(boosters[level].dump_model()),
            "calibration": fitted(table.filter(told[level]), held_out[level][told[level]]),
            "file_share": share if level == "function" else 0.0,
        }
        for level, table in tables.items()
    }
    return {"version": VERSION, "provenance": dict(provenance), **models}


def _of(table: pl.DataFrame, issues: Collection[str] | None) -> NDArray[np.bool_]:
    """Which rows are of these issues, or of any."""
    if issues is None:
        return np.ones(len(table), dtype=bool)
    return table["instance_id"].is_in([*issues]).to_numpy()


def with_files(tables: Mapping[str, pl.DataFrame], scores: Mapping[str, Floats], share: float) -> Floats:
    """Scores of functions with ``share`` of the score of their file."""
    import polars as pl

    keys = ["instance_id", "file"]
    files = tables["file"].select("instance_id", file="candidate", score=pl.Series(scores["file"]))
    functions = tables["function"].select("instance_id", file=pl.col("candidate").str.split("::").list.first())
    return scores["function"] + share * functions.join(files, on=keys, how="left", maintain_order="left")["score"].to_numpy()


def first_right(table: pl.DataFrame, scores: Floats) -> float:
    """Share of the issues whose best candidate is right."""
    labels = table["label"].to_numpy()
    return float(np.mean([labels[rows][np.argmax(scores[rows])] for rows in issues(table)]))


def fitted(table: pl.DataFrame, scores: Floats) -> dict[str, list[float]]:
    """How often a candidate of certain log-odds and a certain score is right: a curve for each group of languages."""
    names = table["candidate"].to_list()
    rows = [(group_of(names[part.start + int(np.argmax(scores[part]))].partition("::")[0]), part) for part in issues(table)]
    found = {}
    for group in GROUPS:
        parts = [part for name, part in rows if name == group] or [part for _, part in rows]
        found[group] = _curve([_best(table, scores, part) for part in parts])
    return found


def _best(table: pl.DataFrame, scores: Floats, part: slice) -> tuple[Floats, Floats]:
    """Constant, log-odds and score of the best candidates of an issue, and which of them are right."""
    order = np.argsort(-scores[part], kind="stable")[:CALIBRATED]
    odds = np.array(log_odds(scores[part].tolist()))
    right = table["label"].to_numpy()[part][order].astype(float)
    return np.stack([np.ones(len(order)), odds[order], scores[part][order]], axis=1), right


def _curve(issues: Sequence[tuple[Floats, Floats]]) -> list[float]:
    from scipy.optimize import minimize

    rows, right = (np.concatenate(parts) for parts in zip(*issues, strict=True))
    start = np.array([0.0, 1.0, 0.0])

    def loss(weights: Floats) -> tuple[float, Floats]:
        sums = rows @ weights
        far = weights - start
        gradient = rows.T @ (1 / (1 + np.exp(-sums)) - right) + 2 * DOUBT * far
        return float(np.sum(np.logaddexp(0, sums) - right * sums) + DOUBT * far @ far), gradient

    weights = minimize(loss, start, jac=True, bounds=[(None, None), (0, None), (0, None)]).x
    return [round(float(weight), 4) for weight in weights]


def described(instances: Sequence[Instance]) -> dict[str, Any]:
    """What rankers learned from, for their model file; ``licences`` by repository where the source knows them."""
    sources = Counter(str(row.provenance.get("source", "unknown")) for row in instances)
    repositories = Counter(row.repo for row in instances)
    licences = {row.repo: row.provenance["licence"] for row in instances if row.provenance.get("licence")}
    said = {"licences": dict(sorted(licences.items()))} if licences else {}
    return {"issues": len(instances), "sources": dict(sources), "repositories": dict(sorted(repositories.items())), **said}


def issues(table: pl.DataFrame) -> Iterator[slice]:
    """The rows of each issue."""
    start = 0
    for length in lengths(table):
        yield slice(start, start + length)
        start += length


def lengths(table: pl.DataFrame) -> list[int]:
    """How many rows each issue has, in order."""
    return table["instance_id"].rle().struct.field("len").to_list()


def from_lightgbm(dump: Mapping[str, Any]) -> list[dict[str, list[float]]]:
    """The trees of LightGBM's ``Booster.dump_model()``, which must have numerical features only."""
    return [_exported(tree["tree_structure"]) for tree in dump["tree_info"]]


def _exported(root: Mapping[str, Any]) -> dict[str, list[float]]:
    tree: dict[str, list[float]] = {part: [] for part in PARTS}

    def add(node: Mapping[str, Any]) -> int:
        if "split_index" not in node:
            tree["value"].append(float(f"{node['leaf_value']:.6g}"))
            return -len(tree["value"])
        if node["decision_type"] != "<=":
            raise ValueError(f"{node['decision_type']} does not split a number")
        number = len(tree["column"])
        missing_left = node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0  # else NaN counts as 0
        for part, value in (
            ("column", node["split_feature"]),
            ("threshold", node["threshold"]),
            ("missing_left", int(missing_left)),
        ):
            tree[part].append(value)
        tree["left"].append(0)
        tree["right"].append(0)
        tree["left"][number] = add(node["left_child"])
        tree["right"][number] = add(node["right_child"])
        return number

    add(root)
    return tree
