"""Converts text that a model wrote to calls and answers, and back. Parses any text in linear time and never executes it.

Calls are Hermes blocks, as Qwen models write them: ``<tool_call>``, one JSON object, ``</tool_call>``; the other forms are read
in :mod:`fusesearch.agents.forms`. Answers are the two sections of FuseSearch appendix E; only *Locations to Modify* is scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from fusesearch.agents.values import DECODER, MAX_DEPTH, read_value
from fusesearch.code.naming import SUFFIXLESS, read_name, unwrapped
from fusesearch.code.spans import is_python
from fusesearch.core.schema import Answer, Location, ToolCall
from fusesearch.core.text import encodable

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MODIFY, RELATED = "Locations to Modify", "Related Context"
ROOT = "/repo"

MAX_CALLS = 64
MAX_CALL_CHARS = 20_000
MAX_NAME_CHARS = 64
MAX_ENTRIES = 200
MAX_LINE_CHARS = 1000
MAX_HEADING_CHARS = 60

EXAMPLE = f'{OPEN}\n{{"name": "grep", "arguments": {{"pattern": "def main"}}}}\n{CLOSE}'


# Calls


def parse_turn(text: str) -> tuple[str, list[ToolCall]]:
    """The text outside thinking and call blocks, and the calls in order, without ids.

    An unreadable call gets an ``error`` that says what is wrong and what would be right; other calls are not affected. At
    most ``MAX_CALLS`` calls are read.
    """
    text = visible(text)
    plain: list[str] = []
    calls: list[ToolCall] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        plain.append(text[position:start])
        if len(calls) >= MAX_CALLS:
            calls.append(_broken(f"more than {MAX_CALLS} calls in one message: the rest is not read"))
            return "".join(plain).strip(), calls
        found, position = _block(text, start + len(OPEN), MAX_CALLS - len(calls))
        calls += found
    plain.append(text[position:])
    return "".join(plain).strip(), calls


def visible(text: str) -> str:
    """``text`` without the thinking at its start, whose opening tag may have been part of the prompt."""
    thinking, closed, rest = text.partition("</think>")
    if text.lstrip().startswith("<think>") or (closed and OPEN not in thinking):
        return rest
    return text


def call_of(call_id: str, name: object, arguments: object) -> ToolCall:
    """A validated call. ``arguments`` may be an object, JSON text of one, or None; anything else sets ``error``."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME_CHARS:
        return ToolCall(id=call_id, name="", error=f'"name" must be the name of a tool. Right would be: {EXAMPLE}')
    name = encodable(name)
    try:
        if isinstance(arguments, str):
            arguments = _loads(arguments) if arguments.strip() else {}
        arguments = _clean({} if arguments is None else arguments)
    except (ValueError, RecursionError) as error:
        return ToolCall(id=call_id, name=name, error=f"arguments are not usable JSON ({_reason(error)})")
    if not isinstance(arguments, dict):
        return ToolCall(id=call_id, name=name, error='"arguments" must be a JSON object, like {"pattern": "def main"}')
    return ToolCall(id=call_id, name=name, arguments=arguments)


def format_calls(calls: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """Calls as the text a Hermes-style model writes; :func:`parse_turn` reads back the same names and arguments."""
    rows = (json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False) for name, arguments in calls)
    return "\n".join(f"{OPEN}\n{row}\n{CLOSE}" for row in rows)


def _block(text: str, start: int, most: int) -> tuple[list[ToolCall], int]:
    """At most ``most`` calls of the block whose content starts at ``start``, and the position after the block."""
    calls: list[ToolCall] = []
    position = _skip_space(text, start)
    while len(calls) < most and (not calls or text.startswith("{", position)):
        window = text[position : position + MAX_CALL_CHARS]
        try:
            value, length = DECODER.raw_decode(window)
        except (ValueError, RecursionError) as error:
            calls.append(_broken(_unreadable(text, position, error)))
            break
        calls.append(_call(value))
        position = _skip_space(text, position + length)
    return calls, _block_end(text, position)


def _block_end(text: str, position: int) -> int:
    """The position after the closing tag, or of the next opening tag if that comes first, or the end of the text."""
    close, opening = text.find(CLOSE, position), text.find(OPEN, position)
    if close >= 0 and (opening < 0 or close < opening):
        return close + len(CLOSE)
    return opening if opening >= 0 else len(text)


def _call(value: object) -> ToolCall:
    if not isinstance(value, dict):
        return _broken(f"a call must be a JSON object. Right would be: {EXAMPLE}")
    arguments = value.get("arguments", value.get("parameters"))
    return call_of("", value.get("name"), arguments)


