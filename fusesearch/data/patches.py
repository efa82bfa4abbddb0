"""Parse and apply patches as git writes them.

Reads git's extended headers in full: quoted names, names with spaces under any prefix, renames, copies, modes, and files
without text (binary, submodule, symbolic link). ``unidiff`` 1.0 misreads names with spaces under prefixes other than ``a/``
and ``b/``, hence this parser. Applying a patch checks every context line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from fusesearch.core.errors import DataError

Kind = Literal["modified", "added", "deleted", "renamed", "copied"]

_PREFIX_PAIRS = {"ab", "iw", "ci", "cw", "ow", "wi", "ic", "wc", "wo", "12"}
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_NULL = "/dev/null"
_REACH = 20_000  # lines that a hunk may be away from its expected place
_COMPARISONS = 100_000  # line comparisons in the search for the place of one hunk
_MOVES = 50  # searches per file; hunks after a moved one are expected to move along
_COMBINED = re.compile(r"diff --(?:cc|combined) |@@@+ -")
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_FACT = re.compile(
    r"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|index"
    r"|Binary files|GIT binary patch)(?: |$)(.*)"
)


@dataclass(frozen=True)
class Edit:
    """Old lines ``start + 1`` to ``start + len(removed)`` become ``added``; ``start`` counts the old lines before."""

    start: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True)
class Hunk:
    """Lines of one hunk, each with its mark (space, ``+`` or ``-``); starts and counts are those of its header."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: list[str] = field(default_factory=list)

    @property
    def position(self) -> int:
        """Old lines before the hunk. The header of a hunk without old lines names the line before it."""
        return self.old_start - (self.old_count > 0)

    @property
    def old(self) -> list[str]:
        """The lines it expects to find: context and removed lines."""
        return [line[1:] for line in self.lines if line[0] != "+"]

    def __str__(self) -> str:
        return f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"


@dataclass(frozen=True)
class FileChange:
    """What a patch does to one file, named ``old`` before and ``new`` after it.

    ``old`` of an added file and ``new`` of a deleted one are empty; ``old`` of a copy is its source, which the patch does
    not change. ``opaque`` files have no lines to follow: binary files, submodules, symbolic links.
    """

    kind: Kind
    old: str
    new: str
    opaque: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def parse_patch(patch: str) -> list[FileChange]:
    """The files a patch changes, in its order. Raises :class:`DataError` for text that is not a whole patch."""
    if "\0" in patch:
        raise DataError("the patch holds a NUL character: it is binary or damaged")
    if re.match(r"(diff |--- )[^\n]*\r\n", patch):
        patch = patch.replace("\r\n", "\n")
    drafts = _read(split_lines(patch))
    if not drafts:
        raise DataError("the patch changes no file")
    return [_change(draft) for draft in drafts]


def apply_change(change: FileChange, old: str) -> tuple[list[str], list[Edit]]:
    """Lines of the file after the patch (without line ends), and the edits in order.

    A hunk that does not fit its place moves to the nearest place where all its lines match, as with ``git apply``. Raises
    :class:`DataError` naming the first hunk that fits nowhere. Ignores carriage returns at line ends, because patches often
    lose them on the way.
    """
    lines = split_lines(old)
    result: list[str] = []
    edits: list[Edit] = []
    position = moved = searches = 0
    for hunk in change.hunks:
        start = hunk.position + moved
        if searches < _MOVES and not _fits(hunk, lines, start):
            searches += 1
            start = _place(hunk, lines, position, start)
        if not position <= start <= len(lines):
            raise _misfit(change, hunk, f"it starts at line {hunk.old_start} of {len(lines)}")
        moved = start - hunk.position
        for edit in _edits(change, hunk, lines, start):
            result += lines[position : edit.start] + list(edit.added)
            position = edit.start + len(edit.removed)
            edits += _trimmed(edit)
        end = start + hunk.old_count
        result += lines[position:end]
        position = end
    return result + lines[position:], edits


