"""``python -m experiments.evidence.weights``: the rankers that the package ships, from real fixes in local files.

``without_verified.json`` learned from no instance of SWE-bench Verified and is the one to use there as a baseline:
``FUSESEARCH_RANKER=experiments/evidence/without_verified.json``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

PER_HISTORY = 50
"""Most commits of a history that are learned from."""


def main(
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    issues: Annotated[list[Path] | None, typer.Option(help="Real issues with patches; may be repeated.", metavar="FILE")] = None,
    without: Annotated[list[Path] | None, typer.Option(help="Issues not to learn from, likewise.", metavar="FILE")] = None,
    histories: Annotated[
        list[str] | None,
        typer.Option(help="A clone whose commit messages are learned from; may be repeated.", metavar="OWNER/NAME"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of what is kept between runs.", metavar="DIR")] = Path("artifacts/evidence"),
    to: Annotated[Path, typer.Option(help="The model file to write.", metavar="FILE")] = Path("weights.json"),
) -> None:
    """Train rankers and write them with what they learned from: repositories, commits, counts and the day."""
    import datetime
    import json

    from experiments.evidence.cases import in_order, read_cases
    from experiments.evidence.commits import fixes
    from fusesearch.core.config import Rank
    from fusesearch.core.storage import write_text
    from fusesearch.data.swe_bench import read_rows
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.ranking import collect, described, train

    cases = read_cases({path.stem: path for path in issues or []}, repos, out)
    mined = [row for repo in histories or [] for row in fixes(repo, repos, PER_HISTORY)]
    barred = {row["instance_id"] for path in without or [] for row in read_rows(path)}
    rows = [row for row in [*in_order(cases.rows.values()), *mined] if row.instance_id not in barred]
    tables = collect(rows, partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos), out / "features")
    kept = set(tables["file"]["instance_id"])
    learned = [row for row in rows if row.instance_id in kept]
    about = described(learned) | {
        "sets": {name: len(kept.intersection(ids)) for name, ids in cases.sets.items()},
        "commits": sorted({f"{row.repo}@{row.base_commit[:12]}" for row in learned}),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    write_text(to, json.dumps(train(tables, Rank(), 0, about).document, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    typer.run(main)
