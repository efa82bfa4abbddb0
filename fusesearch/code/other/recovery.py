"""What errors hide in a source that its grammar cannot parse: one mechanism for all languages.

A grammar that meets something it does not know (syntax newer than itself, a macro, a mistake) may lose everything after it. So
brackets that do not match are mended by the lines that they begin, and the source is cut into pieces, at the ends of statements
and blocks. They are parsed apart, in ever smaller groups as long as there are errors. A piece that cannot be parsed is tried
with its block emptied: if that is a function, the error is inside of it and hides no other. If it is none, such as a class, the
pieces of its block are parsed under its head. A head that is in the way is tried as a class of its name alone, with keywords as
names, and without the words that are errors. So what a grammar cannot read takes away at most the function that it stands in;
what stands in none is ``unread``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fusesearch.code.other.languages import SLASHES, Language
from fusesearch.code.spans import FunctionSpan

EFFORT = 40
"""Most that is parsed, in lengths of the source (real ones take up to 14); what is left then is read as it stands."""
CALL = 500
"""What each parse counts besides its length."""
DEEPEST = 40
"""Most blocks around a piece."""
PARTS = 4
"""Parts into which pieces with errors are divided."""

_MARK = re.compile(rb"[][(){]|\}(?:\s*;)?|;|\n[ \t\r]*(?=\n)")
_GOES_ON = re.compile(
    rb"\s*(?:[.,)\]{=:?&|+*/<>-]|(?:@\w+(?:\([^()]*\))?\s+)*(?:[gs]et)\b(?!\s*\w)"
    rb"|(?:else|elsif|catch|rescue|finally|ensure|while|when|where)\b)|[ \t]*(?!private|protected)[A-Za-z_]\w*[ \t]*[;,=\[]"
)
"""What goes on with a statement after a block, or on another line."""
_LINE = re.compile(rb"^([ \t]*)(\S[^\n]*)\n?", re.MULTILINE)
_PAIRS = (b"()", b"[]", b"{}")
_CLASS = re.compile(
    rb"(?<![\w(<,])(?P<kept>(?:class|interface|object|struct|enum|trait|namespace|module|extension|protocol|actor|union|record)\s+[A-Za-z_]\w*)"
    rb"\s*(?:\Z|[:@,]|(?:extends|implements|permits|where|with|final|internal|private|protected|public|actual|constructor)\b)"
)
"""The word and name of a class or the like, before what may follow them in a head."""
_NAME = re.compile(rb"(?<![\w$@])[a-z]+(?=<|\s*[(:,;)=.?\]])|(?<=\.)[a-z]+\b")
"""What may be a name, by what stands beside it."""
_HEAD = re.compile(
    rb"(?m)(?P<kept>\s*^([ \t]*)(?=\S)[^(){}=;]*(?<![@\[\w])\w*[a-z0-9]\s*"  # no annotation, and no macro in capitals
    rb"\((?:[^(){}]|\([^(){}]*\))*\))(?=(?:[^\n]|\n\2[ \t]|\n\2\Z)*\Z)"
)
"""What stands before a function's block up to its parameters, unless another statement begins after them."""
_TYPES = re.compile(rb"(?<=\w)<[^<>(){};]*>(?=\()")
"""Type parameters behind a name."""
_STRING = (
    rb"\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|R\"([^()\\\s]{0,16})\(.*?\)\1\"|\br(#+)\".*?\"\2|@\"(?:[^\"]|\"\")*\"|`(?:[^`\\]|\\.)*`"
    rb"|\"(?:[^\"\\\n]|\\[^\n])*\\\n(?:[^\"\\]|\\.)*\"|\"(?:\$\{(?:[^{}\"\n]|\"[^\"\n]*\"|\{[^{}\n]*\})*\}|[^\"\\\n]|\\.)*\""
)
_CHARACTER, _QUOTED = rb"'(?:\\[^'\n]*|\\'|[^'\\\n]|[\w\x80-\xff]{2,4})'", rb"'(?:[^'\\\n]|\\.)*'"