def _place(hunk: Hunk, lines: list[str], first: int, expected: int) -> int:
    """The place nearest to ``expected``, from ``first`` on, where the lines of a hunk match.

    If no place matches, returns ``expected``, so that the error describes that place. A hunk without context on both sides
    belongs at an edge of the file, so it is not moved.
    """
    old = hunk.old
    if not hunk.lines or hunk.lines[0][0] != " " or hunk.lines[-1][0] != " ":
        return expected
    end = min(len(lines) - len(old), expected + _REACH) + 1
    comparisons = 0
    for place in sorted(range(max(first, expected - _REACH), end), key=lambda place: abs(place - expected)):
        fitting = next((count for count, line in enumerate(old) if not _same(lines[place + count], line)), len(old))
        comparisons += fitting + 1
        if fitting == len(old):
            return place
        if comparisons > _COMPARISONS:
            break
    return expected


def _fits(hunk: Hunk, lines: list[str], place: int) -> bool:
    old = hunk.old
    return 0 <= place <= len(lines) - len(old) and all(map(_same, lines[place : place + len(old)], old))


def split_lines(text: str) -> list[str]:
    """Lines as git counts them: only line feeds end them, and the last one may lack it."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _edits(change: FileChange, hunk: Hunk, lines: list[str], start: int) -> Iterator[Edit]:
    """Maximal runs of removed and added lines of a hunk at ``start``. Checks its old side against ``lines``."""
    position = begin = start
    removed: list[str] = []
    added: list[str] = []
    for line in hunk.lines:
        mark, value = line[0], line[1:]
        if mark == "+":
            added.append(value)
            continue
        if position >= len(lines) or not _same(lines[position], value):
            found = repr(lines[position][:80]) if position < len(lines) else "beyond the end of the file"
            raise _misfit(change, hunk, f"line {position + 1} is {found}, the patch has {value[:80]!r}")
        position += 1
        if mark == "-":
            removed.append(lines[position - 1])
            continue
        if removed or added:
            yield Edit(begin, tuple(removed), tuple(added))
        removed, added, begin = [], [], position
    if removed or added:
        yield Edit(begin, tuple(removed), tuple(added))


def _trimmed(edit: Edit) -> list[Edit]:
    """Drop leading lines that did not change, such as a last line that only gained or lost its line end."""
    same = 0
    for before, after in zip(edit.removed, edit.added, strict=False):
        if before != after:
            break
        same += 1
    rest = Edit(edit.start + same, edit.removed[same:], edit.added[same:])
    return [rest] if rest.removed or rest.added else []


def _same(found: str, expected: str) -> bool:
    """Whether two lines are equal, ignoring a carriage return and bytes that were not UTF-8."""
    found, expected = found.removesuffix("\r"), expected.removesuffix("\r")
    if found == expected:
        return True
    if "\ufffd" not in found + expected:
        return False
    return re.sub(r"[^\x00-\x7f]+", "?", found) == re.sub(r"[^\x00-\x7f]+", "?", expected)


@dataclass
class _Draft:
    """A file of a patch as read so far: header lines by their first words, and hunks."""

    facts: dict[str, str] = field(default_factory=dict)
    hunks: list[Hunk] = field(default_factory=list)


def _read(lines: list[str]) -> list[_Draft]:
    """Group the lines of a patch by file; skips text around the diffs (mail headers, messages)."""
    drafts: list[_Draft] = []
    position = 0
    while position < len(lines):
        line, following = lines[position], lines[position + 1 : position + 2]
        position += 1
        if _COMBINED.match(line):
            raise DataError(
                f"the patch is the combined diff of a merge (line {position}): "
                "give the diff against one parent, `git diff MERGE^1 MERGE`"
            )
        if line.startswith("diff --git "):
            drafts.append(_Draft({"diff": line.removeprefix("diff --git ")}))
        elif line.startswith("--- ") and following and following[0].startswith("+++ "):
            if not drafts or drafts[-1].hunks or "---" in drafts[-1].facts:
                drafts.append(_Draft())
            drafts[-1].facts |= {"---": line[4:], "+++": following[0][4:]}
            position += 1
        elif line.startswith("@@ -"):
            position = _read_hunk(lines, position, drafts)
        elif drafts and not drafts[-1].hunks and (fact := _FACT.match(line)):
            drafts[-1].facts[fact[1]] = fact[2]
    return drafts


def _read_hunk(lines: list[str], position: int, drafts: list[_Draft]) -> int:
    """Read the hunk whose header stands before ``position`` into the last draft; returns the position after it."""
    header = _HUNK.match(lines[position - 1])
    if not header or not drafts:
        raise DataError(f"the patch cannot be read: {'bad hunk header' if drafts else 'hunk without a file'} in line {position}")
    old_start, old, new_start, new = (1 if number is None else int(number) for number in header.groups())
    hunk = Hunk(old_start, old, new_start, new)
    while old > 0 or new > 0:
        line = lines[position] if position < len(lines) else None
        mark = "!" if line is None else line[:1].replace("\r", "") or " "  # mailers strip the mark of empty lines
        old, new = old - (mark in " -"), new - (mark in " +")
        if line is None or mark not in " +-\\" or old < 0 or new < 0:
            raise DataError(f"the patch cannot be read: hunk {hunk} is not what its header says, in line {position + 1}")
        if mark != "\\":
            hunk.lines.append(line if line[:1] == mark else mark + line)
        position += 1
    drafts[-1].hunks.append(hunk)
    return position


def _change(draft: _Draft) -> FileChange:
    facts = draft.facts
    old, new = _names(facts)
    if "---" in facts and not draft.hunks:
        raise DataError(f"the patch has no hunk for {(old or new)[:200]!r}, whose lines it is to change")
    kind: Kind = "modified" if old == new else "renamed"
    if not old or not new:
        kind = "added" if new else "deleted"
    elif "copy to" in facts:
        kind = "copied"
    modes = {facts.get(key, "")[-6:] for key in ("old mode", "new mode", "new file mode", "deleted file mode", "index")}
    opaque = bool({"Binary files", "GIT binary patch"} & set(facts) or modes & {"120000", "160000"})
    _check_inside((old, new))
    return FileChange(kind, old, new, opaque, draft.hunks)


def _check_inside(names: Iterable[str]) -> None:
    for name in names:
        if name.startswith("/") or "\n" in name or any(part in ("", ".", "..", ".git") for part in name.split("/") if name):
            raise DataError(f"the patch names a file outside the repository: {name[:200]!r}")


def _names(facts: dict[str, str]) -> tuple[str, str]:
    """Names before and after, or empty. Later, more exact headers overrule the ``diff`` line."""
    if "---" in facts:
        old, new = _unprefixed(_unquoted(facts["---"]), _unquoted(facts["+++"]))
    else:
        old, new = _unprefixed(*_halves(facts["diff"]))
    for verb in ("rename", "copy"):
        old, new = (_unquoted(facts.get(f"{verb} {key}", "")) or name for key, name in (("from", old), ("to", new)))
    return "" if "new file mode" in facts else old, "" if "deleted file mode" in facts else new


def _halves(text: str) -> tuple[str, str]:
    """The two names of a ``diff --git`` line. If no other header repeats them, they differ only in their prefix."""
    quoted = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)', text)
    if quoted:
        return _unquoted(quoted[1]), _unquoted(quoted[2])
    middle = len(text) // 2
    return text[:middle], text[middle + 1 :]


def _unprefixed(old: str, new: str) -> tuple[str, str]:
    """Names without their ``a/`` and ``b/`` (or mnemonic) prefixes; ``/dev/null`` becomes empty."""
    sides = [name for name in (old, new) if name != _NULL]
    pair = "".join(name[0] for name in sides if name[1:2] == "/")
    prefixed = pair in _PREFIX_PAIRS if len(sides) == 2 else bool(re.fullmatch("[abiwco12]", pair))
    strip = 2 if prefixed else 0
    return ("" if old == _NULL else old[strip:]), ("" if new == _NULL else new[strip:])


def _unquoted(name: str) -> str:
    """Undo git's quoting of a path (``"a/caf\\303\\251.py"``); a tab starts a time stamp, which is dropped."""
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', name)
    if not quoted:
        return name.partition("\t")[0].rstrip("\r")
    raw = re.sub(rb"\\([0-7]{3}|.)", _unescaped, quoted[1].encode("utf-8", "surrogateescape"), flags=re.DOTALL)
    return raw.decode("utf-8", "replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _ESCAPES.get(code, code)


def _misfit(change: FileChange, hunk: Hunk, reason: str) -> DataError:
    number = change.hunks.index(hunk) + 1
    return DataError(f"the patch does not apply: hunk {number} ({hunk}) of {change.old or change.new}: {reason}")
