"""The names of functions of C and C++ that are a macro's call with a body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from fusesearch.code.other.readings import ARGUMENTS
from fusesearch.code.other.recovery import masked
from fusesearch.code.spans import FunctionSpan

_NAMED = re.compile(
    rb"(?:\A|[;{}:])(?:\s|\b(?:static|inline|extern(?:\s+\"C\")?)\b)*([A-Z]\w+)[ \t]*(" + ARGUMENTS + rb")\s*\{"
    rb"|\b([A-Z]\w+)[ \t]*(" + ARGUMENTS + rb")\s*\("
)
"""A macro's call with a body or with parameters after it."""


def named_by_macros(spans: Iterable[FunctionSpan], data: bytes) -> Iterator[FunctionSpan]:
    """The functions of a C or C++ source, those that are a macro's call with a body by the name that its arguments give:
    ``read`` of ``SYSCALL(read, int, fd) {``, ``Cart.total`` of ``METHOD(Cart, total) {``."""
    lines = data.split(b"\n")
    for span in spans:
        holder, _, macro = span.name.rpartition(".")
        names: list[str] = []
        if re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", macro) and holder.rpartition(".")[2] != macro:  # no constructor
            head = masked(b"\n".join(lines[span.start - 1 : min(span.end, span.start + 60)]), literals=False)
            called = (match[2] or match[4] for match in _NAMED.finditer(head) if (match[1] or match[3]).decode() == macro)
            inside = next(called, b"()")[1:-1]
            parts = map(bytes.strip, inside.split(b","))
            names = [one.decode() for one in takewhile(re.compile(rb"[A-Za-z_]\w*").fullmatch, parts)]
            if not re.search("TEST|METHOD|BENCHMARK|FIXTURE", macro):  # whose first argument is what holds the function
                names = names[:1]
            elif b'"' in inside:
                names = []
        yield FunctionSpan(span.start, span.end, ".".join(filter(None, [holder, *names]))) if names else span
