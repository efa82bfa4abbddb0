"""How languages write the name of a function, and how people and models write it after a path: the one grammar of entities.

A name has parts with dots between them, as :mod:`fusesearch.code.spans` has it: ``Order.paid?``, ``V.operator==``, ``A.#secret``.
Whether a file has such a function only its spans can tell.
"""

from __future__ import annotations

import re

MAX_CHARS = 300
MAX_PARTS = 20

_IDENTIFIER = r"[^\W\d][\w$]*|\$[\w$]*"
_RUBY = r"<=>|===?|=~|![=~]?|\*\*|[+-]@|<<|>>|<=|>=|\[\]=?|[-+*/%<>^&|~!]"
_OPERATOR = (  # of C++ and C#
    r"operator(?:\s*(?:\(\)|\[\]|\"\"\s*\w+|(?:<=>|<<=|>>=|->\*|[-+*/%^&|<>=!~]=|&&|\|\||\+\+|--|<<|>>|->|[-+*/%^&|~!=<>,]))"
    r"|\s+(?:new|delete)(?:\[\])?|\s+[\w:]+(?:\s*[*&]+)?)"
)
_PART = re.compile(
    rf"(?P<operator>{_OPERATOR})(?![\w$])"
    r"|`(?P<quoted>[^`\n]{1,200})`"
    r"|(?P<bracketed>\[[\w.:;& ]{1,100}\])"  # Rust's [u8], JavaScript's [Symbol.iterator]
    rf"|(?P<plain>(?:r\#|[~\#@])?(?:{_IDENTIFIER})(?:-[\w$]+)*(?:[?!](?!=)|=(?![=~>\w(]))?)"
    rf"|(?P<ruby>{_RUBY})(?![\w$])"
)
_PYTHON_PART = re.compile(r"(?P<plain>[^\W\d]\w*)")
_ARGUMENTS = re.compile(r"<[^<>\n]{0,200}>(?=[.:#(\s]|$)")
"""Type arguments after a name: ``V<T>::f``."""
_SEPARATOR = re.compile(r"\.|::|->|#(?=[^\W\d])")
_GO_RECEIVER = re.compile(r"\(\*?([^\W\d]\w*)\)(?=\.)")
_RUST_TYPE = re.compile(r"<\s*([^\W\d][\w:]*)[^\n]{0,200}?(?:\s+as\s[^\n>]{1,200})>(?=::)")


def read_name(text: str, path: str = "") -> tuple[str, str] | None:
    """The name at the start of ``text`` in our form, and the text after it; None if there is none.

    Python's names are identifiers, so in a file that ends in ``.py`` a mark such as ``?`` ends the name. Takes the forms that
    models write, too: ``V<T>::f``, ``A#m``, ``(*Server).Handle``, ``<T as X>::f``.
    """
    text = text[:MAX_CHARS]
    for form in (_GO_RECEIVER, _RUST_TYPE):
        if opening := form.match(text):
            text = opening[1].replace("::", ".") + text[opening.end() :]
    grammar = _PYTHON_PART if path.endswith((".py", ".pyi")) else _PART
    parts: list[str] = []
    position = 0
    while (part := grammar.match(text, position)) and len(parts) < MAX_PARTS:
        parts.append(_written(part, path))
        position = part.end()
        if part.lastgroup == "plain" and (arguments := _ARGUMENTS.match(text, position)):
            position = arguments.end()
        separator = _SEPARATOR.match(text, position)
        if separator is None or not grammar.match(text, separator.end()):
            break
        position = separator.end()
    return (".".join(parts), text[position:]) if parts else None


def _written(part: re.Match[str], path: str) -> str:
    if part.lastgroup == "operator":
        sign = " " if path.endswith(".cs") else ""  # as C# is written: ``operator ==``
        return re.sub(r"operator\s*(?=[^\w\s])", f"operator{sign}", " ".join(part[0].split()))
    if part.lastgroup == "bracketed":
        return "".join(part[0].split())
    return part["quoted"] if part.lastgroup == "quoted" else part[0]
