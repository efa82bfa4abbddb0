"""What an answer says of a place is in the place: read in its file for hundreds of answers to issues made of this library."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fusesearch.localizers.lexical.stopwords import SHORT_WORDS, STOPWORDS
from fusesearch.localizers.ranker import ranking_in
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.places import fields_for_people
from fusesearch.localizers.ranker.reasons import Reason, Text
from fusesearch.search.repository import Repository

SOURCES = Path(__file__).parents[4] / "fusesearch" / "localizers"
WORD = re.compile(r"`(.*?)`|“(.*?)”")
TRACE = 'Traceback (most recent call last):\n  File "/x/fusesearch/localizers/{path}", line {line}, in {name}\nValueError: no'


def issues(index: Index) -> Iterator[str]:
    """Titles and texts with names, words, literals and frames of the files, spelled in other ways, too."""
    draw = random.Random(0)
    files = [(path, facts.functions) for path, facts in index.facts(index.paths) if facts.functions]
    for path, spans in sorted(files) * 2:
        span = draw.choice(spans)
        name, lines = span.name.rpartition(".")[2], index.source(path).split("\n")[span.start - 1 : span.end]
        said = draw.choice(re.findall(r"\w+", "\n".join(lines)))
        quoted = draw.choice([*re.findall(r'"([^"{}\n]+)"', "\n".join(lines)), "with no error"])
        camel = "".join(part.capitalize() for part in name.split("_"))
        yield draw.choice([
            f"`{name}` is wrong for {said}", f"{camel} fails with {quoted}", f"{said}s in {Path(path).stem}: '{quoted}' shown",
            f"Crash\n\n{TRACE.format(path=path, line=span.start + 1, name=name)}", f"Wrong in {path}:{span.start}\n\n x.{name}()",
        ])  # fmt: skip


def untrue(reason: str, path: str, text: str, issue: str) -> bool:
    named = [first or second for first, second in WORD.findall(reason)]
    flat, title = " ".join(text.split()), re.sub(r"[\W_]+", "", issue.split("\n")[0]).lower()
    if match := re.fullmatch("in common with the issue: (.*)", reason):
        words = match[1].split(", ")
        return not all(re.search(re.escape(word), text) and word.lower() not in STOPWORDS | SHORT_WORDS for word in words)
    if reason.startswith("its name is "):
        return named[0] not in Path(path).with_suffix("").parts[-2:] or (
            "like" not in reason and named[0].replace("_", "").lower() not in title
        )
    if reason.startswith(("defines", "has", "`")):
        return not all(name in flat for name in named[:1])
    if reason.startswith(("named by its path", "line ")):
        return Path(path).name not in issue
    return "frame" in reason and "Traceback" not in issue


def test_every_reason_of_hundreds_of_answers_is_true_and_no_place_without_one_stands_above_one_with(tmp_path: Path):
    checked = 0
    with Index(Repository(SOURCES), tmp_path) as index:
        for issue in issues(index):
            answer = fields_for_people(ranking_in(issue, index), issue)
            places = answer.get("places", ())
            for place in [*places, *(one for file in places for one in file["functions"]), *answer["modify"]]:
                lines = index.source(place["path"]).split("\n")
                first, last = place.get("lines") or (1, len(lines))
                for reason in place.get("reasons", ()):
                    assert not untrue(reason, place["path"], "\n".join(lines[first - 1 : last]), issue), (issue, place)
                    checked += 1
            for rows in (places, *(place["functions"] for place in places)):
                told = [bool(row.get("reasons")) for row in rows]
                assert told == sorted(told, reverse=True), (issue, rows)
    assert checked > 500


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (Reason(1.0, "literal", "cannot save"), ["has the literal `Cannot save`"]),
        (Reason(1.0, "message", "is not open"), ["has a message with “is not: open”"]),
        (Reason(1.0, "literal", "cannot load"), []),
        (Reason(1.0, "defines", "close", "named in the issue"), []),
        (Reason(1.0, "defines", "std", "named in the issue"), []),
        (Reason(0.05, "defines", "save", "named in the issue"), []),
    ],
)
def test_a_reason_is_quoted_as_the_file_has_it_or_left_out(reason: Reason, said: list[str]):
    text = Text("a.py", "namespace std {} std::a def save(): raise Closed('Cannot save', 'this is not: open')\n")
    assert text.said([reason], {}) == said
    assert text.said([reason], {"closed": 1, "with": 1, "clos": 1}) == [*said, "in common with the issue: Closed"]
