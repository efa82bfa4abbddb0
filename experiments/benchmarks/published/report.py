"""The figures as Markdown tables, theirs beside ours."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TABLE2 = Path(__file__).parents[2] / "reference/tooltrain_table2_swebench_verified.csv"
PUBLISHED_ACC = {
    "file_acc@1": 77.74, "file_acc@3": 91.97, "file_acc@5": 94.16, "module_acc@5": 86.50, "module_acc@10": 87.59,
    "function_acc@5": 73.36, "function_acc@10": 77.37,
}  # fmt: skip
"""LocAgent with Claude-3.5 on SWE-bench Lite, as its repository prints them (evaluation/run_evaluation.ipynb)."""

LEVELS = ("file", "function")
RANKED = ("recall@1", "recall@3", "recall@5", "map", "mrr", "ndcg@5")


def tables(figures: dict[str, Any]) -> str:
    """All tables of the page, in its order."""
    runs, lite = list(figures["verified"].values()), figures["lite"]
    with_lite = [*runs, {"system": lite["system"], "model": f"{lite['model']} (Lite)", "tally": lite["ours"]["tally"]}]
    our_rows = [row for run in runs for row in _our_rows(run["system"], run["model"], run)]
    parts = [
        ("ToolTrain's Table 2, reproduced", _reproduced(runs)),
        ("The same answers, other truths and rules: Recall@5", _rules(runs)),
        ("Our rule", _table(_OUR_HEAD, our_rows)),
        ("LocAgent's Acc@k", _acc(lite)),
        ("LocAgent's own release under our rule", _lite_ours(lite)),
        ("Names that have no place, by reason", _counts(with_lite, "unmatched")),
        ("How the others were found", _counts(with_lite, "found")),
    ]
    return "\n".join(f"## {title}\n\n{text}\n" for title, text in parts)


def _reproduced(runs: list[dict[str, Any]]) -> str:
    rows = []
    for run in runs:
        for level in LEVELS:
            pairs = [_pair(run, level, name) for name in RANKED]
            difference = max((abs(theirs - ours) for theirs, ours in pairs if theirs is not None), default=None)
            cells = [f"{ours:.2f} ({'not printed' if theirs is None else f'{theirs:.2f}'})" for theirs, ours in pairs]
            rows.append([run["system"], run["model"], level, *cells, "" if difference is None else f"{difference:.3f}"])
    return _table(["system", "model", "level", *RANKED, "largest difference"], rows)


def _rules(runs: list[dict[str, Any]]) -> str:
    rows = []
    for run in runs:
        for level in LEVELS:
            ruled = [run[rule][level]["recall@5"] for rule in ("tooltrain_rule", "cosil_rule", "names_our_truth")]
            theirs, _ = _pair(run, level, "recall@5")
            cells = ["" if theirs is None else f"{theirs:.2f}", *map(_points, ruled), _points(run["ours"][level]["recall@5"])]
            luck = f"{run['luck']['in_another_file']} of {run['luck']['hits']}" if level == "function" else ""
            rows.append([run["system"], run["model"], level, *cells, luck])
    head = ["printed", "ToolTrain's truth, by name", "CoSIL's truth, by name", "our truth, by name", "our rule"]
    return _table(["system", "model", "level", *head, "right name, other file"], rows)


def _lite_ours(lite: dict[str, Any]) -> str:
    rows = [*_our_rows(lite["system"], lite["model"], lite["ours"])]
    rows += _our_rows(lite["system"], "the same, a class as its `__init__`", lite["ours_init"])
    return _table(_OUR_HEAD, rows)


_OUR_HEAD = [
    "system", "model", "instances", "file P", "R", "F1", "function P", "R", "F1", "macro F1 file", "function",
    "function R@1", "R@3", "R@5",
]  # fmt: skip


def _our_rows(system: str, model: str, run: dict[str, Any]) -> Iterable[list[str]]:
    for key, label in (("ours", "all"), ("ours_fusesearch", "protocol `fusesearch`")):
        summary = run[key]
        micro = [_points(summary[level]["micro"][name]) for level in LEVELS for name in ("precision", "recall", "f1")]
        macro = [_points(summary[level]["macro"]["f1"]) for level in LEVELS]
        recall = [_points(summary["function"][f"recall@{k}"]) for k in (1, 3, 5)]
        yield [system, model, f"{label} ({summary['file']['instances']})", *micro, *macro, *recall]


def _acc(lite: dict[str, Any]) -> str:
    ours, init = lite["ours"]["acc"], lite["ours_init"]["acc"]
    rows = [
        [name, f"{printed:.2f}", _points(lite["acc"][name]), _points(lite["acc_all"][name]), _points(ours[name]),
         _points(init[name])]
        for name, printed in PUBLISHED_ACC.items()
    ]  # fmt: skip
    count, every = lite["acc"]["instances"], lite["acc_all"]["instances"]
    head = [
        "printed",
        f"its rule ({count} instances)",
        f"its rule, none left out ({every})",
        "our rule",
        "ours, class as `__init__`",
    ]
    return _table(["figure", *head], rows)


def _counts(runs: list[dict[str, Any]], what: str) -> str:
    names = sorted({name for run in runs for name in run["tally"][what]})
    rows = [[name, *(f"{run['tally'][what].get(name, 0):,}" for run in runs)] for name in names]
    if what == "unmatched":
        levels = sorted({name for run in runs for name in run["tally"]["repeated"]})
        rows += [[f"{name}: repeated", *(f"{run['tally']['repeated'].get(name, 0):,}" for run in runs)] for name in levels]
    return _table(["", *(f"{run['system']} {run['model']}" for run in runs)], rows)


def _pair(run: dict[str, Any], level: str, name: str) -> tuple[float | None, float]:
    """(printed, ours) in points; printed is ``None`` if the table lacks the row."""
    with TABLE2.open(encoding="utf-8", newline="") as handle:
        rows = {(row["framework"], row["model"]): row for row in csv.DictReader(handle)}
    printed = rows.get((run["system"], run["model"]))
    theirs = float(printed[f"{level}_{name}"]) if printed else None
    return theirs, 100 * run["tooltrain_rule"][level].get(name, 0.0)


def _points(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
