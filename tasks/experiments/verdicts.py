"""Verdicts on an experiment's claims and on the orderings in the paper's table, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fusesearch.evaluation.metrics import METRICS, Metric
from fusesearch.evaluation.statistics import LEAST_SEEDS, LEVEL, Difference, Error, holm
from fusesearch.reporting.experiment.results import (
    POOLED,
    ClaimResult,
    Verdict,
    difference_text,
    ordering,
)
from tasks.experiments.spec import Claim, Experiment

F1 = "f1_macro"
"""F1 over both levels as a mean over instances: the F1 of rewards."""

RULED_OUT = 0.05
"""A share. If the interval of an undecided claim stays within it on both sides, a difference of that size is unlikely."""


def judge(experiment: Experiment, differences: Sequence[Difference]) -> list[ClaimResult]:
    """A verdict for each claim: confirmed or refuted after Holm's correction over all claims, else undecided.

    With fewer than :data:`LEAST_SEEDS` seeds every claim stays undecided: two trainings may differ where two ways to train do
    not. A claim with a margin is tested against the margin instead of zero.
    """
    claims = experiment.claims
    found = [_oriented(claim, differences) for claim in claims]
    pooled = [_oriented(claim, differences, POOLED) if claim.paper and claim.metric == F1 else None for claim in claims]
    corrected = holm([_p(claim, row) for claim, row in zip(claims, found, strict=True)])
    return [
        _claim(experiment, claim, row, p, beside) for claim, row, p, beside in zip(claims, found, corrected, pooled, strict=True)
    ]


def summarize(claims: Sequence[ClaimResult], differences: Sequence[Difference]) -> str:
    """One or two sentences: the verdicts, and how many orderings of the paper hold."""
    return " ".join(filter(None, (_of_claims(claims), _of_orderings(differences))))


def _claim(
    experiment: Experiment,
    claim: Claim,
    row: Difference | None,
    p: float | None,
    pooled: Difference | None,
) -> ClaimResult:
    verdict = _verdict(claim, row, p)
    sentence = _sentence(experiment, claim, row, p, verdict, pooled)
    found = ClaimResult(**claim.model_dump(), verdict=verdict, sentence=sentence, p=_p(claim, row), p_holm=p)
    if row is None:
        return found
    numbers = {"estimate": row.estimate, "low": row.low, "high": row.high, "paper_difference": row.paper}
    return found.model_copy(update=numbers)


def _verdict(claim: Claim, row: Difference | None, p: float | None) -> Verdict:
    if row is None:
        return "not measured"
    if row.seeds < LEAST_SEEDS or p is None or p >= LEVEL:
        return "undecided"
    return "confirmed" if _ahead(claim, row) > 0 else "refuted"


def _ahead(claim: Claim, row: Difference) -> float:
    """How far `better` is ahead beyond the claim; negative if the claim does not hold."""
    return (-row.estimate if claim.lower else row.estimate) + (claim.margin or 0.0)


def _p(claim: Claim, row: Difference | None) -> float | None:
    if row is None or claim.margin is None or row.error is None or row.of_seeds is None:
        return row.p if row else None
    return float(f"{Error(row.error, row.of_seeds, row.seeds, row.instances).p(_ahead(claim, row)):.4g}")


def _sentence(
    experiment: Experiment,
    claim: Claim,
    row: Difference | None,
    p: float | None,
    verdict: Verdict,
    pooled: Difference | None,
) -> str:
    of = METRICS[claim.metric]
    better, than = experiment.label(claim.better), experiment.label(claim.than)
    limit = "" if claim.margin is None else f"less than {of.show(claim.margin)}{of.points} "
    side = ("below" if claim.lower else "above") if claim.margin is None else ("above" if claim.lower else "below")
    note = f" ({claim.note})" if claim.note else ""
    expected = f"{better} {limit}{side} {than} in {of.name}{note}"
    if row is None:
        return f"Not measured: {expected}: the arms have no finished run of one seed in common."
    tested = "" if p is None or row.seeds < 2 else f", p {'< 0.001' if p < 0.001 else f'= {p:.3f}'} after Holm over the claims"
    numbers = f"{difference_text(row, of)}{tested}"
    size = f"{row.seeds} seed{'s' * (row.seeds != 1)}, {row.instances} instances"
    opening = {"confirmed": "Confirmed", "refuted": "Refuted", "undecided": "Undecided at this scale"}[verdict]
    parts = [f"{opening}: {expected}: {numbers} ({size})", *_remarks(claim, row, verdict, of, len(experiment.claims))]
    if row.paper is not None:
        parts.append(f"in the paper {row.paper:+.2f}{of.points}")
    elif pooled is not None and pooled.paper is not None:
        ours = METRICS[pooled.metric].show(pooled.estimate, signed=True)
        points = METRICS[pooled.metric].points
        parts.append(f"pooled, as the paper's tables are, {ours}{points}, in the paper {pooled.paper:+.2f}{points}")
    return "; ".join(parts) + "."


def _remarks(claim: Claim, row: Difference, verdict: Verdict, of: Metric, claims: int) -> list[str]:
    """Why a claim is undecided, and what is known nevertheless."""
    if verdict != "undecided":
        return []
    if row.seeds < LEAST_SEEDS:
        return [f"fewer than {LEAST_SEEDS} seeds cannot tell two ways to train from two trainings"]
    if claim.margin is not None:
        return []
    remarks = []
    size = row.detectable(claims)
    if size is not None and not (of.percent and size > 1):  # no share differs by more than 1
        remarks.append(f"a true difference of {of.show(size)}{of.points} would probably be found")
    if of.percent and row.low is not None and row.high is not None and max(-row.low, row.high) < RULED_OUT:
        remarks.append(f"a difference of {100 * RULED_OUT:.0f} points or more is unlikely")
    return remarks


def _oriented(claim: Claim, differences: Sequence[Difference], metric: str = "") -> Difference | None:
    """``better - than`` in the claim's metric, or in ``metric``."""
    for row in differences:
        if row.metric == (metric or claim.metric) and (row.first, row.second) == (claim.better, claim.than):
            return row
        if row.metric == (metric or claim.metric) and (row.second, row.first) == (claim.better, claim.than):
            return reversed_difference(row)
    return None


