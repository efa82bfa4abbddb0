"""Apply a patch as ``git apply`` does: part by part, checking every context line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from fusesearch.core.errors import DataError
from fusesearch.data.patches import FileChange, Hunk, split_lines

Reader = Callable[[str], str | None]

_REACH = 20_000  # lines that a hunk may be away from its expected place
_COMPARISONS = 100_000  # line comparisons in the search for the place of one hunk
_MOVES = 50  # searches per file; hunks after a moved one are expected to move along


@dataclass(frozen=True)
class Edit:
    """Old lines ``start + 1`` to ``start + len(removed)`` become ``added``; ``start`` counts the old lines before."""

    start: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(eq=False)
class Patched:
    """A file as a patch leaves it, with its lines ``before`` and ``after``, and the ``edits`` that lead from one to the other.

    ``old``, its name before, is empty for an added file or a copy; ``new`` is empty for a deleted one. Binary files and links
    have no lines.
    """

    old: str
    new: str
    before: list[str]
    after: list[str]
    edits: list[Edit] = field(default_factory=list)
    parts: int = 0


def apply_patch(changes: Sequence[FileChange], read: Reader) -> list[Patched]:
    """The files that a patch changes, in its order, without submodules; ``read`` gives their text before it, None for no file.

    As with git, a part applies to what earlier parts made of its file, but the source of a rename or copy is as it was before the
    patch. A file may be added where another part removes one: that is how git writes a link that becomes a file. Raises
    :class:`DataError` for a missing file, for one that exists already, and as :func:`apply_change` does.
    """
    changes = [change for change in changes if not change.submodule]
    leaving = {change.old for change in changes if change.kind in ("deleted", "renamed")}
    gone: set[str] = set()
    now: dict[str, Patched] = {}
    found: list[Patched] = []
    for change in changes:
        in_place = change.kind in ("modified", "deleted")
        if not in_place and (change.new in now or (change.new not in leaving and read(change.new) is not None)):
            raise DataError(f"the patch does not apply: it adds {change.new}, which exists already")
        file = now.pop(change.old, None) if in_place else None
        if file is None:
            text = "" if change.kind == "added" or change.opaque else read(change.old)
            if text is None or (in_place and change.old in gone):
                raise DataError(f"the patch does not apply: {change.old} does not exist before it")
            lines = split_lines(text)
            found.append(file := Patched(change.old, change.new, lines, lines))
        file.after, edits = ([], []) if change.opaque else apply_change(change, file.after)
        if change.kind == "deleted" and file.after:
            raise DataError(f"the patch does not apply: it deletes {change.old}, but not all its lines")
        if change.kind == "copied":
            file.old, file.before, edits = "", [], [Edit(0, (), tuple(file.after))]
        file.edits = _composed(file.before, file.edits, edits) if file.edits else edits
        file.new, file.parts = change.new, file.parts + 1
        now |= {change.new: file} if change.new else {}
        gone |= {change.old} if change.kind in ("deleted", "renamed") else set()
    # what a later part takes back is no change; of files without lines that is not known
    return [file for file in found if file.parts == 1 or file.after != file.before or not file.before]


def submodules_apart(changes: Iterable[FileChange], read: Reader) -> list[FileChange]:
    """``changes``, with ``submodule`` also for renames without lines, whose modes git does not write: ``.gitmodules`` tells."""
    found = []
    for change in changes:
        if change.kind == "renamed" and not change.hunks and not change.opaque and read(change.old) is None:
            known = re.findall(r"^\s*path\s*=\s*(.*?)\s*$", read(".gitmodules") or "", re.MULTILINE)
            change = replace(change, submodule=change.old in known)
        found.append(change)
    return found


def _composed(before: list[str], first: list[Edit], second: list[Edit]) -> list[Edit]:
    """The edits of ``before`` that come to the same as ``first``, and then ``second`` of the lines that it leaves."""
    lines: list[tuple[int, str]] = list(enumerate(before))  # with its number before; -1 for an added line
    for edits in (first, second):
        position, result = 0, []
        for edit in edits:
            result += lines[position : edit.start] + [(-1, line) for line in edit.added]
            position = edit.start + len(edit.removed)
        lines = result + lines[position:]
    found: list[Edit] = []
    start, added = 0, []
    for number, line in [*lines, (len(before), "")]:
        if number < 0:
            added.append(line)
            continue
        found += _trimmed(Edit(start, tuple(before[start:number]), tuple(added)))
        start, added = number + 1, []
    return found


def apply_change(change: FileChange, lines: list[str]) -> tuple[list[str], list[Edit]]:
    """Lines of the file after the patch (without line ends), and the edits in order.

    A hunk that does not fit its place moves to the nearest place where all its lines match, as with ``git apply``. Raises
    :class:`DataError` naming the first hunk that fits nowhere. Ignores carriage returns at line ends, because patches often
    lose them on the way.
    """
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


def _misfit(change: FileChange, hunk: Hunk, reason: str) -> DataError:
    number = change.hunks.index(hunk) + 1
    return DataError(f"the patch does not apply: hunk {number} ({hunk}) of {change.old or change.new}: {reason}")
