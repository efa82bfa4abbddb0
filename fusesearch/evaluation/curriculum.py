"""Questions that are neither trivial nor hopeless (RepoSearch-R1 section 3.4.1), by the answers of a weak and of a strong system.

``python -m fusesearch.evaluation.curriculum INSTANCES.parquet RESULTS WEAK STRONG OUT.csv`` takes a folder of ``fusesearch
evaluate`` whose answers are exact or judged (``fusesearch judge``), and the names of two of its cells. It writes a table for
``split.without``.
"""

from __future__ import annotations

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


def main(instances: Path, results: Path, weak: str, strong: str, out: Path) -> None:
    """Write which questions to leave out of training and why, and print how many."""
    cells, _ = judged(read_results([results]).cells, rubric_named("coreqa"))
    by_name = {row.cell.name: row.scores for row in cells}
    if missing := {weak, strong} - by_name.keys():
        raise DataError(f"{results} has no finished cell {', '.join(missing)}: there are {', '.join(by_name)}")
    rows = read_instances(instances)
    reasons = left_out(rows, by_name[weak], by_name[strong])
    write_dropped(out, reasons.items())
    counts = Counter(reasons.values())
    print(", ".join([f"{len(rows) - len(reasons)} kept", *(f"{count} {reason}" for reason, count in counts.items())]))


if __name__ == "__main__":
    questions, folder, below, above, target = sys.argv[1:]
    try:
        main(Path(questions), Path(folder), below, above, Path(target))
    except FusesearchError as error:
        sys.exit(f"error: {error}")
