"""What the numbers say of an experiment's claims, and of the orderings in the paper's table, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tasks.evaluation.columns import Column, column
from tasks.evaluation.statistics import holm
from tasks.experiments.results import ClaimResult, DifferenceResult, PowerResult, Verdict
from tasks.experiments.spec import Claim, Experiment

LEVEL = 0.05
"""Of the tests, after correction."""

RULED_OUT = 0.05
"""Share: an undecided claim whose interval stays within it either way says that there is no difference of that size."""

ORDERINGS = ("holds", "same direction", "other direction", "reversed")
"""What becomes of an ordering in the paper's table: the outer two are decided by the test, the inner two are not."""


def judge(experiment: Experiment, differences: Sequence[DifferenceResult], power: Sequence[PowerResult]) -> list[ClaimResult]:
    """A verdict for each claim: confirmed or refuted after Holm's correction over all of them, else undecided.

    With one seed every claim stays undecided: the difference of two trainings is not that of two ways to train.
    """
    found = [_oriented(claim, differences) for claim in experiment.claims]
    corrected = holm([row.p if row else None for row in found])
    seen = {(row.metric, row.first, row.second): row for row in power}
    return [
        _claim(experiment, claim, row, p, seen.get((claim.metric, claim.better, claim.than)))
        for claim, row, p in zip(experiment.claims, found, corrected, strict=True)
    ]


def summarize(claims: Sequence[ClaimResult], differences: Sequence[DifferenceResult]) -> str:
    """One or two sentences: verdicts, and how many orderings of the paper hold."""
    return " ".join(filter(None, (_of_claims(claims), _of_orderings(differences))))


def ordering(row: DifferenceResult) -> str | None:
    """One of :data:`ORDERINGS`; ``None`` where the paper states no ordering of the two."""
    if row.agrees is None:
        return None
    if row.agrees:
        return "holds" if decided(row) else "same direction"
    return "reversed" if decided(row) else "other direction"


def decided(row: DifferenceResult) -> bool:
    """Whether the corrected test over several seeds decides which arm is ahead."""
    return row.seeds > 1 and row.p_holm is not None and row.p_holm < LEVEL


def p_text(p: float) -> str:
    """``p < 0.001`` or ``p = 0.012``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def difference_text(row: DifferenceResult | ClaimResult, of: Column) -> str:
    """``+3.1 points [+1.2, +5.0]``."""
    estimate = of.show(row.estimate or 0.0, signed=True) + _unit(of)
    if row.low is None or row.high is None:
        return estimate
    return f"{estimate} [{of.show(row.low, signed=True)}, {of.show(row.high, signed=True)}]"


def _unit(of: Column) -> str:
    return " points" if of.percent else ""


def metric_name(of: Column) -> str:
    """The heading without its unit."""
    return of.heading.replace(" (%)", "")


def _claim(
    experiment: Experiment, claim: Claim, row: DifferenceResult | None, p: float | None, power: PowerResult | None
) -> ClaimResult:
    verdict = _verdict(claim, row, p)
    given = claim.model_dump()
    if row is None:
        return ClaimResult(**given, verdict=verdict, sentence=_sentence(experiment, claim, None, None, verdict, power))
    return ClaimResult(
        **given,
        verdict=verdict,
        sentence=_sentence(experiment, claim, row, p, verdict, power),
        estimate=row.estimate,
        low=row.low,
        high=row.high,
        p=row.p,
        p_holm=p,
        paper_difference=row.paper,
    )


def _verdict(claim: Claim, row: DifferenceResult | None, p: float | None) -> Verdict:
    if row is None:
        return "not measured"
    if row.seeds < 2 or p is None or p >= LEVEL:
        return "undecided"
    return "confirmed" if (row.estimate < 0) == claim.lower else "refuted"


def _sentence(
    experiment: Experiment,
    claim: Claim,
    row: DifferenceResult | None,
    p: float | None,
    verdict: Verdict,
    power: PowerResult | None,
) -> str:
    of = column(claim.metric)
    better, than = experiment.label(claim.better), experiment.label(claim.than)
    expected = f"{better} {'below' if claim.lower else 'above'} {than} in {metric_name(of)}"
    if row is None:
        return f"Not measured: {expected}: the arms have no finished run of one seed in common."
    tested = "" if p is None or row.seeds < 2 else f", {p_text(p)} after Holm over the claims"
    numbers = f"{difference_text(row, of)}{tested}"
    size = f"{row.seeds} seed{'s' * (row.seeds != 1)}, {row.instances} instances"
    opening = {"confirmed": "Confirmed", "refuted": "Refuted", "undecided": "Undecided at this scale"}[verdict]
    parts = [f"{opening}: {expected}: {numbers} ({size})", *_remarks(row, verdict, of, power)]
    if row.paper is not None:
        parts.append(f"in the paper {row.paper:+.2f}")
    return "; ".join(parts) + "."


def _remarks(row: DifferenceResult, verdict: Verdict, of: Column, power: PowerResult | None) -> list[str]:
    """Why an undecided claim is, and what is known all the same."""
    if verdict != "undecided":
        return []
    if row.seeds < 2:
        return ["one seed cannot tell two ways to train from two trainings"]
    remarks = []
    if power and row.seeds in power.detectable:
        remarks.append(f"a true difference of {of.show(power.detectable[row.seeds])}{_unit(of)} would be seen four times in five")
    if of.percent and row.low is not None and row.high is not None and max(-row.low, row.high) < RULED_OUT:
        remarks.append(f"a difference of {100 * RULED_OUT:.0f} points or more is unlikely")
    return remarks


def _oriented(claim: Claim, differences: Sequence[DifferenceResult]) -> DifferenceResult | None:
    """``better - than`` in the claim's metric."""
    for row in differences:
        if row.metric == claim.metric and (row.first, row.second) == (claim.better, claim.than):
            return row
        if row.metric == claim.metric and (row.second, row.first) == (claim.better, claim.than):
            return turned(row)
    return None


def turned(row: DifferenceResult) -> DifferenceResult:
    """The same difference the other way round."""
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


def _of_orderings(differences: Sequence[DifferenceResult]) -> str:
    counts = Counter(filter(None, map(ordering, differences)))
    if not counts:
        return ""
    named = {
        "holds": "hold",
        "same direction": "point the same way, undecided",
        "other direction": "point the other way, undecided",
        "reversed": "are reversed",
    }
    known = [f"{counts[name]} {words}" for name, words in named.items() if counts[name]]
    return f"Of {counts.total()} orderings in the paper's table: {'; '.join(known)}."
