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

from fusesearch.code.other.languages import Language
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
_INDENTED = re.compile(rb"(?m)\s*^([ \t]*)(?=\S)[^{]*?[:=][ \t]*\n(?P<inside>(?=\s*^\1[ \t]+\S)(?:.*\n)*\1[ \t]+\S.*)")
"""A block by indentation: what is deeper, below a line that ends with a colon or an equals sign."""
_NESTED = re.compile(rb"\([^(){}]*\)|<[^<>(){};]*>")
_COMMENT = rb"//[^\n]*|/\*.*?(?:\*/|\Z)"
_STRING = (
    rb"\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|R\"([^()\\\s]{0,16})\(.*?\)\1\"|\br(#+)\".*?\"\2|@\"(?:[^\"]|\"\")*\"|`(?:[^`\\]|\\.)*`"
    rb"|\"(?:[^\"\\\n]|\\[^\n])*\\\n(?:[^\"\\]|\\.)*\"|\"(?:\$\{(?:[^{}\"\n]|\"[^\"\n]*\"|\{[^{}\n]*\})*\}|[^\"\\\n]|\\.)*\""
)
_CHARACTER, _QUOTED = rb"'(?:\\[^'\n]*|\\'|[^'\\\n]|[\w\x80-\xff]{2,4})'", rb"'(?:[^'\\\n]|\\.)*'"


Heads = list[tuple[bytes, bytes]]
"""What stands before and after each block that holds a piece."""


class Text(NamedTuple):
    """A reading of the source, all with the same lines, and what parses it."""

    data: bytes
    parse: Callable[[bytes], Any]


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
    ``parsers`` are what parses all of them and what may parse the best; ``walk`` finds the functions of a tree; ``keywords`` are
    those of the grammar.
    """

    def __init__(
        self, sources: Sequence[bytes], row: Language, parsers: Sequence[Callable[[bytes], Any]],
        walk: Callable[[Any], list[FunctionSpan]], keywords: frozenset[bytes],
    ) -> None:  # fmt: skip
        self._texts = [Text(source, parsers[0]) for source in sources] + [Text(sources[0], parse) for parse in parsers[1:]]
        self.code = masked(sources[-1], quotes=row.quotes, hashes=row.hashes)
        self._source, self._walk, self._ends, self._indented = sources[-1], walk, row.ends, row.indented
        self._names = {word: word.swapcase() for word in keywords if word.swapcase() not in self.code}
        self._words = {name.decode(): word.decode() for word, name in self._names.items()}
        self._left = EFFORT * len(self.code) + 10_000
        self.spans: list[FunctionSpan] = []
        self.unread: list[tuple[int, int]] = []
        self._block(0, len(self.code), [(row.start, b"")])

    def _block(self, start: int, end: int, heads: Heads) -> None:
        """Read the inside of a block."""
        cut = _by_lines if self._ends or self._indented else _by_marks
        self._group(list(cut(self.code, self._source, start, end)), heads)

    def _group(self, pieces: Sequence[tuple[int, int]], heads: Heads) -> None:
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

    def _piece(self, start: int, end: int, texts: Sequence[Text], heads: Heads) -> None:
        """Read one piece that has errors."""
        opened, closed = _block_by_lines(self.code, start, end) if self._ends else _largest_block(self.code, start, end)
        lines = list(_by_lines(self.code, b"", start, end))
        indented = _INDENTED.match(self.code, start, end) if self._indented and len(lines) == 1 else None
        opened, closed = indented.span("inside") if indented else (opened, closed)
        first, last, filler = opened - start, closed - start, b"0" if indented else b""  # such a block may not be empty
        inside = blank(self.code[opened : closed - len(filler)]) + filler
        emptied = [Text(text.data[:first] + inside + text.data[last:], text.parse) for text in texts]
        for whole, text in self._simpler(emptied, first, heads):
            if self._read(text, whole, start, heads, (opened, closed)):
                return
        if len(lines) > 1:
            self._group(lines, heads)
        elif len(heads) > 1 and any(self._read(text, text, start, heads[:-1]) for text in texts):
            pass  # the head was in the way
        elif not self._as_it_stands(start, texts[0], heads) and len(heads) < DEEPEST:
            self._block(opened, closed, heads)

    def _simpler(self, texts: Sequence[Text], opened: int, heads: Heads) -> Iterator[tuple[Text, Text]]:
        """Each piece, and what to try in its place: those whose heads before ``opened`` lack the most last."""
        yield from zip(texts, texts, strict=True)
        if data := _only_head(texts[0].data, opened - 1):
            yield texts[0], Text(data, texts[0].parse)
        for text in texts:
            for named in (True, False):
                mended = self._mended(text, opened, heads, named)
                yield (mended if named else text), mended

    def _mended(self, text: Text, opened: int, heads: Heads, named: bool) -> Text:
        """A text whose words that are errors, before ``opened`` or without braces, are left out or, if keywords, ``named``."""
        offset = sum(len(before) + 1 for before, _ in heads)
        for _ in range(MENDED):
            source = bytearray(text.data)
            for node in faults(_parsed(text, heads)):
                first, last = max(0, node.start_byte - offset), max(0, node.end_byte - offset)
                if named:
                    for word in _NAME.finditer(text.data, text.data.rfind(b"\n", 0, first) + 1):
                        if word.start() <= last:
                            source[word.start() : word.end()] = self._names.get(word[0], word[0])
                elif last < opened or not re.search(rb"[{}\n]", source[first:last]):
                    source[first:last] = blank(bytes(source[first:last]))
            if source == text.data:
                break
            text = Text(bytes(source), text.parse)
        return text

    def _read(self, text: Text, whole: Text, start: int, heads: Heads, block: tuple[int, int] = (0, 0)) -> bool:
        """Take the functions of a piece, or of its ``block`` if it is none itself, unless the ``text`` has errors."""
        self._left -= CALL + len(text.data) + sum(len(before) + len(after) for before, after in heads)
        tree = _parsed(text, heads)
        if tree.root_node.has_error:
            return False
        before = len(self.spans)
        if not self._found(tree, text, whole, start, heads) and block[0] < block[1] and len(heads) < DEEPEST:
            self._block(*block, [*heads, (text.data[: block[0] - start], text.data[block[1] - start :])])
        none = len(self.spans) == before and text.data != whole.data
        if none and re.search(rb"[{=]", self.code[start : start + len(text.data)]):
            self._leave(_parsed(whole, heads), start, heads)
        return True

    def _as_it_stands(self, start: int, text: Text, heads: Heads) -> bool:
        """Take the functions that the tree of a text with errors has, if it has some."""
        tree = _parsed(text, heads)
        self._leave(tree, start, heads)
        return self._found(tree, text, text, start, heads)

    def _leave(self, tree: Any, start: int, heads: Heads) -> None:
        """Keep the lines of what cannot be read."""
        first = self._shift(start, heads) + 1
        self.unread += [(node.start_point[0] + first, node.end_point[0] + first) for node in faults(tree)]

    def _found(self, tree: Any, text: Text, whole: Text, start: int, heads: Heads) -> bool:
        """Take the functions of a piece, if it has some. What ``text`` lacks of the ``whole`` above a function belongs to it."""
        above, shift, before = self.code.count(b"\n", 0, start), self._shift(start, heads), len(self.spans)
        kept, lines = text.data.split(b"\n"), masked(whole.data).split(b"\n")
        for span in self._walk(tree):
            row = span.start + shift - above - 1
            if row >= 0:  # else it is one of what stands around
                while row and lines[row - 1].strip() and not kept[row - 1].strip():
                    row -= 1
                name = ".".join(self._words.get(part, part) for part in span.name.split("."))
                self.spans.append(FunctionSpan(row + above + 1, span.end + shift, name))
        return len(self.spans) > before

    def _shift(self, start: int, heads: Heads) -> int:
        """What the lines of a piece's tree lack to those of the source."""
        return self.code.count(b"\n", 0, start) - sum(before.count(b"\n") + 1 for before, _ in heads)


