"""``analyze2.py SCORES.npz [--names smol_lists smol_issues] [--seeds 2] [--issues N] [--random] [--out OUT.json]``: what scores are worth.

Alone: R@1, R@5 and MRR among an issue's candidates, beside the prior's order, with paired intervals. As columns of the trees:
against ``ranker`` (the trees without) and against the control whose scores are in a random order within each issue. For all
issues, each set, and Python against others. Run in the checkout.
"""
import argparse
import json
import os
import pickle
import sys
import time
from pathlib import Path

HERE = Path(os.environ["MATCH"])  # features of the issues (wide.pkl), the payload, and the programs that made them
sys.path[:0] = [str(HERE)]
import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

import analyze as A  # noqa: E402
from base import load  # noqa: E402
from experiments.evidence.measures import F1, RANKED, one_file, table  # noqa: E402
from fusesearch.evaluation.statistics import compare  # noqa: E402
from fusesearch.localizers.ranker.trees import COLUMNS  # noqa: E402

WIDE = 20


def place(candidates: np.ndarray, right: np.ndarray, scores: np.ndarray) -> int:
    """Place of the best right candidate; ties count against it."""
    ok = candidates >= 0
    s = np.where(ok & ~np.isnan(scores), scores, -np.inf)
    hit = right.astype(bool) & ok
    best = s[hit].max()
    return 1 + int((s[~hit] >= best).sum()) if np.isfinite(best) else 99


