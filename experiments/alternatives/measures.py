"""How resolving patches differ from gold patches, what F1 they have, and how systems stand against either."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from experiments.alternatives.resolving import Resolving, key_of
from experiments.evidence.measures import interval
from fusesearch.core.schema import Instance, Score, Truth
from fusesearch.evaluation.metrics import against, best_accepted
from fusesearch.evaluation.protocols import PROTOCOLS, Protocol
from fusesearch.evaluation.statistics import (
    Statistic,
    combined_pooled_f1,
    compare,
    difference,
    mean,
    measure,
    pair_of,
    pooled,
    ratio,
)

LEVELS = ("file", "function")
RELATIONS = ("the same", "more", "fewer", "some in common", "nothing in common")
"""What a resolving patch modifies beside what the gold patch modifies."""
FIGURES = {f"{level}_{figure}": pooled(level, figure) for level in LEVELS for figure in ("precision", "recall", "f1")}
POOLED, MEAN = "one file, pooled", "all, mean"
RULES: dict[str, tuple[Protocol, Statistic]] = {
    POOLED: (PROTOCOLS["fusesearch"], combined_pooled_f1("f1")),
    MEAN: (PROTOCOLS["codescout"], mean("f1")),
}
"""F1 as FuseSearch and as CodeScout report it: which instances count, and the average."""
LEAST = 20
"""Systems with fewer patches have no row of their own."""


def relation(predicted: Sequence[str], true: Sequence[str]) -> str:
    """One of :data:`RELATIONS`."""
    mine, gold = set(predicted), set(true)
    if mine == gold:
        return "the same"
    if not mine & gold:
        return "nothing in common"
    return "more" if mine > gold else "fewer" if mine < gold else "some in common"


def how_often(patches: Sequence[Score]) -> list[dict[str, Any]]:
    """A row per level and relation: the share of patches, instances weighing the same; instances with one, and with no other."""
    rows = []
    for level in LEVELS:
        counted = [score for score in patches if pair_of(score, level)[1]]
        by_instance: dict[str, set[str]] = {}
        for score in counted:
            by_instance.setdefault(score.instance_id, set()).add(relation(*pair_of(score, level)))
        for name in RELATIONS:
            share = ratio(name, partial(_is, level=level, name=name))
            some = [name in found for found in by_instance.values()]
            only = [found == {name} for found in by_instance.values()]
            rows.append(
                {"level": level, "relation": name, "patches": interval(measure({0: counted}, share))}
                | {"some": sum(some), "only": sum(only), "instances": len(by_instance), "of patches": len(counted)}
            )
    return rows


def _is(score: Score, level: str, name: str) -> tuple[float, float]:
    return float(relation(*pair_of(score, level)) == name), 1.0


def by_count(found: Resolving, rows: Sequence[Instance]) -> list[dict[str, Any]]:
    """How many answers differ from the gold patch, by how many patches of an instance are known."""
    groups: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        patches = len(found.truths.get(row.instance_id, {}))
        if not patches:
            continue
        assert row.truth is not None  # noqa: S101
        others = [truth for truth in found.accepted(row.instance_id) if key_of(truth) != key_of(row.truth)]
        files = sum(set(truth.files) != set(row.truth.files) for truth in others)
        groups.setdefault(_group(patches), []).append((len(others), files))
    return [
        {
            "patches": group, "instances": len(counts), "answers": sum(others for others, _ in counts) / len(counts),
            "other answer": sum(others > 0 for others, _ in counts), "other files": sum(files > 0 for _, files in counts),
        }
        for group, counts in sorted(groups.items())
    ]  # fmt: skip


def _group(patches: int) -> str:
    return "1" if patches == 1 else "2 to 4" if patches < 5 else "5 or more"


def ceiling(patches: Sequence[Score], found: Resolving) -> list[dict[str, Any]]:
    """The figures of resolving patches against the gold patch: all, the closest and farthest of each instance, by system."""
    gold = [judged(score, ()) for score in patches]
    others = [judged(score, found.accepted(score.instance_id, but=score.localizer)) for score in patches]
    shared = {score.instance_id for score in others if score.f1_best is not None}
    groups = {
        "a resolving patch": gold,
        "the closest of each issue": _chosen(gold, max),
        "the farthest of each issue": _chosen(gold, min),
        "where another system's is known": [score for score in gold if score.instance_id in shared],
    }
    rows = [{"patches": name, **_figures(scores)} for name, scores in groups.items()]
    best = [score for score in others if score.instance_id in shared]
    rows.append({"patches": "the same against the best of gold and theirs", **_figures(best, accepted=True)})
    systems: dict[str, list[Score]] = {}
    for score in gold:
        systems.setdefault(score.localizer, []).append(score)
    by_size = sorted(systems.items(), key=lambda item: (-len(item[1]), item[0]))
    return rows + [{"patches": name, **_figures(scores)} for name, scores in by_size if len(scores) >= LEAST]


def _chosen(scores: Sequence[Score], choose: Callable[..., Score]) -> list[Score]:
    by_instance: dict[str, list[Score]] = {}
    for score in scores:
        by_instance.setdefault(score.instance_id, []).append(score)
    return [choose(found, key=lambda score: score.f1 or 0.0) for found in by_instance.values()]


def _figures(scores: Sequence[Score], accepted: bool = False) -> dict[str, Any]:
    row: dict[str, Any] = {"issues": len({score.instance_id for score in scores})}
    for rule, (protocol, statistic) in RULES.items():
        row[rule] = interval(measure({0: protocol.view(scores, accepted=accepted)}, statistic))
    one_file = RULES[POOLED][0].view(scores, accepted=accepted)
    return row | {key: interval(measure({0: one_file}, figure)) for key, figure in FIGURES.items()}


def judged(score: Score, accepted: Sequence[Truth]) -> Score:
    """The score with F1 against the gold patch and, where other answers are accepted, against the best of them."""
    score = against(score, Truth(files=score.true_files, functions=score.true_functions))
    return score.model_copy(update=best_accepted(score, accepted))


def order(systems: Mapping[str, Sequence[Score]], rule: str, found: Resolving) -> dict[str, Any]:
    """How systems stand on the issues with resolving patches: against gold, against the best accepted answer, and all pairs.

    ``systems`` has the answers of each, read as sets, on all issues of the set.
    """
    protocol, statistic = RULES[rule]
    here = {name: [score for score in answers if score.instance_id in found.truths] for name, answers in systems.items()}
    answers_of: tuple[Callable[[str], list[Truth]], ...] = (found.accepted, found.agreed)
    any_of, agreed = (
        {name: [judged(score, of(score.instance_id)) for score in scores] for name, scores in here.items()} for of in answers_of
    )
    gold = {name: {0: protocol.view(scores)} for name, scores in any_of.items()}
    best, two = (
        {name: {0: protocol.view(scores, accepted=True)} for name, scores in given.items()} for given in (any_of, agreed)
    )
    rows = [
        {
            "system": name,
            "issues": len(gold[name][0]),
            "gold": interval(measure(gold[name], statistic)),
            "best": interval(measure(best[name], statistic)),
            "gain": interval(difference(best[name], gold[name], statistic)),
            "gain of two": interval(difference(two[name], gold[name], statistic)),
            "others": _elsewhere(systems[name], protocol, statistic, found),
        }
        for name in systems
    ]
    for key in ("gold", "best"):
        ranked = sorted(rows, key=lambda row: -row[key]["estimate"])
        for row in rows:
            row[f"place {key}"] = ranked.index(row) + 1
    return {"systems": sorted(rows, key=lambda row: row["place gold"]), **_pairs(gold, best, statistic)}


def _elsewhere(answers: Sequence[Score], protocol: Protocol, statistic: Statistic, found: Resolving) -> Any:
    """F1 on the issues without a resolving patch."""
    others = [judged(score, ()) for score in answers if score.instance_id not in found.truths]
    return interval(measure({0: protocol.view(others)}, statistic))


def _pairs(gold: Mapping[str, Any], best: Mapping[str, Any], statistic: Statistic) -> dict[str, Any]:
    """Every pair of systems against gold, against the best, and by how much the gap changes; and how many are decided."""
    pairs = list(combinations(gold, 2))
    against_gold = compare(gold, pairs, {"gold": statistic})
    against_best = compare(best, pairs, {"best": statistic})
    changes = compare(gold, pairs, {"gain": gain(statistic)})
    rows: list[dict[str, Any]] = [
        {"first": one.first, "second": one.second}
        | {row.metric: row.model_dump(mode="json", include={"estimate", "low", "high", "p_holm"}) for row in (one, two, change)}
        | {"decided": [one.is_significant, two.is_significant], "turned": one.estimate * two.estimate < 0}
        | {"moved": change.is_significant}
        for one, two, change in zip(against_gold, against_best, changes, strict=True)
    ]
    concordant = sum(row["gold"]["estimate"] * row["best"]["estimate"] > 0 for row in rows)
    return {
        "pairs": rows,
        "summary": {
            "pairs": len(rows),
            "turned": sum(row["turned"] for row in rows),
            "turned and decided": sum(row["turned"] and any(row["decided"]) for row in rows),
            "decided against gold": sum(row["decided"][0] for row in rows),
            "decided against the best": sum(row["decided"][1] for row in rows),
            "decided against both": sum(all(row["decided"]) for row in rows),
            "gap moved": sum(row["moved"] for row in rows),
            "tau": (2 * concordant - len(rows)) / len(rows),
        },
    }


def gain(statistic: Statistic) -> Statistic:
    """The figure against the best accepted answer, minus that against the gold patch, of scores against the gold patch."""

    def components(score: Score) -> tuple[float, ...] | None:
        other = Truth(files=score.accepted_files, functions=score.accepted_functions)
        gold, best = statistic.components(score), statistic.components(against(score, other) if other.files else score)
        return None if gold is None or best is None else (*gold, *best)

    def figure(sums: Any) -> Any:
        width = sums.shape[-1] // 2
        return statistic.figure(sums[..., width:]) - statistic.figure(sums[..., :width])

    return Statistic("gain", components, figure)


def firsts(systems: Mapping[str, Sequence[Score]], found: Resolving) -> list[dict[str, Any]]:
    """How often the first file and the first function are in the gold patch, and in some accepted answer."""
    rows = []
    for name, answers in systems.items():
        scores = [score for score in answers if score.instance_id in found.truths]
        row: dict[str, Any] = {"system": name, "issues": len(scores)}
        for level in LEVELS:
            for key, truths in (("gold", {}), ("any", found.truths)):
                row[f"{level} {key}"] = interval(measure({0: scores}, ratio(key, partial(_first, level=level, truths=truths))))
        rows.append(row)
    return rows


def _first(score: Score, level: str, truths: Mapping[str, Mapping[str, Truth]]) -> tuple[float, float] | None:
    predicted, true = pair_of(score, level)
    if not true:
        return None
    accepted = truths.get(score.instance_id, {}).values()
    wanted = {*true, *(name for truth in accepted for name in (truth.files if level == "file" else truth.functions))}
    return float(bool({*predicted[:1]} & wanted)), 1.0