def _parsed(text: Text, heads: Heads) -> Any:
    before = b"".join(before + b"\n" for before, _ in heads)
    return text.parse(before + text.data + b"".join(b"\n" + after for _, after in reversed(heads)))


def _only_head(data: bytes, opened: int) -> bytes:
    """A text whose head before ``opened`` is a class's word and name, or ends with a function's parameters; empty if none has."""
    code = head = masked(data[: max(opened, 0)])
    before = b""
    while head != before:
        head, before = _NESTED.sub(lambda match: blank(match[0]), head), head
    named = _CLASS.search(head) or _HEAD.match(code)
    first, last = named.span("kept") if named else (0, 0)
    return blank(data[:first]) + data[first:last] + blank(data[last:opened]) + data[opened:] if named else b""


def _by_marks(code: bytes, data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where statements and definitions begin and end: at a semicolon, a block's end or a blank line outside brackets.

    A comma after a block ends one, too, as in an object, unless the block is a value: ``Store() : name{1}, size{2} {}``. A line
    that is blank in ``code`` alone, such as one of a text, goes on with what stands below.
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


def _block_by_lines(code: bytes, start: int, end: int) -> tuple[int, int]:
    """What stands between the first line and the last ``end`` that begins one, empty at ``start`` if there is none."""
    block = re.compile(rb"\s*[^\n]*\n(?P<inside>.*\n|)[ \t]*end\b", re.DOTALL).match(code, start, end)
    return block.span("inside") if block else (start, start)


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
