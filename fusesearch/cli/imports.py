"""``fusesearch import-predictions``: convert predictions that other systems released into the format of ``score``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fusesearch.core.text import printable

if TYPE_CHECKING:
    from fusesearch.core.schema import Instance
    from fusesearch.evaluation.published.importing import Tally
    from fusesearch.evaluation.published.patches import PatchTally

_TEXT_WIDTH = 90
_LEVELS = {"file": "files", "function": "names"}
_PATCHES = "patches"


def import_predictions(
    files: Annotated[list[Path], typer.Argument(help="Files of one run; a folder for `orcaloca`.", metavar="FILE...")],
    format_: Annotated[
        str,
        typer.Option("--format", help="`agentless`, `cosil`, `locagent`, `orcaloca` or `patches`.", metavar="NAME"),
    ],
    instances: Annotated[
        Path, typer.Option(help="Instances in the SWE-bench schema: .jsonl, .json or .parquet.", metavar="FILE")
    ],
    repos: Annotated[Path, typer.Option(help="Folder of bare repositories `owner__name.git`.", metavar="DIR")],
    out: Annotated[Path, typer.Option(help="File to write the predictions to, one JSON object per line.", metavar="P.jsonl")],
    truth: Annotated[
        Path | None, typer.Option(help="Also write what the patches of the instances modify to this file.", metavar="T.jsonl")
    ] = None,
    class_as_init: Annotated[
        bool, typer.Option("--class-as-init", help="Count a class that defines `__init__` as that method, as LocAgent does.")
    ] = False,
    resolved: Annotated[
        Path | None,
        typer.Option(help="For patches: a report of SWE-bench's harness, with what they resolve.", metavar="REPORT.json"),
    ] = None,
    alternatives: Annotated[
        Path | None,
        typer.Option(help="With --resolved: write what its patches modify, as `alternatives` of a grid.", metavar="A.jsonl"),
    ] = None,
) -> None:
    """Convert predictions that other systems released, so that `score` can read them.

    Looks every name up in the snapshot of its instance: module paths, incomplete or qualified names, lines and
    nested functions become `path::Qualified.name`. Keeps names that do not exist, as wrong answers, and leaves out
    classes and variables, which are not functions. Prints how many names were found, and the others by reason.

    With `--format patches`, reads SWE-bench predictions (`predictions.jsonl`, `preds.json`): a patch names what it
    modifies at the base commit. Patches that are empty, too large, or do not apply there name nothing and are counted.

    ```
    fusesearch import-predictions --format cosil loc.jsonl --instances verified.jsonl --repos repos \\
        --out cosil.jsonl --truth gold.jsonl
    fusesearch score --predictions cosil.jsonl --truth gold.jsonl
    ```
    """
    from fusesearch.core.errors import ConfigError
    from fusesearch.core.storage import write_jsonl
    from fusesearch.data.repositories import git_dir_of
    from fusesearch.data.swe_bench import instances as instances_of
    from fusesearch.data.swe_bench import read_rows
    from fusesearch.evaluation.published.formats import format_named
    from fusesearch.evaluation.published.importing import Base, Tally, answers_in
    from fusesearch.evaluation.published.importing import import_predictions as imported
    from fusesearch.evaluation.published.snapshot import Snapshots

    if bool(resolved) != bool(alternatives) or (resolved and format_ != _PATCHES):
        raise ConfigError(f"--resolved and --alternatives go together, with --format {_PATCHES}")
    rows = {row.instance_id: row for row in instances_of(instances.name, read_rows(instances))}
    if format_ == _PATCHES:
        _import_patches(files, rows, repos, out, resolved, alternatives)
    else:
        read, tally = format_named(format_), Tally()
        bases = {name: Base(row.repo, row.base_commit) for name, row in rows.items()}
        with Snapshots(lambda repo: git_dir_of(repo, repos)) as snapshots:
            lines = imported(answers_in(read, files), bases, snapshots, tally, class_as_init=class_as_init)
            written = write_jsonl(out, lines)
        _print(tally, written, len(rows), out)
    if truth:
        write_jsonl(truth, _truths(rows.values(), repos))


def _import_patches(
    files: list[Path], rows: dict[str, Instance], repos: Path, out: Path, resolved: Path | None, alternatives: Path | None
) -> None:
    from fusesearch.core.storage import write_jsonl
    from fusesearch.data.repositories import Repositories
    from fusesearch.evaluation.published.patches import PatchTally, import_patches, read_predictions, read_resolved

    resolving = read_resolved(resolved) if resolved else set()
    tally = PatchTally()
    with Repositories(repos) as repositories:
        patches = (patch for path in files for patch in read_predictions(path))
        lines = list(import_patches(patches, rows, repositories, tally))
    write_jsonl(out, lines)
    if alternatives:
        tally.accepted = write_jsonl(alternatives, (line for line in lines if line.files and line.instance_id in resolving))
    _print_patches(tally, len(lines), len(rows), out)


def _truths(rows: Iterable[Instance], repos: Path) -> Iterator[dict[str, Any]]:
    from fusesearch.data.repositories import Repositories
    from fusesearch.data.truth import truth_from_patch

    with Repositories(repos) as repositories:
        for row in rows:
            found = truth_from_patch(row.patch, repositories.reader(row))
            yield {"instance_id": row.instance_id, "files": found.files, "functions": found.functions}


def _print(tally: Tally, written: int, instances: int, out: Path) -> None:
    parts = [f"{written} of {instances} instances answered"]
    parts += [f"{_LEVELS[level]}: {tally.found[level]} of {tally.named(level)} found" for level in _LEVELS]
    parts += [f"{tally.empty} without a file"] * bool(tally.empty)
    parts += [f"{tally.unknown} answers to unknown instances left out"] * bool(tally.unknown)
    typer.echo(f"{out}: {'; '.join(parts)}")
    rows = [(_LEVELS[level], str(reason), count) for (level, reason), count in tally.unmatched.most_common()]
    rows += [(_LEVELS[level], "repeated", count) for level, count in tally.repeated.items() if count]
    examples = {(_LEVELS[level], str(reason)): texts[0] for (level, reason), texts in tally.examples.items()}
    for level, reason, count in sorted(rows, key=lambda row: (list(_LEVELS.values()).index(row[0]), -row[2])):
        instance_id, text = examples.get((level, reason), ("", ""))
        typer.echo(f"  {level:<6}{count:>7}  {reason:<40}{printable(f'{instance_id[:60]} {text}')[:_TEXT_WIDTH]}".rstrip())


def _print_patches(tally: PatchTally, written: int, instances: int, out: Path) -> None:
    parts = [f"{written} of {instances} instances have a patch"]
    parts += [f"{tally.located} modify {tally.files} files and {tally.functions} functions"]
    parts += [f"{tally.accepted} are alternatives"] * (tally.accepted is not None)
    parts += [f"{tally.unknown} patches for unknown instances left out"] * bool(tally.unknown)
    typer.echo(f"{out}: {'; '.join(parts)}")
    for fault, count in tally.faults.most_common():
        instance_id, detail = tally.examples[fault][0]
        typer.echo(f"  {count:>7}  {fault:<46}{printable(f'{instance_id[:60]} {detail}')[:_TEXT_WIDTH]}".rstrip())
