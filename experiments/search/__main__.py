"""NDCG@10 of ``localize --top 10`` on semble's questions: ``python -m experiments.search BENCHMARKS CHECKOUTS even``.

BENCHMARKS is the folder of that name in MinishLab/semble (MIT) with its questions, CHECKOUTS has the repositories by their names
there, at the revisions of ``repos.json``. ``even`` are the repositories of even rank by the SHA-256 of their names among all of
``NAMES``, on which the weights were chosen, ``odd`` the others. The result is JSON: scores by repository and kind.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from fusesearch.localizers.ranker import answer_of
from fusesearch.search.repository import Repository

TOP = 10


def half(names: Sequence[str], which: str) -> list[str]:
    """The names of even or odd rank, counted from 0, by their digests."""
    return sorted(names, key=lambda name: sha256(name.encode()).hexdigest())[which == "odd" :: 2]


def ndcg(found: Sequence[str], wanted: Sequence[str]) -> float:
    """NDCG at :data:`TOP` of files, binary and without order among those that are wanted, as semble counts it."""

    def gain(ranks: Sequence[int]) -> float:
        return sum(1 / math.log2(rank + 2) for rank in ranks)

    return gain([rank for rank, path in enumerate(found[:TOP]) if path in wanted]) / gain(range(min(TOP, len(wanted))))


def questions(benchmarks: Path, name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Text, kind and files of the questions about a repository; a file that is asked for by its lines counts as a whole."""
    for row in json.loads((benchmarks / "annotations" / f"{name}.json").read_text("utf-8")):
        files = [one if isinstance(one, str) else one["path"] for one in [*row["relevant"], *row.get("secondary", [])]]
        yield row["query"], row["category"], files


def measured(benchmarks: Path, checkout: Path, below: str) -> dict[str, Any]:
    """Scores of the questions about one repository, of which only the folder ``below`` is searched.

    Files that are not there do not count, nor do questions without any; ``searches`` were answered as a search.
    """
    repository = Repository(checkout / below)
    scores: dict[str, list[float]] = defaultdict(list)
    searches = left_out = 0
    for text, kind, files in questions(benchmarks, checkout.name):
        wanted = [path for path in files if (checkout / path).is_file()]
        if not wanted:
            left_out += 1
            continue
        answer = answer_of(text, repository, top=TOP)
        searches += answer.get("kind") == "search"
        found = [str(Path(below, place["path"])) for place in answer.get("places", ())]
        scores[kind].append(ndcg(found, wanted))
    return {"scores": scores, "searches": searches, "left_out": left_out}


def main(benchmarks: Path, checkouts: Path, which: str) -> dict[str, Any]:
    """Results of all repositories of a half that have questions and a checkout."""
    rows = {row["name"]: row for row in json.loads((benchmarks / "repos.json").read_text("utf-8"))}
    there = [
        name
        for name in half(list(rows), which)
        if (checkouts / name).is_dir() and (benchmarks / f"annotations/{name}.json").exists()
    ]
    return {name: measured(benchmarks, checkouts / name, rows[name].get("benchmark_root") or "") for name in there}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]), indent=1))
