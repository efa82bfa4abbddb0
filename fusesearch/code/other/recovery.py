"""What errors hide in a source that its grammar cannot parse: one mechanism for all languages.

A grammar that meets something it does not know (syntax newer than itself, a macro, a mistake) may lose everything after it. So a
source with errors is cut into pieces, at the ends of statements and blocks, and the pieces are parsed apart, in ever smaller
groups as long as there are errors. A piece that cannot be parsed is tried with its block emptied: if that is a function, the
error is inside of it and hides no other. If it is none, such as a class, the pieces of its block are parsed under its head. A
head that is in the way is tried as a class of its name alone, and without the words that are errors. So what a grammar cannot
read takes away at most the function that it stands in; what stands in none is ``unread``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fusesearch.code.spans import FunctionSpan

EFFORT = 40
"""Most that is parsed, in lengths of the source (real ones take up to 14); what is left then is read as it stands."""
CALL = 500
"""What each parse counts besides its length."""
DEEPEST = 40
"""Most blocks around a piece."""
PARTS = 4
"""Parts into which pieces with errors are divided. While there are more pieces than that, the best reading alone is tried."""
MENDED = 6
"""Most times that words are taken out of a head."""

_MARK = re.compile(rb"[(\[{]|[)\]]|\}(?:\s*;|[ \t]*,[ \t]*(?=\n))?|;|\n[ \t\r]*(?=\n)")
_GOES_ON = re.compile(
    rb"\s*(?:[.,)\]{=:?&|+*/<>-]|(?:@\w+(?:\([^()]*\))?\s+)*(?:[gs]et)\b(?!\s*\w)|(?:else|catch|finally|while|where)\b)"
    rb"|[ \t]*[A-Za-z_]\w*[ \t]*[;,=\[]"
)
"""What goes on with a statement after a block or a blank line."""
_CLASS = re.compile(
    rb"(?<![\w(<,])((?:class|interface|object|struct|enum|trait|namespace|module|extension|protocol|actor|union|record)\s+[A-Za-z_]\w*)"
    rb"\s*(?:\Z|[:@,]|(?:extends|implements|permits|where|with|final|internal|private|protected|public|actual|constructor)\b)"
)
"""The word and name of a class or the like, before what may follow them in a head."""
_BRACKETS = re.compile(rb"\([^(){}]*\)|<[^<>(){};]*>")
_COMMENT = rb"//[^\n]*|/\*.*?(?:\*/|\Z)"
_STRING = (
    rb"\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|R\"([^()\\\s]{0,16})\(.*?\)\1\"|\br(#+)\".*?\"\2|@\"(?:[^\"]|\"\")*\"|`(?:[^`\\]|\\.)*`"
    rb"|\"(?:\$\{(?:[^{}\"\n]|\"[^\"\n]*\"|\{[^{}\n]*\})*\}|[^\"\\\n]|\\.)*\""
)
_CHARACTER, _QUOTED = rb"'(?:\\[^'\n]*|\\'|[^'\\\n]{1,4})'", rb"'(?:[^'\\\n]|\\.)*'"


class Text(NamedTuple):
    """A reading of the source, all of one length, and what parses it."""

    data: bytes
    parse: Callable[[bytes], Any]


class _Head(NamedTuple):
    """What stands around the pieces of a block: the text before and after it."""

    before: bytes
    after: bytes


def blank(text: bytes) -> bytes:
    """Blanks in the place of a text, with its lines."""
    return re.sub(rb"[^\n]", b" ", text)


@lru_cache(maxsize=8)
def masked(data: bytes, *, quotes: bool = False, hashes: bool = False, literals: bool = True) -> bytes:
    """A source with blanks in the place of its comments and, if asked for, its ``literals``: in ``quotes`` stands a text, not a
    character, and after ``hashes`` a comment."""
    pattern = b"|".join([_COMMENT, _STRING, _QUOTED if quotes else _CHARACTER, *([rb"(?<![\w$])\#[^\n]*"] if hashes else [])])
    blanks: Callable[[re.Match[bytes]], bytes] = lambda match: blank(match[0]) if literals or match[0][:1] in b"/#" else match[0]  # noqa: E731
    return re.sub(pattern, blanks, data, flags=re.DOTALL)


def faults(tree: Any) -> Iterator[Any]:
    """Outermost error nodes and missing nodes."""
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


class Recovery:
    """The functions of a source, in no order, and the lines of what cannot be read outside them.

    ``texts`` are readings of ``data``, the best first; ``code`` is one of them :func:`masked`; ``walk`` finds the functions
    of a tree; ``start`` is what every file begins with.
    """

    def __init__(
        self, data: bytes, texts: Sequence[Text], code: bytes, walk: Callable[[Any], list[FunctionSpan]], start: bytes = b""
    ) -> None:
        self._data, self._texts, self._code, self._walk = data, texts, code, walk
        self._left = EFFORT * len(data) + 10_000
        self.spans: list[FunctionSpan] = []
        self.unread: list[tuple[int, int]] = []
        self._block(0, len(code), [_Head(start, b"")])

    def _block(self, start: int, end: int, heads: list[_Head]) -> None:
        """Read the inside of a block."""
        self._group(list(_pieces(self._code, self._data, start, end)), heads)

    def _group(self, pieces: Sequence[tuple[int, int]], heads: list[_Head]) -> None:
        """Read neighbouring pieces under their heads."""
        start, end = (pieces[0][0], pieces[-1][1]) if pieces else (0, 0)
        if not self._texts[0].data[start:end].strip():
            return
        texts = list(dict.fromkeys(Text(text.data[start:end], text.parse) for text in self._texts))
        if any(self._read(text, text, start, heads) for text in texts[: 1 if len(pieces) > PARTS else None]):
            return
        if self._left < 0:
            self._as_it_stands(start, texts[0], heads)
        elif len(pieces) > 1:
            size = -(-len(pieces) // PARTS)
            for first in range(0, len(pieces), size):
                self._group(pieces[first : first + size], heads)
        else:
            self._piece(start, end, texts, heads)

    def _piece(self, start: int, end: int, texts: Sequence[Text], heads: list[_Head]) -> None:
        """Read one piece that has errors."""
        opened, closed = _largest_block(self._code, start, end)
        for text, whole in _emptied(texts, opened - start, closed - start, heads):
            if self._read(text, whole, start, heads, (opened, closed)):
                return
        lines = list(_lines(self._code, start, end))
        if len(lines) > 1:
            self._group(lines, heads)
            return
        if len(heads) > 1 and any(self._read(text, text, start, heads[:-1]) for text in texts):  # the head is in the way
            return
        if not self._as_it_stands(start, texts[0], heads) and len(heads) < DEEPEST:
            self._block(opened, closed, heads)

    def _read(self, text: Text, whole: Text, start: int, heads: list[_Head], block: tuple[int, int] = (0, 0)) -> bool:
        """Take the functions of a piece, or of its ``block`` if it is none itself, unless the ``text`` has errors."""
        self._left -= CALL + len(text.data) + sum(len(head.before) + len(head.after) for head in heads)
        tree = _parsed(text, heads)
        if tree.root_node.has_error:
            return False
        spans = self._found(tree, text, whole, start, heads)
        self.spans += spans
        if not spans and block[0] < block[1] and len(heads) < DEEPEST:
            around = _Head(text.data[: block[0] - start], text.data[block[1] - start :])
            self._block(*block, [*heads, around])
        elif not spans and text.data != whole.data and re.search(rb"[{=]", self._code[start : start + len(text.data)]):
            self._leave(_parsed(whole, heads), start, heads)
        return True

    def _as_it_stands(self, start: int, text: Text, heads: list[_Head]) -> bool:
        """Take the functions that the tree of a text with errors has, if it has some."""
        tree = _parsed(text, heads)
        spans = self._found(tree, text, text, start, heads)
        self.spans += spans
        self._leave(tree, start, heads)
        return bool(spans)

    def _leave(self, tree: Any, start: int, heads: Sequence[_Head]) -> None:
        """Keep the lines of what cannot be read."""
        first = self._shift(start, heads) + 1
        self.unread += [(node.start_point[0] + first, node.end_point[0] + first) for node in faults(tree)]

    def _found(self, tree: Any, text: Text, whole: Text, start: int, heads: Sequence[_Head]) -> list[FunctionSpan]:
        """The functions of a piece. What ``text`` lacks of the ``whole`` above a function belongs to it."""
        above, shift = self._code.count(b"\n", 0, start), self._shift(start, heads)
        kept, lines = text.data.split(b"\n"), masked(whole.data).split(b"\n")
        found = []
        for span in self._walk(tree):
            row = span.start + shift - above - 1
            if row >= 0:  # else it is one of what stands around
                while row and lines[row - 1].strip() and not kept[row - 1].strip():
                    row -= 1
                found.append(FunctionSpan(row + above + 1, span.end + shift, span.name))
        return found

    def _shift(self, start: int, heads: Sequence[_Head]) -> int:
        """What the lines of a piece's tree lack to those of the source."""
        return self._code.count(b"\n", 0, start) - sum(head.before.count(b"\n") + 1 for head in heads)


