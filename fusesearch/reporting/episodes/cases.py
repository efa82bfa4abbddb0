"""Case studies (FuseSearch appendix E, ToolTrain appendix B): one instance, and how each arm searched it.

Which instances is a rule, not a choice: :func:`choose`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from fusesearch.core.digests import digest
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Score, Trajectory, Truth
from fusesearch.core.storage import read_jsonl
from fusesearch.core.text import printable, safe_name
from fusesearch.reporting.episodes.page import Page as EpisodePage
from fusesearch.reporting.episodes.page import page_of
from fusesearch.reporting.episodes.rendering import render
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ABSENT, Row, Table, shown

SHOWN = ("f1", "file_f1", "function_f1", "efficiency", "turns", "calls", "tokens_billed")
TYPICAL = "closest to every arm's mean F1"
INDEX = "index.html"
WIDTH = 200
"""Characters of a call's arguments."""
RULE = (
    "Chosen by rule: of each two neighbouring arms the instance whose F1 gains most and the one that loses most, and the one "
    "closest to every arm's mean. Among equals chance decides, the same every time."
)


class Case(NamedTuple):
    """An instance, and the rule that chose it."""

    instance_id: str
    rule: str


class Arm(NamedTuple):
    """Scores of the first run, and its trajectories of the cases, by instance."""

    scores: Mapping[str, Score]
    trajectories: Mapping[str, Trajectory]


class Study(NamedTuple):
    """The cases of some arms."""

    cases: Sequence[Case] = ()
    arms: Mapping[str, Arm] = {}


def read_study(scores: Mapping[str, Iterable[Score]], episodes: Mapping[str, Path]) -> Study:
    """The cases of arms with these scores and files of trajectories. Raises :class:`DataError` where they have none."""
    first = {name: {row.instance_id: row for row in rows if row.run == 0} for name, rows in scores.items()}
    cases = choose(first)
    wanted = {case.instance_id for case in cases}
    arms = {}
    for name, path in episodes.items():
        found: dict[str, Trajectory] = {}
        for row in read_jsonl(path, Trajectory):
            if row.instance_id in wanted:
                found.setdefault(row.instance_id, row)
        if lacking := sorted(wanted - found.keys()):
            raise DataError(f"{path} lacks the episode of {lacking[0]}: evaluate again")
        arms[name] = Arm(first[name], found)
    return Study(cases, arms)


def choose(arms: Mapping[str, Mapping[str, Score]]) -> list[Case]:
    """The instances whose F1 gains and loses most between each two neighbouring arms, and the typical one.

    Among equals the one whose id has the smallest digest; no instance twice. A rule that nothing fits has no case. Raises
    :class:`DataError` where the arms have no scored instance in common.
    """
    figures = {name: {key: row.f1 for key, row in scores.items() if row.f1 is not None} for name, scores in arms.items()}
    common = sorted(set.intersection(*map(set, figures.values())), key=digest) if figures else []
    if not common:
        raise DataError("the arms have no scored instance in common")
    means = {name: fmean(known[key] for key in common) for name, known in figures.items()}
    ratings = {TYPICAL: {key: -sum(abs(known[key] - means[name]) for name, known in figures.items()) for key in common}}
    names = list(arms)
    for first, second in pairwise(names):
        gains = {key: figures[second][key] - figures[first][key] for key in common}
        ratings[f"gains most from {first} to {second}"] = gains
        ratings[f"loses most from {first} to {second}"] = {key: -gain for key, gain in gains.items()}
    cases: list[Case] = []
    for rule, values in ratings.items():
        left = [key for key in common if key not in {case.instance_id for case in cases}]
        best = max(left, key=lambda key: values[key], default=None)
        if best is not None and (rule == TYPICAL or values[best] > 0):
            cases.append(Case(best, rule))
    return cases


def pages(study: Study) -> dict[str, str]:
    """HTML by file name: the index, a page per case, and the page of each of its episodes."""
    arms = study.arms
    found = {INDEX: Page("Cases", [section(study)]).render("html")}
    for case in study.cases:
        truth = _truth(arms, case)
        episodes = {name: page_of(arm.trajectories[case.instance_id], truth) for name, arm in arms.items()}
        links = {name: f"{_file(case)}.{safe_name(name)}.html" for name in arms}
        found |= {links[name]: render(page) for name, page in episodes.items()}
        found[f"{_file(case)}.html"] = _case_page(case, arms, episodes, links).render("html")
    return found


def section(study: Study, folder: str = "") -> Section:
    """A table that leads to the pages of the cases in ``folder``, which ends in ``/``."""
    rows = []
    for case in study.cases:
        scores = [shown(arm.scores[case.instance_id].f1) for arm in study.arms.values()]
        rows.append(Row([case.instance_id, case.rule, *scores], link=f"{folder}{_file(case)}.html"))
    text = [RULE, *([f"Their pages are in {folder}; {INDEX} lists them."] if folder else [])]
    return Section("Cases", text, [Table("F1 by arm", ["instance", "why it is here", *study.arms], rows)] if rows else [])


def _case_page(case: Case, arms: Mapping[str, Arm], episodes: Mapping[str, EpisodePage], links: Mapping[str, str]) -> Page:
    rows = []
    for name, arm in arms.items():
        score = arm.scores[case.instance_id]
        rows.append(Row([name, *(shown(getattr(score, key)) for key in SHOWN)], link=links[name]))
    summary = Table("Each arm; its name leads to the whole episode", ["arm", *SHOWN], rows)
    issue = [printable(line) for line in next(iter(episodes.values())).issue[0].split("\n") if line.strip()]
    truth = _truth(arms, case)
    wanted = Table("What the patch modifies", ["place"], [Row([name]) for name in [*truth.files, *truth.functions]])
    parts = [Section(name, [page.stop], _episode(page)) for name, page in episodes.items()]
    return Page(case.instance_id, [Section("Issue", issue, [wanted]), Section("Arms", [case.rule], [summary]), *parts])


def _episode(page: EpisodePage) -> list[Table]:
    """The calls of an episode, and its answer."""
    calls = []
    for card in (card for turn in page.turns for card in turn.cards):
        arguments = printable("; ".join(f"{name}={value}" for name, value in card.arguments))[:WIDTH]
        seen = ", ".join(card.new) or ABSENT
        calls.append([card.name, printable(card.tool), arguments, card.gain, card.note, seen])
    verdicts = {"right": "right", "file": "right file, other function"}
    answer = [[printable(place.entity), verdicts.get(place.verdict, "wrong")] for place in page.modify]
    header = ["call", "tool", "arguments", "gain", "what came back", "truth seen for the first time"]
    return [Table("Calls", header, [*map(Row, calls)]), Table("Answer", ["place", "verdict"], [*map(Row, answer)])]


def _truth(arms: Mapping[str, Arm], case: Case) -> Truth:
    score = next(iter(arms.values())).scores[case.instance_id]
    return Truth(files=score.true_files, functions=score.true_functions, unread=score.unread)


def _file(case: Case) -> str:
    return safe_name(case.instance_id)
