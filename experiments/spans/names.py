"""``python -m experiments.spans.names``: names of all functions of real repositories, through every writer and reader of names.

Each name has to come back from the text that a writer makes of it, through each reader that can look into the file, as a function
with that name and its lines.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from experiments.spans.__main__ import MAX_BYTES, export
from fusesearch.agents.parsing import format_answer, parse_answer
from fusesearch.cli.app import OneLineCommand
from fusesearch.code.entities import Entities
from fusesearch.code.functions import is_python
from fusesearch.code.languages import language_of
from fusesearch.code.names import Claim, Namer, functions_named, locate
from fusesearch.code.outline import outline
from fusesearch.core.config import Tools
from fusesearch.core.errors import ToolError
from fusesearch.core.schema import Answer, Location
from fusesearch.evaluation.published.claims import claims_of_file, entity_claim
from fusesearch.evaluation.published.formats import agentless_line
from fusesearch.localizers.fenced import read_named
from fusesearch.localizers.locagent.answers import read_answer
from fusesearch.localizers.orcaloca import _location
from fusesearch.localizers.orcaloca.replies import read_conclusion
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.localizers.reposearcher.tools import SearchTools
from fusesearch.search.repository import Repository

Found = list[str | None]

app = typer.Typer(pretty_exceptions_enable=False)


class File:
    """A file of a snapshot, as each reader wants it."""

    def __init__(self, path: str, text: str, namer: Namer, tools: SearchTools) -> None:
        self.path, self.outline, self._entities = path, outline(path, text), Entities(path, text)
        self.namer, self.tools = namer, tools

    def __contains__(self, path: str) -> bool:
        return path == self.path

    def ending(self, tail: str) -> list[str]:
        """The file, if its path ends so."""
        return [self.path] if f"/{self.path}".endswith(f"/{tail}") else []

    def entities(self, path: str) -> Entities:
        """The file's functions."""
        return self._entities


def _answer(file: File, name: str) -> Found:
    answer = Answer(modify=[Location(path=file.path, function=name, lines=(3, 9))])
    back = parse_answer(format_answer(answer))
    return [one.function for one in back.modify] if back == answer else []


def _fenced(text: str) -> Callable[[File, str], Found]:
    def read(file: File, name: str) -> Found:
        rows = read_named(f"```\n{text.format(file.path, name)}\n```", 9, {file.path})
        return [found.function for row in rows if (found := locate(row, file.outline))]

    return read


def _locagent(text: str) -> Callable[[File, str], Found]:
    return lambda file, name: [
        one.function for one in read_answer(f"```\n{text.format(file.path, name)}\n```", file.namer).modify
    ]


def _orcaloca(file: File, name: str) -> Found:
    reply = json.dumps({"bug_locations": [{"file_path": file.path, "method_name": name}]})
    return [found.function for one in read_conclusion(reply) if (found := _location(one, None, file.namer))]  # type: ignore[arg-type]


def _published(file: File, name: str) -> Found:
    blocks = agentless_line("a", [file.path], [f"{file.path}::{name}"])["found_edit_locs"]
    claims: list[Claim] = [*claims_of_file(file.path, blocks[file.path]), entity_claim(f"{file.path}:{name}")]  # type: ignore[index]
    found = [functions_named(claim, file).functions for claim in claims]
    return list(found[0]) if len(set(found)) == 1 else []


def _reposearcher(file: File, name: str) -> Found:
    holder, _, last = name.rpartition(".")
    where = {"file": f"/repo/{file.path}"}
    tool, named = ("SearchClassMethod", {"class": holder, "method": last}) if holder else ("SearchFunction", {"function": name})
    try:
        entities = file.tools.run(tool, where | named).entities
    except ToolError:
        return []
    shown = {int(entity.rpartition(":")[2]) for entity in entities}
    return [name] if any(span.start in shown for span in file.outline.functions if span.name == name) else []


def _ranker(file: File, name: str) -> Found:
    """Only names with marks: of others the ranker leaves out words that are too common."""
    evidence = draw_evidence(f"It fails\n\n`{name}` fails.")
    last = name.rpartition(".")[2]
    return [name] if re.fullmatch(r"[\w$]+", last) or {last, name} & {*evidence.names, *evidence.marked} else []


READERS: dict[str, Callable[[File, str], Found]] = {
    "answer": _answer,
    "fenced": _fenced("{0}\nfunction: {1}"),
    "fenced, one line": _fenced("{0}::{1}"),
    "locagent": _locagent("{0}\nfunction: {1}"),
    "locagent, one line": _locagent("{0}::{1}"),
    "orcaloca": _orcaloca,
    "published": _published,
    "reposearcher": _reposearcher,
    "ranker": _ranker,
}


@app.command(cls=OneLineCommand)
def check(
    clones: Annotated[Path, typer.Argument(help="Folder of clones: `NAME.git`, or `NAME/repo`; their HEAD is read.")],
    only: Annotated[list[str] | None, typer.Option(help="A clone; may be repeated.", metavar="NAME")] = None,
    listed: Annotated[Path | None, typer.Option(help="List what fails here, as JSON lines.", metavar="FILE")] = None,
) -> None:
    """Write and read the names of all functions of all clones, and count what does not come back."""
    names: Counter[str] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    rows: list[dict[str, object]] = []
    for clone in sorted(clones.iterdir()):
        if not clone.is_dir() or clone.name.startswith(".") or (only and clone.name not in only):
            continue
        with TemporaryDirectory() as folder:
            export(clone / "repo" if (clone / "repo").is_dir() else clone, "HEAD", Path(folder))
            for language, name, lost in checked(Path(folder)):
                names[language] += 1
                failed.update((language, reader) for reader, _ in lost)
                rows += [{"clone": clone.name, "name": name, "reader": reader, "found": found} for reader, found in lost]
        typer.echo(f"{clone.name}: {names.total()} names so far, {len(rows)} failures")
    for language, count in sorted(names.items()):
        faults = ", ".join(f"{reader} {failed[language, reader]}" for reader in READERS if failed[language, reader])
        typer.echo(f"{language}: {count} names, {faults or 'all come back'}")
    if listed:
        listed.write_text("".join(json.dumps(row) + "\n" for row in rows))


def checked(root: Path) -> Iterator[tuple[str, str, list[tuple[str, Found]]]]:
    """Language and entity of each name of a tree, with the readers that lose it and what they found."""
    repository = Repository(root)
    tools = SearchTools(repository, Tools(output_chars=1_000_000))
    for path in repository.files():
        text = repository.read_text(path) if (root / path).stat().st_size <= MAX_BYTES else ""
        language = "python" if is_python(path) else language_of(path, text)
        if not language or not text:
            continue
        file = File(path, text, Namer(repository), tools)
        for name in dict.fromkeys(span.name for span in file.outline.functions):
            found = [(reader, read(file, name)) for reader, read in READERS.items()]
            yield language, f"{path}::{name}", [(reader, back) for reader, back in found if back != [name]]


if __name__ == "__main__":
    app()