def _parsed(text: Text, heads: Sequence[_Head]) -> Any:
    before = b"".join(head.before + b"\n" for head in heads)
    return text.parse(before + text.data + b"".join(b"\n" + head.after for head in reversed(heads)))


def _emptied(texts: Sequence[Text], opened: int, closed: int, heads: Sequence[_Head]) -> Iterator[tuple[Text, Text]]:
    """The readings of a piece with its block emptied, those whose heads lack the most last, each with the whole of it."""
    emptied = [Text(text.data[:opened] + blank(text.data[opened:closed]) + text.data[closed:], text.parse) for text in texts]
    if data := emptied[0].data[opened:closed]:  # C's and C++'s f(x) {} is a value, unlike f(x) {;}
        yield Text(emptied[0].data[:opened] + data.replace(b" ", b";", 1) + emptied[0].data[closed:], texts[0].parse), emptied[0]
    yield from zip(emptied, emptied, strict=True)
    if data := _only_class(emptied[0].data, opened - 1):
        yield Text(data, emptied[0].parse), emptied[0]
    for text in emptied:
        yield _mended(text, opened, heads), text


def _only_class(data: bytes, opened: int) -> bytes:
    """A text without all of the head before ``opened`` but the word and name of a class or the like, empty if it has none."""
    head, before = masked(data[: max(opened, 0)]), b""
    while head != before:
        head, before = _BRACKETS.sub(lambda match: blank(match[0]), head), head
    named = _CLASS.search(head)
    return blank(data[: named.start()]) + named[1] + blank(data[named.end(1) : opened]) + data[opened:] if named else b""


