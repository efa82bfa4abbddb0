"""``python -m experiments.evidence.weights``: rankers from local files, those that the package ships or a checkout's own.

Of what the stage ``split`` made of the repositories of a checkout::

    python -m experiments.evidence.weights --repos data/repos \\
        --instances data/splits/sft.parquet --instances data/splits/rl.parquet --to weights.json
    FUSESEARCH_RANKER=weights.json fusesearch localize ...

``without_verified.json`` learned from no instance of SWE-bench Verified and is the one to use there as a baseline:
``FUSESEARCH_RANKER=experiments/evidence/without_verified.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.text import flat_name
from fusesearch.data.repositories import git_dir_of
from fusesearch.data.sources import history
from fusesearch.data.sources.messages import said, tells_of_a_fault
from fusesearch.data.truth import truth_in_git
from fusesearch.evaluation.protocols import code_of
from fusesearch.search.git import Git

NEWEST = 4000
MOST_FILES = 3
"""A change of more files of code is rarely one fix."""


def fixes(repo: str, repos: Path, count: int) -> list[Instance]:
    """``count`` fixes of a clone below ``repos``, spread evenly over its newest :data:`NEWEST` commits, with their truth.

    The text is the message without trailers; the base is the commit before. A fix modifies one to three files of code and
    at least one function.
    """
    git_dir = Git(git_dir_of(repo, repos)).git_dir
    newest = history.log(git_dir, "--no-merges", f"--max-count={NEWEST}", "HEAD", "--")
    named = [commit for commit in newest if tells_of_a_fault(commit)]
    spread = sorted(range(len(named)), key=lambda place: (place * 0.6180339887498949) % 1.0)
    return list(islice(_instances(repo, git_dir, [named[place] for place in spread]), count))


def _instances(repo: str, git_dir: Path, commits: list[history.Commit]) -> Iterator[Instance]:
    for start in range(0, len(commits), 50):
        part = commits[start : start + 50]
        patches = history.patches(git_dir, [(commit.parents[0], commit.id) for commit in part])
        for commit in part:
            patch = patches.get((commit.parents[0], commit.id), ("", ""))[0]
            row = Instance(
                instance_id=f"{flat_name(repo)}-{commit.id[:12]}", repo=repo, base_commit=commit.parents[0],
                problem_statement=said(commit), patch=patch, provenance={"source": "git", "text": "commit message"},
            )  # fmt: skip
            try:
                truth = code_of(truth_in_git(git_dir, row.base_commit, patch))
            except DataError:
                continue
            if 1 <= len(truth.files) <= MOST_FILES and truth.functions:
                yield row.model_copy(update={"truth": truth})


PER_HISTORY = 20
"""Most commits of a history that are learned from."""

NOTHING = (
    "Something is wrong here",
    "Doesn't do what I expect\n\nPlease look into this, thank you",
    "Weird behavior after the upgrade to the new release",
    "Help needed\n\nI followed the guide and it stopped at some point. What should I do?",
    "Performance is bad",
    "Crash\n\nIt crashed yesterday and again today, no idea why.",
    "Feature request: make it easier to use",
    "It hangs sometimes",
)
"""Texts without content. A history has :data:`NOTHING_EACH` of them, in turn, for which no file is right."""
NOTHING_EACH = 4


def main(
    repos: Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")],
    instances: Annotated[
        list[Path] | None,
        typer.Option(help="Instances with truth, as `split` writes them; may be repeated.", metavar="FILE"),
    ] = None,
    issues: Annotated[list[Path] | None, typer.Option(help="Real issues with patches; may be repeated.", metavar="FILE")] = None,
    without: Annotated[list[Path] | None, typer.Option(help="Issues not to learn from, likewise.", metavar="FILE")] = None,
    histories: Annotated[
        list[str] | None,
        typer.Option(help="A clone whose commit messages are learned from; may be repeated.", metavar="OWNER/NAME"),
    ] = None,
    judged: Annotated[
        list[Path] | None,
        typer.Option(
            help="Issues that only set what a score means, such as those in other languages; may be repeated.", metavar="FILE"
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of what is kept between runs.", metavar="DIR")] = Path("artifacts/evidence"),
    to: Annotated[Path, typer.Option(help="The model file to write.", metavar="FILE")] = Path("weights.json"),
) -> None:
    """Train rankers and write them with what they learned from: repositories, commits, counts and the day.

    Commit messages are not issues: they are written after the fix. So trees learn from them, but what a score means comes from
    issues and from texts without content. The provenance says how many rows are of which kind.
    """
    import datetime
    import json

    from experiments.evidence.cases import read_cases
    from experiments.evidence.trainer import Settings, collect, described, train
    from fusesearch.core.storage import read_instances, write_text
    from fusesearch.data.swe_bench import read_rows
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot

    cases = read_cases({path.stem: path for path in [*(issues or []), *(judged or [])]}, repos, out)
    apart = {name for path in judged or [] for name in cases.sets[path.stem]}
    mined = [row for number, repo in enumerate(histories or []) for row in learned_from(repo, repos, number)]
    given = (row for path in instances or [] for row in read_instances(path) if not row.question)
    own = [row.model_copy(update={"truth": code_of(row.truth)}) for row in given if row.truth]
    barred = {row["instance_id"] for path in without or [] for row in read_rows(path)}
    real = sorted([*cases.rows.values(), *own], key=lambda row: (row.repo, len(row.instance_id), row.instance_id))
    rows = [row for row in [*real, *mined] if row.instance_id not in barred]  # neighbours share most files
    tables = collect(rows, partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos), out / "features")
    kept = set(tables["file"]["instance_id"])
    learned = [row for row in rows if row.instance_id in kept]
    trees = {row.instance_id for row in learned} - apart
    curves = {row.instance_id for row in learned if row.provenance.get("text") in (None, "nothing")}
    about = described([row for row in learned if row.instance_id in trees]) | {
        "sets": {name: len(kept.intersection(ids)) for name, ids in cases.sets.items()},
        "texts": dict(Counter(str(row.provenance.get("text", "issue")) for row in learned if row.instance_id in trees)),
        "calibration": described([row for row in learned if row.instance_id in curves]),
        "commits": sorted({f"{row.repo}@{row.base_commit[:12]}" for row in learned}),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    found = train(tables, Settings(), 0, about, trees, curves)
    write_text(to, json.dumps(found, separators=(",", ":")) + "\n")


def learned_from(repo: str, repos: Path, number: int) -> list[Instance]:
    """The fixes of a history, and at the tree before its second one the texts without content, from the ``number``th on."""
    rows = fixes(repo, repos, PER_HISTORY)
    places = range(number * NOTHING_EACH, (number + 1) * NOTHING_EACH) if rows[1:] else ()
    about = {"provenance": {"source": "git", "text": "nothing"}, "truth": Truth(files=[], functions=[])}
    return rows + [
        rows[1].model_copy(
            update={"instance_id": f"{rows[1].instance_id}-{place}", "problem_statement": NOTHING[place % len(NOTHING)]} | about
        )
        for place in places
    ]


if __name__ == "__main__":
    typer.run(main)