class Around(NamedTuple):
    """What stands before and after a piece: the heads and the ends of the blocks that hold it."""

    before: bytes
    after: bytes = b""
    depth: int = 0
    outer: Around | None = None


def blank(text: bytes) -> bytes:
    """Blanks in the place of a text, with its lines."""
    return re.sub(rb"[^\n]", b" ", text)


@lru_cache(maxsize=8)
def masked(data: bytes, *, quotes: bool = False, comments: bytes = SLASHES, literals: bool = True) -> bytes:
    """A source with blanks in the place of its comments and, if asked for, its ``literals``: in ``quotes`` stands a text, not a
    character."""
    pattern = b"|".join([_STRING, _QUOTED if quotes else _CHARACTER, b"(?P<comment>" + comments + b")"])
    blanks: Callable[[re.Match[bytes]], bytes] = lambda match: blank(match[0]) if literals or match["comment"] else match[0]  # noqa: E731
    return re.sub(pattern, blanks, data, flags=re.DOTALL)


def matched(code: bytes) -> bool:
    """Whether each bracket of a text is closed, and each that closes was opened."""
    opened: list[bytes] = []
    for mark in re.findall(rb"[][(){}]", code):
        if mark in b"([{":
            opened.append(mark)
        elif not opened or opened.pop() + mark not in _PAIRS:
            return False
    return not opened


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

    ``sources`` are readings of one, the best first, and ``code`` is the last :func:`masked`; ``row`` is that of the language;
    ``walk`` finds the functions of a tree that ``parse`` makes; ``keywords`` are those of the grammar.
    """

    def __init__(
        self, sources: Sequence[bytes], row: Language, parse: Callable[[bytes], Any],
        walk: Callable[[Any], list[FunctionSpan]], keywords: frozenset[bytes],
    ) -> None:  # fmt: skip
        self.code = masked(sources[-1], quotes=row.quotes, comments=row.comments)
        self._sources, self._parse, self._walk, self._inside = sources, parse, walk, row.block
        self._names = {word: word.swapcase() for word in keywords if word.swapcase() not in self.code}
        self._words = {name.decode(): word.decode() for word, name in self._names.items()}
        self._left = EFFORT * len(self.code) + 10_000
        self.spans: list[FunctionSpan] = []
        self.unread: list[tuple[int, int]] = []
        self._block(0, len(self.code), Around(row.start))

    def _block(self, start: int, end: int, around: Around) -> None:
        """Read the inside of a block."""
        cut = _by_lines if self._inside else _by_marks
        self._group(list(cut(self.code, self._sources[-1], start, end)), around)

    def _group(self, pieces: Sequence[tuple[int, int]], around: Around) -> None:
        """Read neighbouring pieces."""
        start, end = (pieces[0][0], pieces[-1][1]) if pieces else (0, 0)
        texts = list(dict.fromkeys(source[start:end] for source in self._sources))
        if not texts[0].strip() or any(self._read(text, text, start, around) for text in texts):
            return
        if self._left < 0:
            self._found(self._parsed(texts[0], around), texts[0], start, around)
        elif len(pieces) > 1:
            size = -(-len(pieces) // PARTS)
            for first in range(0, len(pieces), size):
                self._group(pieces[first : first + size], around)
        else:
            self._piece(start, end, texts, around)

    def _piece(self, start: int, end: int, texts: Sequence[bytes], around: Around) -> None:
        """Read one piece that has errors."""
        block = self._inside.match(self.code, start, end) if self._inside else None
        opened, closed = block.span("inside") if block else _largest_block(self.code, start, end)
        filler = b"0" if block else b""  # a block by indentation may not be empty
        inside = blank(self.code[opened : closed - len(filler)]) + filler
        emptied = [text[: opened - start] + inside + text[closed - start :] for text in texts]
        for whole, text in self._simpler(emptied, opened - start, around):
            if self._read(text, whole, start, around, (opened, closed)):
                return
        lines = list(_by_lines(self.code, b"", start, end))
        if len(lines) > 1 and all(matched(self.code[first:last]) for first, last in lines):
            self._group(lines, around)
        elif around.outer and any(self._read(text, text, start, around.outer) for text in texts):
            pass  # the head was in the way
        elif not self._found(self._parsed(texts[0], around), texts[0], start, around) and around.depth < DEEPEST:
            self._block(opened, closed, around)

    def _simpler(self, texts: Sequence[bytes], opened: int, around: Around) -> Iterator[tuple[bytes, bytes]]:
        """Each piece and what to try in its place: with keywords as names, and those whose heads before ``opened`` lack words."""
        named = [_NAME.sub(lambda word: self._names.get(word[0], word[0]), text) for text in texts]
        yield from zip(texts, texts, strict=True)
        if head := _only_head(texts[0], opened - 1):
            yield texts[0], head
        yield from zip(named, named, strict=True)
        for text in texts:
            left, offset = bytearray(text), len(around.before)
            for node in faults(self._parsed(text, around)):
                first, last = max(0, node.start_byte - offset), max(0, node.end_byte - offset)
                if last < opened or not re.search(rb"[{}\n]", left[first:last]):
                    left[first:last] = blank(bytes(left[first:last]))
            yield text, bytes(left)

    def _parsed(self, text: bytes, around: Around) -> Any:
        self._left -= CALL + len(text) + len(around.before) + len(around.after)
        return self._parse(around.before + text + around.after)

    def _read(self, text: bytes, whole: bytes, start: int, around: Around, block: tuple[int, int] = (0, 0)) -> bool:
        """Take the functions of a piece, or of its ``block`` if it is none itself, unless the ``text`` has errors."""
        tree = self._parsed(text, around)
        if tree.root_node.has_error:
            return False
        before = len(self.spans)
        if not self._found(tree, text, start, around, whole) and block[0] < block[1] and around.depth < DEEPEST:
            head, end = text[: block[0] - start] + b"\n", b"\n" + text[block[1] - start :]
            self._block(*block, Around(around.before + head, end + around.after, around.depth + 1, around))
        if len(self.spans) == before and text != whole and re.search(rb"[{=]", self.code[start : start + len(text)]):
            self._leave(self._parsed(whole, around), start, around)
        return True

    def _leave(self, tree: Any, start: int, around: Around) -> None:
        """Keep the lines of what cannot be read."""
        first = self.code.count(b"\n", 0, start) - around.before.count(b"\n") + 1
        self.unread += [(node.start_point[0] + first, node.end_point[0] + first) for node in faults(tree)]

    def _found(self, tree: Any, text: bytes, start: int, around: Around, whole: bytes = b"") -> bool:
        """Take the functions of a piece, if it has some. What ``text`` lacks of the ``whole`` above a function belongs to it."""
        self._leave(tree, start, around)
        above, before, found = self.code.count(b"\n", 0, start), around.before.count(b"\n"), len(self.spans)
        kept, lines = text.split(b"\n"), masked(whole or text).split(b"\n")
        for span in self._walk(tree):
            row = span.start - before - 1
            if row >= 0:  # else it is one of what stands around
                while row and lines[row - 1].strip() and not kept[row - 1].strip():
                    row -= 1
                name = ".".join(self._words.get(part, part) for part in span.name.split("."))
                self.spans.append(FunctionSpan(row + above + 1, span.end + above - before, name))
        return len(self.spans) > found


def _only_head(data: bytes, opened: int) -> bytes:
    """A text whose head before ``opened`` is a class's word and name, or ends with a function's parameters; empty if none has."""
    code = _TYPES.sub(lambda types: blank(types[0]), masked(data[: max(opened, 0)]))
    data = code + data[len(code) :]
    named = _CLASS.search(code) or _HEAD.match(code)
    first, last = named.span("kept") if named else (0, 0)
    return blank(data[:first]) + data[first:last] + blank(data[last:opened]) + data[opened:] if named else b""


def _by_marks(code: bytes, data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where statements and definitions begin and end: at a semicolon, a block's end or a blank line outside brackets.

    A line that is blank in ``code`` alone, such as one of a text, goes on with what stands below.
    """
    depth = 0
    for mark in _MARK.finditer(code, start, end):
        sign, ends = mark[0][:1], mark[0][-1:] == b";"
        depth = max(0, depth + (sign in b"([{") - (sign in b")]}"))
        if sign in b"}\n" and not ends:
            ends = not data[mark.start() : mark.end()].strip(b" \t\r\n}") and not _GOES_ON.match(code, mark.end(), end)
        if ends and not depth:
            yield start, mark.end()
            start = mark.end()
    if start < end:
        yield start, end