def _mended(text: Text, opened: int, heads: Sequence[_Head]) -> Text:
    """A text without the words that are errors in it, before its block at ``opened`` or without braces."""
    offset = sum(len(head.before) + 1 for head in heads)
    for _ in range(MENDED):
        source = bytearray(text.data)
        for node in faults(_parsed(text, heads)):
            first, last = max(0, node.start_byte - offset), max(0, node.end_byte - offset)
            if last < opened or not re.search(rb"[{}]", source[first:last]):
                source[first:last] = blank(bytes(source[first:last]))
        if source == text.data:
            break
        text = Text(bytes(source), text.parse)
    return text


def _pieces(code: bytes, data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where statements and definitions begin and end: at a semicolon, a block's end or a blank line outside brackets.

    A comma after a block ends one, too, as in an object, unless the block is a value: ``Store() : name{1}, size{2} {}``. A line
    that is blank in ``code`` alone, such as a comment, goes on with what stands below.
    """
    depth, value = 0, False
    for mark in _MARK.finditer(code, start, end):
        sign, more = mark[0][:1], mark[0].strip()[1:]
        if sign in b"([{":
            value = value if depth else code[mark.start() - 1 : mark.start()].isalnum() or code[mark.start() - 1] in b"_>"
            depth += 1
            continue
        depth = max(0, depth - 1) if sign in b")]}" else depth
        if sign == b"\n" or (sign == b"}" and not more):
            ends = not data[mark.start() : mark.end()].strip(b" \t\r\n}") and not _GOES_ON.match(code, mark.end(), end)
        else:
            ends = sign == b";" or more[-1:] == b";" or (more[-1:] == b"," and not value)
        if ends and not depth:
            yield start, mark.end()
            start = mark.end()
    if start < end:
        yield start, end


def _lines(code: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Parts of a piece that begin with a line as far to the left as its first; annotations belong to what follows."""
    depth, margin, marked = 0, None, True
    for line in re.compile(rb"^([ \t]*)(\S?)[^\n]*\n?", re.MULTILINE).finditer(code, start, end):
        if line[2] and margin is None:
            margin = line[1]
        if line[2] and not depth and line[1] == margin and not _GOES_ON.match(line[0]):
            if not marked:
                yield start, line.start()
                start = line.start()
            marked = line[2] in b"@[#" or line[0].lstrip().startswith(b"template")
        depth += len(re.findall(rb"[(\[{]", line[0])) - len(re.findall(rb"[)\]}]", line[0]))
    yield start, end


def _largest_block(code: bytes, start: int, end: int) -> tuple[int, int]:
    """The inside of the largest block in braces, empty at ``start`` if there is none that is closed."""
    opened: list[int] = []
    best = start, start
    for mark in re.compile(rb"[{}]").finditer(code, start, end):
        if mark[0] == b"{":
            opened.append(mark.end())
        elif opened and mark.start() - opened[-1] >= best[1] - best[0]:
            best = opened.pop(), mark.start()
        elif opened:
            opened.pop()
    return best
