"""Parse patches as git writes them.

Reads git's extended headers in full: quoted names, names with spaces under any prefix, renames, copies, modes, and files
without text (binary, submodule, symbolic link). ``unidiff`` 1.0 misreads names with spaces under prefixes other than ``a/``
and ``b/``, hence this parser. :mod:`fusesearch.data.applying` applies what it reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from fusesearch.core.errors import DataError
from fusesearch.search.git import LINK, SUBMODULE

Kind = Literal["modified", "added", "deleted", "renamed", "copied"]

_PREFIX_PAIRS = {"ab", "iw", "ci", "cw", "ow", "wi", "ic", "wc", "wo", "12", "ba"}  # ba: git diff -R
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_NULL = "/dev/null"
_COMBINED = re.compile(r"diff --(?:cc|combined) |@@@+ -")
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_FACT = re.compile(
    r"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|index"
    r"|Binary files|GIT binary patch)(?: |$)(.*)"
)


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
    not change. ``opaque`` files have no lines to follow: binary files, symbolic links. A ``submodule`` is a commit of another
    repository, and no file.
    """

    kind: Kind
    old: str
    new: str
    opaque: bool = False
    submodule: bool = False
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


def split_lines(text: str) -> list[str]:
    """Lines as git counts them: only line feeds end them, and the last one may lack it."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


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
    opaque = bool({"Binary files", "GIT binary patch"} & set(facts)) or LINK in modes
    bumps = [line[1:].startswith("Subproject commit ") for hunk in draft.hunks for line in hunk.lines]
    for name in (old, new):
        if name.startswith("/") or "\n" in name or any(part in ("", ".", "..", ".git") for part in name.split("/") if name):
            raise DataError(f"the patch names a file outside the repository: {name[:200]!r}")
    return FileChange(kind, old, new, opaque, SUBMODULE in modes or (bool(bumps) and all(bumps)), draft.hunks)


def _names(facts: dict[str, str]) -> tuple[str, str]:
    """Names before and after, or empty. Later, more exact headers overrule the ``diff`` line."""
    if "---" in facts:
        old, new = _unprefixed(_unquoted(facts["---"]), _unquoted(facts["+++"]))
        if "diff" not in facts and old and new:  # other programs than git rename no file: they compare it with its copy x.orig
            old = new = old if new.startswith(old) else new
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
