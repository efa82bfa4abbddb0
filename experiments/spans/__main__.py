"""``python -m experiments.spans``: functions that :func:`function_spans` finds in real repositories beside those of Ctags.

A function of Ctags is one with a body. It counts as *found* if a span contains its line and ends in its name, and as *nested*
(and not at all) if it lies in a span that Ctags confirms. A span is *confirmed* if Ctags has a function, method or property of
that name in its lines.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import typer

from experiments.evidence.page import texts_of
from experiments.spans.bodies import code_lines, has_body
from fusesearch.cli.app import OneLineCommand
from fusesearch.code.functions import function_spans
from fusesearch.code.languages import language_of
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.core.storage import write_text
from fusesearch.reporting.table import ABSENT

HERE = Path(__file__).parent
HEADINGS = [
    "language", "repositories", "thousand lines", "functions of Ctags", "found before (%)", "found (%)", "same last line (%)",
    "ours in Ctags before (%)", "ours in Ctags (%)", "seconds per million lines",
]  # fmt: skip
MAX_BYTES = 1_000_000
COLUMNS = ["language", "repository", "files", "lines", "ctags", "found", "ends", "same_end", "spans", "confirmed", "seconds"]

app = typer.Typer(pretty_exceptions_enable=False)


@dataclass
class Difference:
    """A function that one reader has and the other has not."""

    repository: str
    path: str
    line: int
    name: str
    missing: str


@app.command(cls=OneLineCommand)
def measure(
    clones: Annotated[Path, typer.Argument(help="Folder of clones: `owner__name.git` for each row of repositories.csv.")],
    out: Annotated[Path, typer.Option(help="Table, a row per language and repository.", metavar="FILE")] = HERE / "results.csv",
    only: Annotated[list[str] | None, typer.Option(help="A repository; may be repeated.", metavar="OWNER/NAME")] = None,
    differences: Annotated[Path | None, typer.Option(help="List what differs here, as JSON lines.", metavar="FILE")] = None,
) -> None:
    """Compare functions with those of Universal Ctags (`ctags`, 5.9 or later, with JSON), and write the table."""
    rows: list[dict[str, object]] = []
    listed: list[Difference] = []
    with (HERE / "repositories.csv").open() as file:
        pairs = [(row["repository"], row["commit"]) for row in csv.DictReader(file)]
    for repository, commit in pairs:
        if only and repository not in only:
            continue
        with TemporaryDirectory() as folder:
            export(clones / f"{repository.replace('/', '__')}.git", commit, Path(folder))
            for row in compared(Path(folder), repository, listed):
                typer.echo("  ".join(f"{row[name]}" for name in COLUMNS))
                rows.append(row)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (str(row["language"]), str(row["repository"]))))
    if differences:
        differences.write_text("".join(json.dumps(vars(one)) + "\n" for one in listed))
    if out == HERE / "results.csv" and not only:
        write_text(HERE / "RESULTS.md", page(read_rows(HERE / "before.csv"), read_rows(out)))


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table that :func:`measure` wrote."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def page(before: list[dict[str, str]], after: list[dict[str, str]]) -> str:
    """The page: by language, then by language and repository, with the figures of an earlier revision beside them."""
    earlier = {(row["language"], row["repository"]): row for row in before}
    texts = texts_of(HERE)
    parts = ["# Functions of real repositories beside those of Universal Ctags", *texts["What it is"]]
    languages = sorted({row["language"] for row in after})
    grouped = {language: [row for row in after if row["language"] == language] for language in languages}
    totals = [("**all**", after), *grouped.items()]
    parts.append(
        table(HEADINGS, [[name, str(len({row["repository"] for row in rows})), *_cells(rows, earlier)] for name, rows in totals])
    )
    parts += ["## By repository", table(["language", *HEADINGS[1:]], [
        [row["language"], row["repository"], *_cells([row], earlier)] for row in after
    ])]  # fmt: skip
    return "\n\n".join([*parts, "## What differs", *texts["What differs"]]) + "\n"


def _cells(rows: list[dict[str, str]], earlier: dict[tuple[str, str], dict[str, str]]) -> list[str]:
    old = [earlier[key] for row in rows if (key := (row["language"], row["repository"])) in earlier]
    total, before = ({name: sum(float(row[name]) for row in some) for name in COLUMNS[3:]} for some in (rows, old))
    return [
        f"{total['lines'] / 1000:,.0f}", f"{total['ctags']:,.0f}", _share(before["found"], before["ctags"]),
        _share(total["found"], total["ctags"]), _share(total["same_end"], total["ends"]),
        _share(before["confirmed"], before["spans"]), _share(total["confirmed"], total["spans"]),
        f"{total['seconds'] / total['lines'] * 1e6:.0f}",
    ]  # fmt: skip


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, ["---"] * len(header), *rows])


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else ABSENT


def export(clone: Path, commit: str, folder: Path) -> None:
    """The tree of a commit, by ``git archive``."""
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