def interval(values: np.ndarray) -> str:
    draw = np.random.default_rng(0)
    means = values[draw.integers(len(values), size=(4000, len(values)))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{100 * values.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("scores", type=Path)
    parser.add_argument("--names", nargs="*", default=["smol_lists", "smol_issues"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--issues", type=int, help="only so many issues: a dry run")
    parser.add_argument("--random", action="store_true", help="normal noise instead of scores: a dry run")
    parser.add_argument("--no-trees", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    begun = time.time()
    inst, sets, real, *_ = pickle.load(open(HERE / "wide.pkl", "rb"))
    z = np.load(args.scores)
    ids = [str(i) for i in z["ids"]]
    found = {n: np.array(z[n]) for n in args.names if n in z.files}
    print("scores:", {n: int(np.isfinite(found[n]).any(1).sum()) for n in found}, "of", len(ids), "issues; keys", z.files, flush=True)
    assert int(z["files"]) == WIDE
    if args.random:
        found = {n: np.random.default_rng(k).normal(size=v.shape).astype(np.float32) for k, (n, v) in enumerate(found.items())}
    d = load(HERE / "data.npz.xz")
    assert [str(i) for i in d["issue_ids"]] == ids
    done = np.flatnonzero(np.all([np.isfinite(v).any(1) for v in found.values()], 0))
    done = np.random.default_rng(0).permutation(done)[: args.issues] if args.issues else done
    have = {ids[i] for i in done}
    python = {i for name in ("verified", "lite", "locbench") for i in sets[name]}
    groups = {"all": [i for i in inst if i in have], **{k: [i for i in v if i in have] for k, v in sets.items()}}
    groups |= {"python": [i for i in inst if i in have and i in python], "others": [i for i in inst if i in have and i not in python]}
    at = {i: n for n, i in enumerate(ids)}
    if "fold" in z.files:
        groups |= {f"fold {f}": [i for i in groups["all"] if z["fold"][at[i]] == f] for f in range(3)}

    lab = {level: {k[0]: x["label"].to_numpy() for k, x in real[level].group_by("instance_id", maintain_order=True)} for level in ("file", "function")}
    for level, n in (("file", 20), ("function", 40)):
        same = [np.array_equal(lab[level][ids[i]][:n], d[f"right_{level}s"][i][: min(n, len(lab[level][ids[i]]))]) for i in done if ids[i] in lab[level]]
        print("labels of", level, "in the same order:", sum(same), "of", len(same))

    result: dict = {"alone": {}, "trees": {}}
    print("\n# alone, of issues with a right candidate among those scored")
    for group, want in groups.items():
        for level, cut in (("function", slice(WIDE, None)), ("file", slice(0, WIDE))):
            usable = [at[i] for i in want if d[f"right_{level}s"][at[i]].any()]
            if not usable:
                continue
            where = {"prior": np.array([place(d[f"eval_{level}s"][i], d[f"right_{level}s"][i], -np.arange(d[f"eval_{level}s"].shape[1], dtype=float)) for i in usable])}
            where |= {n: np.array([place(d[f"eval_{level}s"][i], d[f"right_{level}s"][i], v[i, cut].astype(float)) for i in usable]) for n, v in found.items()}
            row = {n: {"r1": float((p == 1).mean()), "r5": float((p <= 5).mean()), "mrr": float((1 / p).mean())} for n, p in where.items()}
            result["alone"][f"{group} {level}"] = {"n": len(usable), **row}
            print(f"{group:10} {level:8} {len(usable):5}", *(f"{n}: R@1 {100 * r['r1']:.1f} R@5 {100 * r['r5']:.1f} MRR {100 * r['mrr']:.1f};" for n, r in row.items()))
            pairs = [(n, "prior") for n in found] + ([("smol_issues", "smol_lists")] if {"smol_issues", "smol_lists"} <= set(found) else [])
            for a, b in pairs:
                print(f"{'':26}{a} - {b}: R@1 {interval((where[a] == 1).astype(float) - (where[b] == 1))}; MRR {interval(1 / where[a] - 1 / where[b])}")
    if args.no_trees:
        return
    rows = {i: inst[i] for i in inst if i in have}
    t = {level: x.filter(pl.col("instance_id").is_in(list(have))) for level, x in real.items()}
    plain = {level: [*COLUMNS[level]] for level in COLUMNS}
    arms: dict[str, object] = {}

    def arm(name: str, tables: dict, columns: dict) -> None:
        arms[name] = A.by_trees(tables, columns, args.seeds, rows)
        print(round(time.time() - begun), "s", name, flush=True)

    print("\n# as columns of the trees")
    arm("ranker", t, plain)
    pairs = []
    for n, v in found.items():
        scores = {i: v[at[i]] for i in have}
        for name, shuffle in ((n, None), (f"{n}, shuffled", 1)):
            tables, names = A.with_scores(t, scores, n, shuffle)
            arm(name, tables, {level: plain[level] + names[level] for level in plain})
        pairs += [(n, "ranker"), (n, f"{n}, shuffled")]
    if {"smol_issues", "smol_lists"} <= set(found):
        pairs.append(("smol_issues", "smol_lists"))
    for group, want in groups.items():
        if len(want) < 2:
            continue
        lists = {k: {0: [s.scores[i] for i in want]} for k, s in arms.items()}
        f1 = {k: {0: one_file(v[0], "first of each")} for k, v in lists.items()}
        print(f"\n== {group} {len(want)}")
        result["trees"][group] = {"n": len(want), "arms": {}, "differences": []}
        for k, s in arms.items():
            row = table({k: s.only(want)})[0]
            result["trees"][group]["arms"][k] = {m: row[m]["estimate"] for m in (*RANKED, "f1 first of each")}
            print(f"   {k:24}", {m: round(100 * row[m]["estimate"], 1) for m in RANKED}, round(100 * row["f1 first of each"]["estimate"], 1))
        for p in pairs:
            for x in compare(lists, [p], dict(RANKED), confidence=0.95) + compare(f1, [p], {"f1": F1}, confidence=0.95):
                result["trees"][group]["differences"].append([*p, x.metric, x.estimate, x.low, x.high, x.p])
                low, high, chance = (float("nan") if v is None else v for v in (x.low, x.high, x.p))
                print(f"     {p[0]} - {p[1]}: {x.metric} {100 * x.estimate:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}] p {chance:.3f}")
        if args.out:
            args.out.write_text(json.dumps(result))
    print(round(time.time() - begun), "s")


if __name__ == "__main__":
    main()
