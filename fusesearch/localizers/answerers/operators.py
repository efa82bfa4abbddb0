"""Operators as names: what the function that defines one is called in each language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusesearch.code.plain import C_FAMILY, SCALA
from fusesearch.code.spans import PYTHON_SUFFIXES, FunctionSpan

_KOTLIN, _RUST = (".kt", ".kts"), (".rs",)
_METHODS = {  # suffixes -> each sign with its methods, in Rust with the trait; elsewhere the sign is the name
    PYTHON_SUFFIXES: "== __eq__ != __ne__ < __lt__ <= __le__ > __gt__ >= __ge__ + __add__ - __sub__ * __mul__ / __truediv__"
    " // __floordiv__ % __mod__ ** __pow__ & __and__ | __or__ ^ __xor__ ~ __invert__ << __lshift__ >> __rshift__ += __iadd__"
    " -= __isub__ *= __imul__ /= __itruediv__ %= __imod__ &= __iand__ |= __ior__ ^= __ixor__ [] __getitem__ []= __setitem__"
    " () __call__ in __contains__",
    _KOTLIN: "== equals != equals < compareTo <= compareTo > compareTo >= compareTo + plus - minus * times / div % rem"
    " += plusAssign -= minusAssign *= timesAssign /= divAssign %= remAssign ++ inc -- dec ! not [] get []= set () invoke"
    " in contains",
    _RUST: "== PartialEq.eq != PartialEq.ne < PartialOrd.partial_cmp <= PartialOrd.partial_cmp > PartialOrd.partial_cmp"
    " >= PartialOrd.partial_cmp + Add.add - Sub.sub * Mul.mul / Div.div % Rem.rem & BitAnd.bitand | BitOr.bitor ^ BitXor.bitxor"
    " << Shl.shl >> Shr.shr ! Not.not += AddAssign.add_assign -= SubAssign.sub_assign *= MulAssign.mul_assign"
    " /= DivAssign.div_assign %= RemAssign.rem_assign [] Index.index []= IndexMut.index_mut",
    (".java", *SCALA): "== equals != equals",
    (".cs",): "== Equals,op_Equality != op_Inequality [] this []= this",
    (".swift",): "[] subscript []= subscript () callAsFunction",
    (".php",): "[] offsetGet []= offsetSet () __invoke",
}
_TABLE = {
    suffix: dict(zip(row.split()[::2], row.split()[1::2], strict=True))
    for suffixes, row in _METHODS.items()
    for suffix in suffixes
}
_SIGN = re.compile(r"\[\]=?|\(\)|in|[-+*/%^&|~!=<>]{1,3}")
_IMPL = re.compile(r"^[ \t]*(?:unsafe[ \t]+)?impl\b[^;{]*", re.MULTILINE)


def is_operator(name: str) -> bool:
    """Whether a name is the sign of an operator."""
    return _SIGN.fullmatch(name) is not None


def parts(name: str) -> tuple[str, str]:
    """What holds a name, and its last part: an operator may have a dot."""
    owner, dot, operator = name.rpartition(".operator")
    if dot:
        return owner, f"operator{operator}"
    owner, _, last = name.rpartition(".")
    return owner, last


def in_python(name: str) -> str:
    """A name with the method in the place of an operator at its end: ``Cart.__eq__`` for ``Cart.==``."""
    owner, last = parts(name)
    return f"{owner}.".lstrip(".") + _TABLE[".py"].get(last, last)


def spellings(name: str, path: str) -> list[str]:
    """What a function of that name may be called in the language of a file: an operator as its sign and by its methods."""
    suffix, sign = path[path.rfind(".") :].lower(), name.removeprefix("operator")
    if not is_operator(sign):
        return [name]
    signed = f"operator {sign}" if suffix == ".cs" else f"operator{sign}" if suffix in C_FAMILY or sign != name else sign
    methods = _TABLE.get(suffix, {}).get(name, "")
    return [signed, *(one.rpartition(".")[2] for one in methods.split(",") if one)]


def every_spelling(name: str) -> set[str]:
    """:func:`spellings` in all languages."""
    return {one for suffix in (*_TABLE, ".rb", C_FAMILY[0]) for one in spellings(name, suffix)}


def written(spelling: str) -> str:
    """A pattern of a spelling: after ``operator`` there may be blanks."""
    return re.sub(r"^operator(?:\\ )?(?=\W)", r"operator\\s*", re.escape(spelling))


def defines(name: str, path: str, lines: Sequence[str], span: FunctionSpan) -> bool:
    """Whether a function with one of the :func:`spellings` of a name is it: in Rust by its trait, in Kotlin by a modifier."""
    method = _TABLE.get(path[path.rfind(".") :], {}).get(name, "")
    if path.endswith(_RUST) and method:
        *_, impl = ["", *_IMPL.findall("\n".join(lines[: span.start - 1]))]
        return re.search(rf"\b{method.partition('.')[0]}\b.*\bfor\b", impl, re.DOTALL) is not None
    if path.endswith(_KOTLIN) and method:
        head = "\n".join(lines[span.start - 1 : span.end]).partition(method)[0]
        return re.search(r"\b(?:operator|override)\b", head) is not None
    return True