def _broken(error: str) -> ToolCall:
    return ToolCall(id="", name="", error=error)


def _unreadable(text: str, position: int, error: Exception) -> str:
    if _block_end(text, position) - position > MAX_CALL_CHARS:
        return f"the call is longer than {MAX_CALL_CHARS} characters: shorten its arguments"
    return f"the call is not valid JSON ({_reason(error)}). Right would be: {EXAMPLE}"


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _loads(text: str) -> Any:
    if len(text) > MAX_CALL_CHARS:
        raise ValueError(f"longer than {MAX_CALL_CHARS} characters")
    value, end = read_value(text.strip())
    if text.strip()[end:].strip():
        raise ValueError(f"text after the object, at character {end}")
    return value


def _clean(value: Any, depth: int = 0) -> Any:
    """``value`` in a form that can be stored: limited depth, no lone surrogates, 64-bit integers."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {encodable(key): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("a number is out of range")
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return encodable(value) if isinstance(value, str) else value


_SPACE = re.compile(r"\s+")


# Answers


def parse_answer(text: str) -> Answer:
    """The two sections of the final answer, in rank order, without duplicates; empty if nothing can be read.

    Tolerates Markdown around entries. Without any heading, lines that start with a path under ``/repo`` count as
    *Locations to Modify*. A repeated heading replaces its section once an entry follows it.
    """
    sections: dict[str, list[Location]] = {}
    unheaded: list[Location] = []
    current: list[Location] = unheaded
    section: str | None = None
    for line in visible(text).split("\n"):
        line = line[:MAX_LINE_CHARS].strip()
        if heading := _heading(line):
            section, line = heading
            current = []
            sections.setdefault(section, current)
        if len(current) < MAX_ENTRIES and (location := _entry(line, strict=section is None)):
            current.append(location)
            if section is not None:
                sections[section] = current
    if not sections:
        return Answer(modify=_distinct(unheaded))
    return Answer(modify=_distinct(sections.get(MODIFY, [])), related=_distinct(sections.get(RELATED, [])))


def format_answer(answer: Answer) -> str:
    """The canonical text of an answer, which :func:`parse_answer` reads back. An empty second section is left out."""
    sections = [(MODIFY, answer.modify)] + ([(RELATED, answer.related)] if answer.related else [])
    return "\n\n".join("\n".join([f"## {title}", *map(format_location, locations)]) for title, locations in sections) + "\n"


def format_location(location: Location) -> str:
    """One entry: ``- /repo/path::Qualified.name (lines 3-9)``.

    In backticks if blanks or brackets would confuse the reader, in two if even then it would take the name for another form.
    """
    entity = f"{ROOT}/{location.entity}"
    lines = f" (lines {location.lines[0]}-{location.lines[1]})" if location.lines else ""
    forms = [f"- {entity}{lines}"] * (" " not in location.path) + [f"- `{entity}`{lines}", f"- `` {entity} ``{lines}"]
    return next((form for form in forms if _entry(form, strict=False) == location), forms[-2])


def parse_location(text: str) -> Location | None:
    """The location in an entry without its bullet, or None."""
    return _entry(f"- {text[:MAX_LINE_CHARS]}", strict=False)


def _heading(line: str) -> tuple[str, str] | None:
    """The section that ``line`` is the heading of, and the entry after its colon ("" without one).

    A heading is the title, with or without markup, a number, a parenthesis and a colon. A short line may have more words if
    it is marked up as a heading or ends with a colon; any other line that starts with the title is a sentence.
    """
    match = _TITLE.match(line)
    if not match:
        return None
    section = MODIFY if match[1] else RELATED
    rest = line[match.end() :].lstrip(_MARKS)
    if rest.startswith("("):
        rest = rest.partition(")")[2].lstrip(_MARKS)
    colon = rest.startswith((":", "- ", "– ", "— "))  # noqa: RUF001
    entry = _OPENING_MARKS.sub("", rest[1:], count=1) if colon else ""
    if entry and _entry(entry, strict=False):
        return section, entry
    short = len(line.strip(f"{_MARKS}:")) < MAX_HEADING_CHARS
    if not rest.strip(f"{_MARKS}:") or (short and (colon or line[0] == "#" or line[-1] in "#*_:")):
        return section, ""
    return None


def _entry(line: str, strict: bool) -> Location | None:
    """The location on a line, or None. ``strict`` accepts only lines that start with a path under ``/repo``."""
    bullet = BULLET.match(line)
    body = line[bullet.end() :] if bullet else line
    token, rest, fence = _token(body.lstrip("* "))
    rooted = token == ROOT or token.startswith(f"{ROOT}/")
    if not rooted and (strict or not (bullet or "::" in token)):
        return None
    path, separator, name = token.partition("::")
    suffix = None if fence == _EXACT else _SUFFIX.search(path)  # a.py:12 or a.py:12-30
    relative = _relative(path[: suffix.start()] if suffix else path, rooted)
    if relative is None:
        return None
    function = None
    if separator:
        name = name if fence else body.partition("::")[2]
        function, rest = _function(name, relative, fence, rest)
    lines = _LINES.search(rest) or suffix
    return Location(path=relative, function=function, lines=_span(lines) if lines else None)


def _token(body: str) -> tuple[str, str, str]:
    """The path with its name, up to the first blank or in the backticks that the line starts with; the rest; the backticks."""
    if body.startswith("`"):
        fence = _EXACT if body.startswith(_EXACT) else "`"
        token, _, rest = body[len(fence) :].partition(fence)
        return token.strip() if fence == _EXACT else token, rest, fence
    if blanks := _BLANKS.match(body):
        named = body.startswith("::", blanks.end())
        return blanks[0] + "::" * named, "" if named else body[blanks.end() :], ""
    token, _, rest = body.partition(" ")
    return token.replace("`", "").replace("**", "").rstrip(",;:"), rest, ""


def _function(text: str, path: str, fence: str, rest: str) -> tuple[str | None, str]:
    """The function named at the start of ``text``, and the text after it and its arguments, where lines may stand."""
    python = is_python(path)
    if fence and not python and (fence == _EXACT or _WORDS.fullmatch(text)):
        return text or None, rest
    found = read_name(text.lstrip("*`" if python else "*"), path)
    if found is None or (found[1] and found[1][0] not in (_AFTER_PYTHON if python else _AFTER)):
        given = None if python else _GIVEN.match(unwrapped(text))
        return (text if fence else given[0], rest) if given else (None, rest)
    if fence and not python and _SAID.match(found[1]):
        return text, rest
    return found[0], rest if fence else found[1]


def _relative(path: str, rooted: bool) -> str | None:
    """``path`` relative to the root, or None if it is not a path."""
    if rooted:
        path = path[len(ROOT) :]
    elif "://" in path or not ("/" in path or _EXTENSION.search(path) or SUFFIXLESS.fullmatch(path)):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if not parts or ".." in parts else encodable("/".join(parts))


def _span(match: re.Match[str]) -> tuple[int, int]:
    first = int(match[1])
    last = int(match[2] or first)
    return min(first, last), max(first, last)


def _distinct(locations: list[Location]) -> list[Location]:
    first: dict[str, Location] = {}
    for location in locations:
        first.setdefault(location.entity, location)
    return list(first.values())


_MARKS = "#*_. \t"
_TITLE = re.compile(r"[#*_:\-\s\d.)]*(?:(locations\s+to\s+modify)|related\s+contexts?)(?![^\W_])", re.IGNORECASE)
_OPENING_MARKS = re.compile(r"\s*(?:[*_]+(?=\s|$))?\s*")
BULLET = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_EXTENSION = re.compile(r"\w\.[A-Za-z]\w{0,7}$")
_WORDS = re.compile(r"[^\W\d][\w$. -]*(?<! )")
"""A name with blanks, such as Kotlin's in backticks."""
_EXACT = "``"
"""Encloses a path and a name that are meant as they stand."""
_AFTER_PYTHON = " .,;:*`(<"
_AFTER = f"{_AFTER_PYTHON}?['\""
"""What can follow the name of a function."""
_GIVEN = re.compile(r"(?:\w+|\([^\s()]*\)|\[[^\s\[\]]*\]|[^\s()\[\]:;,<>]+)\.[^\W\d][^\s()]*")
"""A name in no known form, which is kept as it is given."""
_SAID = re.compile(r"\s+[^\w\s(,;:–—-]")  # noqa: RUF001
_BLANKS = re.compile(
    rf"{ROOT}/(?=\S)(?!\S*(?:\.\w|::))(?!(?:\S*/)?(?:{SUFFIXLESS.pattern})[ :])[^\n:`*\"()]*?\.[A-Za-z]\w{{0,7}}"
    r"(?:(?=::)|(?<!\.py)(?=\s*$| \(lines? ))"
)
"""A path with blanks that a file's suffix ends, before any other suffix."""
_SUFFIX = re.compile(r":(\d{1,7})(?:-(\d{1,7}))?$")
_LINES = re.compile(r"\b[Ll]ines? (\d{1,7})(?: ?(?:-|–|to) ?(\d{1,7}))?", re.ASCII)  # noqa: RUF001
