"""``python -m experiments.spans``: functions that :func:`function_spans` finds in real repositories beside those of Ctags.

A function of Ctags is one with a body. It counts as *found* if a span contains its line and ends in its name, and as *nested*
(and not at all) if it lies in a span that Ctags confirms. A span is *confirmed* if Ctags has a function, method or property of
that name in its lines.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from experiments.spans.bodies import code_lines, has_body
from experiments.spans.ctags import Tag, same, tags_of
from experiments.spans.page import COLUMNS, HERE, read_rows, write_page, write_rows
from fusesearch.cli.app import OneLineCommand
from fusesearch.code.functions import function_spans
from fusesearch.code.languages import language_of
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.core.errors import DataError

MAX_BYTES = 1_000_000
app = typer.Typer(pretty_exceptions_enable=False)


@dataclass
class Difference:
    """A function that one reader has and the other has not."""

    repository: str
    path: str
    line: int
    name: str
    missing: str


@app.callback()
def spans() -> None:
    """Functions of real repositories beside those of another reader."""


@app.command("functions", cls=OneLineCommand)
def measure(
    clones: Annotated[Path, typer.Argument(help="Folder of clones: `owner__name.git` for each row of repositories.csv.")],
    out: Annotated[Path, typer.Option(help="Table, a row per language and repository.", metavar="FILE")] = HERE / "results.csv",
    only: Annotated[list[str] | None, typer.Option(help="A repository; may be repeated.", metavar="OWNER/NAME")] = None,
    differences: Annotated[Path | None, typer.Option(help="List what differs here, as JSON lines.", metavar="FILE")] = None,
) -> None:
    """Compare functions with those of Universal Ctags (`ctags`, 5.9 or later, with JSON), and write the table."""
    rows: list[dict[str, object]] = []
    listed: list[Difference] = []
    for repository, commit in ((row["repository"], row["commit"]) for row in read_rows(HERE / "repositories.csv")):
        if only and repository not in only:
            continue
        with TemporaryDirectory() as folder:
            export(clones / f"{repository.replace('/', '__')}.git", commit, Path(folder))
            for row in compared(Path(folder), repository, listed):
                typer.echo("  ".join(f"{row[name]}" for name in COLUMNS))
                rows.append(row)
    write_rows(out, COLUMNS, sorted(rows, key=lambda row: (str(row["language"]), str(row["repository"]))))
    if differences:
        differences.write_text("".join(json.dumps(vars(one)) + "\n" for one in listed))
    if out == HERE / "results.csv" and not only:
        write_page()


def export(clone: Path, commit: str, folder: Path) -> None:
    """The tree of a commit, by ``git archive``. Raises :class:`DataError` without the clone."""
    if not clone.is_dir():
        raise DataError(f"{clone} is missing: clone that repository, or name those at hand with --only")
    archive = subprocess.Popen(["git", "-C", str(clone), "archive", commit], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, check=True)
    if archive.wait():
        raise typer.BadParameter(f"{clone} has no commit {commit}")


def compared(root: Path, repository: str, listed: list[Difference]) -> Iterator[dict[str, object]]:
    """A row per language of the tree with at least 20 functions."""
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
            continue
        if is_python(name) or language_of(name):
            text = path.read_bytes().decode("utf-8", "replace")
            language = "python" if is_python(name) else str(language_of(name, text))
            texts["typescript" if language == "tsx" else language][name] = text
    for language, files in texts.items():
        tags = tags_of(root, language, list(files))
        counts: Counter[str] = Counter()
        started = time.perf_counter()
        spans = {path: function_spans(text, path) for path, text in files.items()}
        seconds = time.perf_counter() - started
        for name, text in files.items():
            listed += [Difference(repository, name, *rest) for rest in differing(tags[name], spans[name], text, language, counts)]
        if counts["ctags"] >= 20:
            lines = sum(text.count("\n") for text in files.values())
            yield {
                "language": language, "repository": repository, "files": len(files), "lines": lines,
                "seconds": round(seconds, 2), **{name: counts[name] for name in COLUMNS[4:10]},
            }  # fmt: skip


def differing(
    tags: list[Tag], spans: list[FunctionSpan], text: str, language: str, counts: Counter[str]
) -> Iterator[tuple[int, str, str]]:
    """Line, name and reader of what only one has; counts both."""
    lines = code_lines(text, language)
    tags = [tag for tag in tags if not tag.function or has_body(lines, tag.line, tag.name, language)]
    confirmed = {span for span in spans if any(span.start <= tag.line <= span.end and same(tag.name, span) for tag in tags)}
    for tag in tags:
        around = [span for span in spans if span.start <= tag.line <= span.end]
        own = [span for span in around if same(tag.name, span)]
        if not tag.function or (not own and any(span in confirmed for span in around)):
            continue
        counts["ctags"] += 1
        counts["found"] += bool(own)
        if own and tag.end:
            counts["ends"] += 1
            counts["same_end"] += any(span.end == tag.end for span in own)
            if not any(span.end == tag.end for span in own):
                yield tag.line, f"{tag.name} ends {tag.end}, ours {own[0].end}", "end"
        if not own:
            yield tag.line, tag.name, "ours"
    counts["spans"] += len(spans)
    counts["confirmed"] += len(confirmed & set(spans))
    yield from ((span.start, span.name, "ctags") for span in spans if span not in confirmed)


if __name__ == "__main__":
    app()
