"""What Agentless shows a model: skeletons of files, and numbered lines around elements.

A skeleton has the headers of classes and functions and the assignments outside functions. Docstrings, comments, imports and
other statements are left out; a long assignment is cut in the middle.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from fusesearch.code.functions import FunctionNode, definitions, first_line, function_spans, parse
from fusesearch.code.heads import LINE_CHARS, MAX_HEADER
from fusesearch.code.outline import Outline
from fusesearch.code.spans import is_python

LONG_ASSIGNMENT = 30  # lines
KEPT_LINES = 10  # at each end of a long assignment

_NEWLINE = re.compile(r"\r\n|\r|\n")


def skeleton(path: str, source: str) -> str:
    """The skeleton of a file; for Python that does not parse and other languages, the first lines of each function."""
    lines = [line[:LINE_CHARS] for line in _NEWLINE.split(source.removeprefix("\ufeff"))]
    tree = parse(source) if is_python(path) else None
    if tree is None:
        return "\n".join(_heads(path, source))
    pieces = sorted(((*piece, index) for index, piece in enumerate(_pieces(tree))), key=lambda piece: piece[0])
    return "\n".join(line for start, end, kind, _ in pieces for line in _piece(lines, start, end, kind))


def numbered(outline: Outline, intervals: Iterable[tuple[int, int]], window: int) -> str:
    """Lines of the intervals and ``window`` lines around each as ``number|text``, with ``...`` for gaps."""
    rows: list[str] = []
    total, last = len(outline.lines), 0
    for start, end in merged(intervals, window, total):
        rows += ["..."] if start > last + 1 else []
        rows += [f"{number}|{outline.lines[number - 1][:LINE_CHARS]}" for number in range(start, end + 1)]
        last = end
    return "\n".join([*rows, *(["..."] if last < total else [])])


def merged(intervals: Iterable[tuple[int, int]], window: int, total: int) -> list[tuple[int, int]]:
    """Inclusive intervals, widened by ``window`` within lines 1 to ``total``; touching ones are merged."""
    wide = sorted((max(1, start - window), min(total, end + window)) for start, end in intervals)
    result: list[tuple[int, int]] = []
    for start, end in wide:
        if start > end:
            continue
        if result and start <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def _pieces(tree: ast.Module) -> Iterator[tuple[int, int, str]]:
    """First line, last line (as Python counts) and kind of each part of the skeleton."""
    for node, _ in definitions(tree):
        if isinstance(node, FunctionNode):
            yield *_header(node), "function"
        elif isinstance(node, ast.ClassDef):
            yield *_header(node), "class"
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            yield node.lineno, node.end_lineno or node.lineno, "assignment"


def _header(node: FunctionNode | ast.ClassDef) -> tuple[int, int]:
    inner = node.body[0]
    first = first_line(inner) if isinstance(inner, FunctionNode | ast.ClassDef) else inner.lineno
    return first_line(node), max(node.lineno, first - 1)


def _piece(lines: Sequence[str], start: int, end: int, kind: str) -> Iterator[str]:
    text = list(lines[start - 1 : end])
    if kind == "assignment":
        if len(text) > LONG_ASSIGNMENT:
            text[KEPT_LINES:-KEPT_LINES] = ["..."]
        yield from text
        return
    while len(text) > 1 and (not text[-1].strip() or text[-1].lstrip().startswith("#")):
        text.pop()
    yield from ["", *text] if kind == "class" else text
    if kind == "function":
        yield f"{text[0][: len(text[0]) - len(text[0].lstrip())]}    ..."


def _heads(path: str, source: str) -> Iterator[str]:
    """The first lines of each function up to the one that opens its body, with its qualified name and lines above."""
    lines = source.split("\n")
    for span in function_spans(source, path):
        yield f"# {span.name} (lines {span.start}-{span.end})"
        for line in lines[span.start - 1 : min(span.end, span.start - 1 + MAX_HEADER)]:
            yield line.rstrip()[:LINE_CHARS]
            if line.rstrip().endswith(("{", ":")):
                break
        yield "    ..."
