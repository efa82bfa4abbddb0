"""Questions that are neither trivial nor hopeless (RepoSearch-R1 section 3.4.1), by the answers of a weak and of a strong system.

``python -m fusesearch.evaluation.curriculum INSTANCES.parquet RESULTS WEAK STRONG OUT.parquet`` takes a folder of ``fusesearch
evaluate`` whose answers are exact or judged (``fusesearch judge``), and the names of two of its cells.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from fusesearch.core.errors import DataError, FusesearchError
from fusesearch.core.schema import Instance, Score
from fusesearch.core.storage import read_instances, write_instances
from fusesearch.evaluation.judged import JudgedScore, judged
from fusesearch.evaluation.judges import rubric_named
from fusesearch.evaluation.results import read_results

SOLVED = 0.8
"""Grade from which an answer is right: the fourth of five. The paper gives none."""
HARD = 40
"""Questions kept of those that nobody solves (the paper)."""


def curriculum(
    instances: Sequence[Instance], weak: Iterable[Score], strong: Iterable[Score], hard: int = HARD, seed: int = 0
) -> tuple[list[Instance], Counter[str]]:
    """The instances to train on, in their order, and why others are not.

    ``trivial``: the weak system solves it in one of its runs. ``hopeless``: the strong one in none, besides ``hard`` of them,
    drawn by ``seed``. ``unknown``: all runs of a system failed, or have no verdict; that is not a wrong answer.
    """
    easy, possible = _best(weak), _best(strong)
    reasons = {
        row.instance_id: "unknown" if row.instance_id not in easy.keys() & possible.keys()
        else "trivial" if easy[row.instance_id] >= SOLVED
        else "hopeless" if possible[row.instance_id] < SOLVED
        else "kept"
        for row in instances
    }  # fmt: skip
    hopeless = sorted(name for name, reason in reasons.items() if reason == "hopeless")
    kept = {*random.Random(seed).sample(hopeless, min(hard, len(hopeless)))}
    reasons |= dict.fromkeys(kept, "kept")
    return [row for row in instances if reasons[row.instance_id] == "kept"], Counter(reasons.values())


def _best(scores: Iterable[Score]) -> dict[str, float]:
    """The best answer to each question."""
    best: dict[str, float] = {}
    for score in scores:
        grade = score.judge_grade if isinstance(score, JudgedScore) and score.judge_grade is not None else score.answer_score
        if score.error is None and grade is not None:
            best[score.instance_id] = max(grade, best.get(score.instance_id, 0.0))
    return best


def main(instances: Path, results: Path, weak: str, strong: str, out: Path) -> None:
    """Write the questions to train on, and print how many were left out and why."""
    cells, _ = judged(read_results([results]).cells, rubric_named("coreqa"))
    by_name = {row.cell.name: row.scores for row in cells}
    if missing := {weak, strong} - by_name.keys():
        raise DataError(f"{results} has no finished cell {', '.join(missing)}: there are {', '.join(by_name)}")
    kept, counts = curriculum(read_instances(instances), by_name[weak], by_name[strong])
    write_instances(out, kept)
    print(", ".join(f"{count} {reason}" for reason, count in counts.items()))


if __name__ == "__main__":
    questions, folder, below, above, target = sys.argv[1:]
    try:
        main(Path(questions), Path(folder), below, above, Path(target))
    except FusesearchError as error:
        sys.exit(f"error: {error}")