def _by_lines(code: bytes, _: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Parts that begin with a line as far to the left as the first. Annotations belong to what follows, and the line that closes
    a block to what it closes."""
    margin, complete, marked = None, False, True
    for line in _LINE.finditer(code, start, end):
        indent, text = _indent(line), line[2].rstrip()
        margin = indent if margin is None else margin
        if indent <= margin:
            closes = re.match(rb"[)\]}]|end\b", text)
            if not marked and (complete if closes else not _GOES_ON.match(text)):
                yield start, line.start()
                start = line.start()
            complete = bool(closes) and text[-1:] not in b"([{"
            marked = text[:1] in b"@[#" or text.startswith(b"template")
    yield start, end


def _largest_block(code: bytes, start: int, end: int) -> tuple[int, int]:
    """The inside of the largest block in braces, empty at ``start`` if there is none that is closed."""
    opened: list[int] = []
    blocks = [(start, start)]
    for mark in re.compile(rb"[{}]").finditer(code, start, end):
        if mark[0] == b"{":
            opened.append(mark.end())
        elif opened:
            blocks.append((opened.pop(), mark.start()))
    return max(reversed(blocks), key=lambda block: block[1] - block[0])


def repaired(data: bytes, code: bytes) -> tuple[bytes, list[int]]:
    """A source whose brackets match, by the lines that they begin, and the lines of those that it lacked or had in addition.

    One with too many of them stays as it is.
    """
    opened: list[tuple[int, bytes, set[int]]] = []
    changes: list[tuple[int, int, bytes]] = []
    statement, last = 0, b";"
    for line in _LINE.finditer(code):
        indent = _indent(line)
        statement, last = (indent if last in b";{}" else statement), line[2].rstrip()[-1:]
        for mark in re.compile(rb"[][(){}]").finditer(code, *line.span(2)):
            if mark[0] in b"([{":
                opened.append((mark.start(), mark[0], {indent, statement}))
                continue
            first, place = mark.start() == line.start(2), len(opened) - 1
            while place >= 0 and not (opened[place][1] + mark[0] in _PAIRS and (not first or indent in opened[place][2])):
                place = -1 if opened[place][1] == b"{" and (mark[0] != b"}" or not first) else place - 1
            changes += [(*mark.span(), b" ")] if place < 0 else [_closed(code, *one) for one in opened[place + 1 :]]
            opened = opened if place < 0 else opened[:place]
            if len(changes) > DEEPEST or len(opened) > 10 * DEEPEST:
                return data, []
    parts, lines, begin, number = [], [], 0, 1
    for start, after, text in sorted(changes + [_closed(code, *one) for one in opened]):
        number += data.count(b"\n", begin, start)
        lines.append(number)
        parts += [data[begin:start], text]
        begin = after
    return b"".join([*parts, data[begin:]]), lines


def _closed(code: bytes, position: int, mark: bytes, indents: set[int]) -> tuple[int, int, bytes]:
    """What to put in which place for a bracket that nothing closes: a block whose lines are indented ends with them."""
    last = 0
    for line in _LINE.finditer(code, code.find(b"\n", position) + 1 or len(code)):
        if _indent(line) <= min(indents):
            break
        last = line.end(2)
    return (last, last, b"}") if last and mark == b"{" else (position, position + 1, b" ")


def _indent(line: re.Match[bytes]) -> int:
    return len(line[1].expandtabs(8))
