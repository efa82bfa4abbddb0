"""``python -m experiments.lexicon mine|candidates|learn``: the lexicon that the ranker ships with, from clones and issues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusesearch.cli.app import command_group
from fusesearch.core.storage import write_jsonl, write_text

app = command_group("Weights of words for the ranker: from public histories and real issues to the file of the package.")
Repos = Annotated[Path, typer.Option(help="Folder of clones with full history, `owner__name.git`.", metavar="DIR")]
Lists = Annotated[Path, typer.Option(help="Folder of mined lists.", metavar="DIR")]


@app.command("mine")
def mine(
    repositories: Annotated[
        list[str], typer.Argument(help="Clones to mine; those that have lists are passed over.", metavar="OWNER/NAME...")
    ],
    repos: Repos,
    lists: Lists = Path("artifacts/lexicon/lists"),
) -> None:
    """Write lists of candidates for the messages of fixes: half a minute a repository."""
    from experiments.lexicon.mine import mine as mined
    from fusesearch.core.text import flat_name
    from fusesearch.data.repositories import git_dir_of
    from fusesearch.search.git import Git

    for repo in repositories:
        to = lists / f"{flat_name(repo)}.jsonl"
        if not to.exists():
            typer.echo(f"{repo}: {mined(repo, Git(git_dir_of(repo, repos)).git_dir, to)} lists")


@app.command("candidates")
def candidates(
    issues: Annotated[list[Path], typer.Argument(help="Real issues with patches.", metavar="FILE...")],
    repos: Repos,
    to: Annotated[Path, typer.Option(help="File of lists to write.", metavar="FILE")] = Path("artifacts/lexicon/issues.jsonl"),
) -> None:
    """Write the first files and functions of real issues, as the ranker compares them, and which are right."""
    from experiments.evidence.cases import read_cases
    from fusesearch.localizers.ranker.features import candidates_of
    from fusesearch.localizers.ranker.index import Index
    from fusesearch.localizers.ranker.lexicon import FILES, FUNCTIONS, candidate_texts, issue_text
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot

    store, rows = SnapshotStore(to.parent / "snapshots"), []
    for row in read_cases({path.stem: path for path in issues}, repos, to.parent).rows.values():
        with Index(instance_snapshot(store, repos, row), to.parent / "index") as index:
            found = candidates_of(row.problem_statement, index)
            files, functions = found.files[:FILES], found.functions[:FUNCTIONS]
            texts = dict(zip(("files", "functions"), candidate_texts(files, functions, index), strict=True))
        assert row.truth is not None  # noqa: S101
        right = {
            "right_files": [file.path in row.truth.files for file in files],
            "right_functions": [function.entity in row.truth.functions for function in functions],
        }
        rows.append({"id": row.instance_id, "repo": row.repo, "issue": issue_text(row.problem_statement)} | texts | right)
    write_jsonl(to, rows)


@app.command("learn")
def learn(
    lists: Lists = Path("artifacts/lexicon/lists"),
    issues: Annotated[Path, typer.Option(help="Lists of real issues.", metavar="FILE")] = Path("artifacts/lexicon/issues.jsonl"),
    without: Annotated[
        list[str] | None, typer.Option(help="A repository not to learn from; may be repeated.", metavar="OWNER/NAME")
    ] = None,
    held_out: Annotated[
        list[str] | None, typer.Option(help="A repository that only judges; may be repeated.", metavar="OWNER/NAME")
    ] = None,
    to: Annotated[Path, typer.Option(help="The lexicon to write.", metavar="FILE")] = Path("artifacts/lexicon/lexicon.txt"),
) -> None:
    """Learn the weights of words from the messages, then what a place counts from the issues, and write the lexicon."""
    import torch

    from experiments.lexicon.learn import learned

    torch.manual_seed(0)
    torch.set_num_threads(1)
    document, figures = learned(lists, issues, without or [], held_out or [])
    write_text(to, document)
    for name, share in figures.items():
        typer.echo(f"{name}: the first candidate of {100 * share:.1f}% of lists is right")


if __name__ == "__main__":
    app()
