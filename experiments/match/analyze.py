"""``analyze.py SCORES_FOLDER OUT.json [--seeds 2] [--random]``: what the rerankers' scores are worth, alone and as columns of trees.

Trees learn from the issues of the four sets, those of other owners; a calibration from the scores of the other parts. Columns of
a model: file (score of its summary, highest score of its functions), function (its own, its file's), each as value, distance
from the highest in deviations, and reciprocal rank. Control: scores in a random order within each issue. Share of a file: 0.5.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

sys.path[:0] = ["data/real", "."]
from retrain import swe  # noqa: E402
from score import load  # noqa: E402

import fusesearch.training.ranking as R  # noqa: E402
from experiments.evidence.cases import read_cases  # noqa: E402
from experiments.evidence.measures import RANKED, F1, confidence_of, one_file, table  # noqa: E402
from experiments.evidence.run import RANKER, of_other_owners, rankings_of, systems_of  # noqa: E402
from fusesearch.core.config import Rank  # noqa: E402
from fusesearch.evaluation.statistics import compare  # noqa: E402
from fusesearch.localizers.ranker.trees import COLUMNS, Model  # noqa: E402

SHARE, FILES, FUNCTIONS = 0.5, 20, 40
FORMS = ("value", "gap", "rank")
W = Path("data/mswe")


def forms(values: np.ndarray) -> np.ndarray:
    """Value, distance from the highest and reciprocal rank: (3, candidates); NaN where there is no score."""
    ok, out = ~np.isnan(values), np.full((3, len(values)), np.nan)
    if ok.any():
        v = values[ok]
        rank = np.empty(len(v))
        rank[np.argsort(-v, kind="stable")] = np.arange(1, len(v) + 1)
        out[:, ok] = np.stack([v, (v.max() - v) / (v.std() + 1e-6), 1 / rank])
    return out


def given() -> tuple[dict, dict, dict]:
    """Instances by name, the sets, and the tables of all."""
    cases, swe_rows, tables = swe()
    loc_cases = read_cases({"loc": Path("data/real/loc.jsonl")}, Path("data/clones"), Path("data/real/shared"))
    loc_rows, loc_tables = load(Path("data/real/new2"), [*loc_cases.rows.values()])
    multi = [row for p in (0, 1) for row in read_cases({"mswe": W / f"part{p}.jsonl"}, Path("data/clones"), W / f"out{p}").rows.values()]
    multi, multi_tables = load(W / "features", multi)
    rows = {row.instance_id: row for row in [*swe_rows, *loc_rows, *multi]}
    sets = {name: [i for i in cases.sets[name] if i in rows] for name in ("verified", "lite")}
    sets |= {"locbench": [row.instance_id for row in loc_rows], "multi_swe": [row.instance_id for row in multi]}
    keys = ["instance_id", "repo", "candidate", "label"]
    return rows, sets, {level: pl.concat([t[level].select([*keys, *COLUMNS[level]]) for t in (tables, loc_tables, multi_tables)]) for level in COLUMNS}


def with_scores(tables: dict, scores: dict[str, np.ndarray], name: str, shuffle: int | None = None) -> tuple[dict, dict]:
    """The tables with a model's columns, and the columns' names; ``scores`` by instance are files and then functions."""
    draw = np.random.default_rng(shuffle)
    names = {"file": [f"{name}_{a}_{f}" for a in ("summary", "inside") for f in FORMS], "function": [f"{name}_{a}_{f}" for a in ("own", "file") for f in FORMS]}
    made = {level: np.full((len(tables[level]), 6), np.nan, np.float32) for level in tables}
    ids = {level: tables[level]["instance_id"].to_list() for level in tables}
    parts = {level: {ids[level][part.start]: part for part in R.issues(tables[level])} for level in tables}
    candidates = {level: tables[level]["candidate"].to_list() for level in tables}
    for issue, part in parts["file"].items():
        if issue not in scores:
            continue
        both = scores[issue].astype(float)
        files, functions = both[:FILES], both[FILES:]
        if shuffle is not None:
            for one in (files, functions):
                ok = np.flatnonzero(~np.isnan(one))
                one[ok] = one[draw.permutation(ok)]
        value = np.full(part.stop - part.start, np.nan)
        n = min(len(value), FILES)
        value[:n] = files[:n]
        of_files = forms(value)
        made["file"][part, :3] = of_files.T
        best: dict[str, float] = {}
        other = parts["function"].get(issue)
        if other:
            own = np.full(other.stop - other.start, np.nan)
            n = min(len(own), FUNCTIONS)
            own[:n] = functions[:n]
            made["function"][other, :3] = forms(own).T
            for entity, score in zip(candidates["function"][other][:n], own, strict=False):
                if not np.isnan(score):
                    best[entity.partition("::")[0]] = max(score, best.get(entity.partition("::")[0], -np.inf))
            at = {path: number for number, path in enumerate(candidates["file"][part])}
            places = [at.get(entity.partition("::")[0], -1) for entity in candidates["function"][other]]
            made["function"][other, 3:] = np.where(np.array(places)[:, None] >= 0, of_files.T[places], np.nan)
        made["file"][part, 3:] = forms(np.array([best.get(path, np.nan) for path in candidates["file"][part]])).T
    return {level: tables[level].with_columns(**{n: pl.Series(made[level][:, j]) for j, n in enumerate(names[level])}) for level in tables}, names


def parts_of(tables: dict, count: int = 5) -> dict[str, int]:
    """The part of each repository: whole owners, the largest first."""
    size = dict(tables["file"].with_columns(owner=pl.col("repo").str.split("/").list.first()).group_by("owner").agg(pl.col("instance_id").n_unique()).rows())
    filled, part = [0] * count, {}
    for owner, n in sorted(size.items(), key=lambda item: (-item[1], item[0])):
        part[owner] = filled.index(min(filled))
        filled[part[owner]] += n
    return {repo: part[repo.split("/")[0]] for repo in tables["file"]["repo"].unique().to_list()}


def by_trees(tables: dict, columns: dict, seeds: int, rows: dict) -> dict:
    """The system of the ranker whose trees have these columns; scores are means over seeds."""
    part = parts_of(tables)
    at = {level: np.array([part[repo] for repo in tables[level]["repo"].to_list()]) for level in tables}
    scores = {level: np.zeros(len(tables[level])) for level in tables}
    for number in sorted(set(part.values())):
        repos = [repo for repo, p in part.items() if p == number]
        for level in tables:
            inside = at[level] == number
            others, mine = of_other_owners(tables[level], repos), tables[level].filter(pl.Series(inside))
            scores[level][inside] = np.mean([R.predict(R.fit(others, columns[level], Rank(), seed), mine, columns[level]) for seed in range(seeds)], 0)
    return answers(tables, {**scores, "function": R.with_files(tables, scores, SHARE)}, at, rows)


def answers(tables: dict, scores: dict, at: dict, rows: dict) -> dict:
    """Rankings whose confidences were learned from the other parts."""
    found: dict = {}
    for number in sorted(set(at["file"].tolist())):
        inside = {level: at[level] == number for level in tables}
        models = {level: Model([], {g: tuple(c) for g, c in R.fitted(tables[level].filter(pl.Series(~inside[level])), scores[level][~inside[level]]).items()}, SHARE)
                  for level in tables}
        found |= rankings_of({level: tables[level].filter(pl.Series(inside[level])) for level in tables}, {level: scores[level][inside[level]] for level in tables}, models)
    return systems_of([*rows.values()], found)[RANKER]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--random", action="store_true", help="normal noise instead of scores: a dry run")
    parser.add_argument("--issues", type=int, help="only this many issues of each set: a dry run")
    args = parser.parse_args()
    begun = time.time()
    cache = args.out.with_name("given.pkl")
    if not cache.exists():
        cache.write_bytes(pickle.dumps(given()))
    rows, sets, tables = pickle.loads(cache.read_bytes())
    if args.issues:
        sets = {name: ids[: args.issues] for name, ids in sets.items()}
        rows = {i: rows[i] for ids in sets.values() for i in ids}
    tables = {level: t.filter(pl.col("instance_id").is_in([*rows])) for level, t in tables.items()}
    print(round(time.time() - begun), "s;", {name: len(ids) for name, ids in sets.items()}, flush=True)
    scores: dict[str, dict[str, np.ndarray]] = {}
    if args.random:
        draw = np.random.default_rng(0)
        scores["noise"] = {i: draw.normal(size=FILES + FUNCTIONS).astype(np.float32) for i in rows}
    else:
        data = np.load(args.folder / "scores.npz")
        for name in ("smol", "minilm"):
            if f"{name}_end" in data:
                scores[name] = {str(i): row for i, row in zip(data["ids"], data[f"{name}_end"], strict=True) if not np.isnan(row).all()}
    for name, found in scores.items():
        print(name, "scores of", len(set(found) & set(rows)), "of", len(rows), "issues;", round(float(np.mean([np.isfinite(r).sum() for r in found.values()])), 1), "an issue", flush=True)
    arms: dict[str, dict[int, object]] = {}

    def arm(name: str, tables: dict, columns: dict) -> None:
        arms[name] = {0: by_trees(tables, columns, args.seeds, rows)}
        print(round(time.time() - begun), "s", name, flush=True)

    plain = {level: [*COLUMNS[level]] for level in COLUMNS}
    arm("trees", tables, plain)
    wide, all_names = tables, {level: [] for level in tables}
    for name, found in scores.items():
        more, names = with_scores(tables, found, name)
        arm(f"trees + {name}", more, {level: [*plain[level], *names[level]] for level in plain})
        mixed, _ = with_scores(tables, found, name, shuffle=1)
        arm(f"trees + {name}, shuffled", mixed, {level: [*plain[level], *names[level]] for level in plain})
        wide, _ = with_scores(wide, found, name)
        all_names = {level: [*all_names[level], *names[level]] for level in all_names}
        part = parts_of(tables)
        at = {level: np.array([part[repo] for repo in tables[level]["repo"].to_list()]) for level in tables}
        alone = {level: np.nan_to_num(more[level][f"{name}_{'summary' if level == 'file' else 'own'}_value"].to_numpy().astype(float), nan=-1e3) for level in more}
        arms[f"{name} alone"] = {0: answers(tables, alone, at, rows)}
    if len(scores) > 1:
        arm("trees + both", wide, {level: [*plain[level], *all_names[level]] for level in plain})
    prior = {level: tables[level]["prior"].to_numpy().astype(float) for level in tables}
    arms["sum set by hand"] = {0: answers(tables, prior, at, rows)}
    result: dict = {}
    everything = {"all": [*rows], "python": [*dict.fromkeys([*sets["verified"], *sets["lite"], *sets["locbench"]])], **sets}
    for which, ids in everything.items():
        lists = {name: {seed: [system.scores[i] for i in ids] for seed, system in by_seed.items()} for name, by_seed in arms.items()}
        f1 = {name: {seed: one_file(found, "first of each") for seed, found in by_seed.items()} for name, by_seed in lists.items()}
        result[which] = {"issues": len(ids), "table": {name: table({name: by_seed[0].only(ids)})[0] for name, by_seed in arms.items()},
                         "calibration": {name: confidence_of(by_seed[0].only(ids))["expected_error"] for name, by_seed in arms.items()}, "differences": {}}
        print(f"\n== {which}: {len(ids)} issues")
        for name in arms:
            row = result[which]["table"][name]
            print(f"  {name:28}", *(f"{key.replace('_recall@', ' R@')} {100 * row[key]['estimate']:5.1f}" for key in RANKED),
                  *(f"{key} {100 * row[key]['estimate']:5.1f}" for key in row if key.startswith("f1 first of")), f"ece {100 * result[which]['calibration'][name]:.1f}")
        pairs = []
        for name in scores:
            pairs += [(f"trees + {name}", "trees"), (f"trees + {name}", f"trees + {name}, shuffled"), (f"trees + {name}, shuffled", "trees")]
        pairs += [("trees + both", "trees")] if "trees + both" in arms else []
        for first, second in pairs:
            found = compare(lists, [(first, second)], dict(RANKED), confidence=0.95) + compare(f1, [(first, second)], {"f1": F1}, confidence=0.95)
            result[which]["differences"][f"{first} - {second}"] = [one.model_dump(mode="json") for one in found]
            print(f"  {first} - {second}:")
            for one in found:
                print(f"     {one.metric:18} {100 * one.estimate:+5.1f} [{100 * (one.low or 0):+.1f}, {100 * (one.high or 0):+.1f}] p {one.p or 0:.3f}")
    args.out.write_text(json.dumps(result))
    print(round(time.time() - begun), "s")


if __name__ == "__main__":
    main()
