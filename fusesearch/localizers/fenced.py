"""Files and locations in the fenced lines that Agentless and CoSIL ask models for.

After a line with a path, lines ``class: Name``, ``function: Name.name``, ``variable: name`` and ``line: 12`` refer to that file;
``path::Name`` on one line works too. The text is untrusted: it is read in one pass with limits on lines and characters, and
nothing it names is assumed to exist. :mod:`fusesearch.code.names` resolves the names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from fusesearch.agents.parsing import visible
from fusesearch.code.names import SPAN, Kind, Named, match_path
from fusesearch.code.naming import SUFFIXLESS, read_name, unwrapped, written_paths
from fusesearch.code.spans import is_python
from fusesearch.search.repository import VIRTUAL_ROOT

MAX_LINES = 400
MAX_LINE_CHARS = 500
MAX_TEXT_CHARS = 200_000

_FENCE = "```"
_PATH = re.compile(r"[^\s:*?\"<>|`;]{1,400}")
_PLAIN = re.compile(r"[^',()\[\]{}]*")
_BULLET = re.compile(r"(?:[-*+•>]|\d{1,3}[.):]|[Tt]op_?\d{1,2} ?:)\s+")
_MARKS = "` \t#*"
_LIST = re.compile(r"operator\s*(?:,|\(\)|\[\]|[^\w\s,()\[\]]+)|[<(\[]|[>)\]]|,")
_KIND = re.compile(r"(class|function|method|variable|line)s? ?: ?(.*)", re.IGNORECASE)


def fenced_lines(text: str) -> list[str]:
    """Lines inside all fences, or all lines if there is no fence, without bullets, backticks and bold marks."""
    return [bare for bare, _ in _lines(text)]


def read_paths(text: str, most: int, files: Collection[str] = ()) -> list[str]:
    """Distinct lines that are paths of ``files`` or look like paths, in order. Folders end in ``/``."""
    names = _names_of(files)
    paths = (_known(raw, files, names) or line.split()[0].rstrip(",;:") for line, raw in _lines(text))
    return list(islice(dict.fromkeys(path for path in paths if path in files or _is_path(path)), most))


def read_files(text: str, most: int, files: Sequence[str], known: Collection[str]) -> list[str]:
    """At most ``most`` distinct files of ``files`` (``known`` as a set), in the order in which the text names them."""
    names = read_paths(text, 4 * most, known)
    found = dict.fromkeys(path for name in names if (path := match_path(name, files, known)))
    return list(found)[:most]


def read_named(text: str, most: int, files: Collection[str] = ()) -> list[Named]:
    """Distinct locations in order. A line counts only after a line that names its file, which may be one of ``files``."""
    return list(islice(dict.fromkeys(_named(_lines(text), files)), most))


def _lines(text: str) -> list[tuple[str, str]]:
    """The lines that count, without marks around them, and as they are written after their bullets."""
    parts = visible(text)[:MAX_TEXT_CHARS].split(_FENCE)
    inside = parts[1::2]
    raw = (_without_bullet(line) for block in (inside or parts[:1]) for line in block.split("\n"))
    return list(islice(((bare, line) for line in raw if (bare := line.replace("**", "").strip(_MARKS))), MAX_LINES))


def _without_bullet(line: str) -> str:
    line = line[:MAX_LINE_CHARS].strip()
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _names_of(files: Collection[str]) -> frozenset[str]:
    return frozenset(path.rpartition("/")[2] for path in files)


def _known(line: str, files: Collection[str], names: Collection[str]) -> str:
    """The file of ``files`` that a line begins with, if a word cannot tell; ``names`` are their last parts."""
    for path in written_paths(line) if files else ():
        path = path.strip("`*").removeprefix(f"{VIRTUAL_ROOT}/").removeprefix("./")
        if path.rpartition("/")[2] in names and path in files:
            return path
    return ""


def _is_path(text: str) -> bool:
    """Whether a word looks like a path. Brackets count inside a path with folders: ``app/[slug]/page.tsx``."""
    if not _PATH.fullmatch(text):
        return False
    if _PLAIN.fullmatch(text):
        return "/" in text or "." in text.strip(".") or SUFFIXLESS.fullmatch(text) is not None
    wrapped = text[0] in "([{'" and text[-1] in ")]}'"
    return "/" in text and not wrapped and all(text.count(left) == text.count(right) for left, right in ("()", "[]", "{}"))


def _named(lines: Iterable[tuple[str, str]], files: Collection[str]) -> Iterator[Named]:
    path, names = "", _names_of(files)
    for line, raw in lines:
        kind = _KIND.fullmatch(line)
        if kind and path:
            yield from _of_kind(path, kind[1].lower(), kind[2], raw)
            continue
        known = "" if kind else _known(raw, files, names)
        head, mark, name = (
            (known, "::", raw.partition(f"{known}::")[2]) if f"{known}::" in raw and known else line.partition("::")
        )
        head = head.strip()
        if mark and (known or _is_path(head)) and (found := _read(name, head)):
            yield Named(head, "any", found, "" if is_python(head) else name.strip())
        elif not kind:
            word = line.removeprefix("### ").removeprefix("File:").strip().rstrip(",;:")
            path = known or (word if _is_path(word) else path)


def _of_kind(path: str, kind: str, rest: str, raw: str) -> Iterator[Named]:
    python = is_python(path)
    written = rest if python or kind == "line" else unwrapped(unwrapped(raw).partition(":")[2].removeprefix("**"))
    for item, following in [(item, "") for item in rest.split(",")[:20]] if python or kind == "line" else _items(written)[:20]:
        if kind == "line":
            if match := SPAN.match(item.strip()):
                yield Named(path, "line", match[0].replace(" ", ""))
        elif found := _read(item, path):
            known: Kind = "class" if kind == "class" else "variable" if kind == "variable" else "function"
            yield Named(path, known, found, following)


def _items(text: str) -> list[tuple[str, str]]:
    """The parts between commas, but not between those inside types, arguments, keys and operators, with the text from each on."""
    depth, ends = 0, [-1]
    for match in _LIST.finditer(text):
        depth += (match[0] in "<([") - (match[0] in ">)]")
        ends += [match.start()] * (match[0] == "," and depth <= 0)
    return [(text[start + 1 : end], text[start + 1 :].strip()) for start, end in zip(ends, [*ends[1:], len(text)], strict=True)]


def _read(text: str, path: str) -> str:
    """The name at the start of a text; outside Python any text can be a name."""
    text = text.strip() if is_python(path) else unwrapped(text)
    found = read_name(text, path)
    return found[0] if found else "" if is_python(path) else text