def reversed_difference(row: Difference) -> Difference:
    """The same difference with its arms exchanged."""
    low, high = (None if bound is None else -bound for bound in (row.high, row.low))
    paper = None if row.paper is None else -row.paper
    changes = {"first": row.second, "second": row.first, "estimate": -row.estimate, "low": low, "high": high, "paper": paper}
    return row.model_copy(update=changes)


def _of_claims(claims: Sequence[ClaimResult]) -> str:
    if not claims:
        return ""
    counts = Counter(claim.verdict for claim in claims)
    words = {"undecided": "undecided at this scale"}
    known = [
        f"{counts[name]} {words.get(name, name)}"
        for name in ("confirmed", "refuted", "undecided", "not measured")
        if counts[name]
    ]
    return f"Of {len(claims)} claim{'s' * (len(claims) != 1)}: {', '.join(known)}."


def _of_orderings(differences: Sequence[Difference]) -> str:
    counts = Counter(filter(None, map(ordering, differences)))
    if not counts:
        return ""
    named = {
        "holds": ("holds", "hold", ""),
        "same direction": ("points", "point", " the same way, undecided"),
        "no difference": ("shows", "show", " no difference that would be printed"),
        "other direction": ("points", "point", " the other way, undecided"),
        "reversed": ("is", "are", " reversed"),
    }
    known = [
        f"{counts[name]} {one if counts[name] == 1 else more}{rest}" for name, (one, more, rest) in named.items() if counts[name]
    ]
    return f"Of {counts.total()} ordering{'s' * (counts.total() != 1)} in the paper's table: {'; '.join(known)}."
