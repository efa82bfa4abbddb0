"""NDCG@10 of ``localize --top 10`` on semble's questions: ``python -m experiments.search BENCHMARKS CHECKOUTS even``.

BENCHMARKS is the folder of that name in MinishLab/semble (MIT) with its questions; CHECKOUTS has the repositories of its
``repos.json`` by their names, at the revisions there. ``even`` are those of even rank by the SHA-256 of the name, on which the
weights were chosen, ``odd`` the others. Prints JSON: scores by repository and kind.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from fusesearch.localizers.ranker import answer_of
from fusesearch.search.repository import Repository

TOP = 10


def ndcg(found: Sequence[str], wanted: Sequence[str]) -> float:
    """NDCG at :data:`TOP` of files, binary and without order among those that are wanted, as semble counts it."""
    ranks = [rank for rank, path in enumerate(found[:TOP]) if path in wanted]
    gain, best = (sum(1 / math.log2(rank + 2) for rank in some) for some in (ranks, range(min(TOP, len(wanted)))))
    return gain / best


def measured(questions: Path, checkout: Path, below: str) -> dict[str, Any]:
    """Scores of the questions about one repository, of which only the folder ``below`` is searched.

    Files that are not there do not count, nor do questions without any. A file that is asked for by lines counts as a whole.
    ``searches`` is how many were answered as a search.
    """
    repository = Repository(checkout / below)
    scores: dict[str, list[float]] = defaultdict(list)
    searches = 0
    for row in json.loads(questions.read_text("utf-8")):
        files = [one if isinstance(one, str) else one["path"] for one in [*row["relevant"], *row.get("secondary", [])]]
        if wanted := [path for path in files if (checkout / path).is_file()]:
            answer = answer_of(row["query"], repository, top=TOP)
            searches += answer.get("kind") == "search"
            found = [str(Path(below, place["path"])) for place in answer.get("places", ())]
            scores[row["category"]].append(ndcg(found, wanted))
    return {"scores": scores, "searches": searches}


def main(benchmarks: Path, checkouts: Path, half: str) -> dict[str, Any]:
    """Results of all repositories of a half that have questions and a checkout."""
    below = {row["name"]: row.get("benchmark_root") or "" for row in json.loads((benchmarks / "repos.json").read_text("utf-8"))}
    names = sorted(below, key=lambda name: sha256(name.encode()).hexdigest())[half == "odd" :: 2]
    asked = {name: benchmarks / "annotations" / f"{name}.json" for name in names if (checkouts / name).is_dir()}
    return {name: measured(path, checkouts / name, below[name]) for name, path in asked.items() if path.exists()}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]), indent=1))
