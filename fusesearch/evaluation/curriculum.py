"""Questions that are neither trivial nor hopeless (RepoSearch-R1 section 3.4.1), by the answers of a weak and of a strong system.

``python -m fusesearch.evaluation.curriculum`` writes the table of the others for ``split.without``.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from fusesearch.core.errors import DataError, FusesearchError
from fusesearch.core.examples import write_dropped
from fusesearch.core.schema import Instance, Score
from fusesearch.core.storage import read_instances
from fusesearch.evaluation.judged import JudgedScore, judged
from fusesearch.evaluation.judges import rubric_named
from fusesearch.evaluation.results import read_results

SOLVED = 0.8
"""Grade from which an answer is right: the fourth of five. The paper gives none."""
HARD = 40
"""Questions kept of those that nobody solves (the paper)."""


def left_out(
    instances: Sequence[Instance], weak: Iterable[Score], strong: Iterable[Score], hard: int = HARD, seed: int = 0
) -> dict[str, str]:
    """Why not to train on an instance, by its id; the others are worth it.

    ``trivial``: the weak system solves it in one of its runs. ``hopeless``: the strong one in none, besides ``hard`` of them,
    drawn by ``seed``. ``unknown``: all runs of a system failed, or have no verdict; that is not a wrong answer.
    """
    easy, possible = _best(weak), _best(strong)
    reasons = {
        name: "unknown" if name not in easy.keys() & possible.keys()
        else "trivial" if easy[name] >= SOLVED
        else "hopeless"
        for name in (row.instance_id for row in instances)
        if easy.get(name, 1.0) >= SOLVED or possible.get(name, 0.0) < SOLVED
    }  # fmt: skip
    hopeless = sorted(name for name, reason in reasons.items() if reason == "hopeless")
    kept = {*random.Random(seed).sample(hopeless, min(hard, len(hopeless)))}
    return {name: reason for name, reason in reasons.items() if name not in kept}


def _best(scores: Iterable[Score]) -> dict[str, float]:
    """The best answer to each question."""
    best: dict[str, float] = {}
    for score in scores:
        grade = score.judge_grade if isinstance(score, JudgedScore) and score.judge_grade is not None else score.answer_score
        if score.error is None and grade is not None:
            best[score.instance_id] = max(grade, best.get(score.instance_id, 0.0))
    return best


def main(arguments: Sequence[str]) -> None:
    """Write which questions to leave out of training and why, and print how many."""
    parser = argparse.ArgumentParser(prog="python -m fusesearch.evaluation.curriculum", description=main.__doc__)
    parser.add_argument("instances", type=Path, help="the questions: a .parquet file, such as data/splits/rl.parquet")
    parser.add_argument(
        "results", type=Path, help="folder of `fusesearch evaluate`; open answers are judged by `fusesearch judge`"
    )
    parser.add_argument("weak", help="name of a cell there: what it answers in one of its runs is trivial")
    parser.add_argument("strong", help="name of a cell there: what it answers in none is hopeless")
    parser.add_argument("out", type=Path, help="table for split.without: CSV")
    given = parser.parse_args(arguments)
    cells, _ = judged(read_results([given.results]).cells, rubric_named("coreqa"))
    by_name = {row.cell.name: row.scores for row in cells}
    if missing := {given.weak, given.strong} - by_name.keys():
        raise DataError(f"{given.results} has no finished cell {', '.join(missing)}: there are {', '.join(by_name)}")
    rows = read_instances(given.instances)
    reasons = left_out(rows, by_name[given.weak], by_name[given.strong])
    write_dropped(given.out, reasons.items())
    counts = Counter(reasons.values())
    print(", ".join([f"{len(rows) - len(reasons)} kept", *(f"{count} {reason}" for reason, count in counts.items())]))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FusesearchError as error:
        sys.exit(f"error: {error}")
