"""Figures of repairs follow from outcomes under each budget."""

import pytest

from experiments.repair.orders import ALONE, ANSWER, PRE_SEARCH, RANDOM, SUB_AGENT, TRUE
from experiments.repair.outcomes import Outcome
from experiments.repair.page import figures_of, sections_of
from fusesearch.core.errors import DataError
from fusesearch.reporting.page import Page

BUDGETS = (10, 100)


def outcome(number, system, configuration, place, submitted_at, resolved=True, candidates=None, traced=False):
    tried = submitted_at or candidates or 100
    return Outcome(
        instance_id=f"i{number}", repo="o/r", kind=("missing_call", "wrong_operator")[number % 2], system=system,
        configuration=configuration, traced=traced, place=place, candidates=tried, seconds=tried / 10, submitted_at=submitted_at,
        resolved=bool(submitted_at) and resolved, seconds_at={budget: min(budget, tried) / 10 for budget in BUDGETS},
    )  # fmt: skip


def rows(traced=False):
    """Eight faults, of which the true function resolves half. ``good`` names it first, ``bad`` sixth."""
    for number in range(8):
        found = bool(number % 2)
        yield outcome(number, TRUE, TRUE, 0, 4 if found else None, candidates=6, traced=traced)
        yield outcome(number, ALONE, ALONE, 9, 90 if found else None, traced=traced)
        for draw in range(2):
            yield outcome(number, RANDOM, f"{RANDOM} {draw}", 50, 50 if found and draw else None, traced=traced)
        for system, place, at in (("good", 0, 4), ("bad", 5, 40)):
            yield outcome(
                number,
                system,
                ANSWER,
                place if place < 5 else None,
                at if found and place < 5 else None,
                candidates=30,
                traced=traced,
            )
            for configuration in (PRE_SEARCH, SUB_AGENT):
                yield outcome(number, system, configuration, place, at if found else None, resolved=number != 7, traced=traced)


@pytest.fixture(scope="module")
def figures():
    return figures_of([*rows(), *rows(traced=True)], {"i9": "the fault does not show"})


def arm(figures, system, configuration):
    return next(row for row in figures["blind"]["arms"] if (row["system"], row["configuration"]) == (system, configuration))


def test_shares_and_costs_are_those_under_the_budget(figures):
    assert (figures["faults"], figures["skipped"], figures["budgets"]) == (8, {"the fault does not show": 1}, [10, 100])
    good, bad = arm(figures, "good", PRE_SEARCH), arm(figures, "bad", PRE_SEARCH)
    assert [row["resolved@10"]["estimate"] for row in (good, bad)] == [3 / 8, 0]
    assert [row["resolved@100"]["estimate"] for row in (good, bad)] == [3 / 8, 3 / 8]
    assert good["submitted@10"]["estimate"] == 4 / 8
    assert [row["candidates@10"]["estimate"] for row in (good, bad)] == [7, 10]
    assert good["candidates@100"]["estimate"] == 52
    assert good["seconds@10"]["estimate"] == pytest.approx(0.7)
    assert arm(figures, "bad", ANSWER)["recall@5"]["estimate"] == 0


def test_random_orders_of_a_fault_are_averaged(figures):
    found = arm(figures, RANDOM, RANDOM)
    assert (found["faults"], found["resolved@100"]["estimate"]) == (8, 0.25)


def test_differences_are_paired_and_against_the_repairer_alone_the_best_localizer_and_asking_once(figures):
    found = {(row["first"], row["second"], row["metric"]): row for row in figures["blind"]["differences"]}
    assert found["good, pre-search", "alone, alone", "candidates@100"]["estimate"] == -43
    assert found["good, pre-search", "bad, pre-search", "resolved@10"]["estimate"] == 3 / 8
    assert found["bad, sub-agent", "bad, pre-search", "resolved@100"]["estimate"] == 0


def test_places_count_only_what_the_true_function_resolves_and_kinds_show_the_ceiling(figures):
    assert [(row["place"], row["orders"]) for row in figures["places"]] == [("first", 4), ("6 to 20", 4)]
    assert figures["kinds"] == [
        {"kind": "missing_call", "in the space": False, "faults": 4, "submitted": 0, "resolved": 0},
        {"kind": "wrong_operator", "in the space": True, "faults": 4, "submitted": 4, "resolved": 4},
    ]


def test_nothing_is_an_error_with_its_reason():
    with pytest.raises(DataError, match="repaired here: the fault does not show"):
        figures_of([], {"i9": "the fault does not show"})


def test_the_page_has_all_tables(figures):
    page = Page("Repair", sections_of(figures)).render("md")
    assert "| good | pre-search | 37.5" in page
    assert "good, pre-search − bad, pre-search" in page  # noqa: RUF001
    assert "wrong submissions" in page
