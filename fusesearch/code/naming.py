"""How languages write the name of a function, and how people and models write it after a path: the one grammar of entities.

A name has parts with dots between them, as :mod:`fusesearch.code.spans` has it: ``Order.paid?``, ``V.operator==``, ``A.#secret``.
:func:`read_name` reads text by its form alone. :func:`spelled` looks text up among the names of a file, which is exact.
:func:`written_paths` and :data:`SUFFIXLESS` do the same for paths.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from fusesearch.code.spans import is_python

MAX_CHARS = 1000
MAX_PARTS = 100
_PYTHON_CHARS, _PYTHON_PARTS = 300, 20
MAX_NAMES = 20_000
"""Names of one file among which a text is looked up in another form."""

_IDENTIFIER = r"[^\W\d][\w$]*|\$[\w$]*"
_RUBY = r"<=>|===?|=~|![=~]?|\*\*|[+!~-]@|<<|>>|<=|>=|\[\]=?|[-+*/%<>^&|~!]"
_OPERATOR = (  # of C++ and C#
    r"operator(?:(?:\s+checked)?\s*(?:\(\)|\[\]|\"\"\s*\w+|(?:<=>|<<=|>>>?=|->\*|[-+*/%^&|<>=!~]=|&&|\|\||\+\+|--|<<|>>>?|->|[-+*/%^&|~!=<>,]))"
    r"|\s+(?:new|delete)(?:\s*\[\])?|\s+(?:const\s+)?[\w:]+(?:<[^<>\n]{0,100}>)?(?:\s*[*&]+)?)"
)
_PLAIN = rf"(?:r\#|[~\#@])?(?:{_IDENTIFIER})(?:-[\w$]+)*"


def _grammar(setter: str, signs: str = "") -> re.Pattern[str]:
    """One part of a name. ``setter`` cannot follow the ``=`` that ends a name; ``signs`` is a form that comes first."""
    return re.compile(
        rf"{signs}(?P<operator>{_OPERATOR})(?![\w$])"
        r"|`(?P<quoted>[^`\n]{1,200})`"
        r"|(?P<bracketed>\[[\w.:;& ]{1,100}\])"  # Rust's [u8], JavaScript's [Symbol.iterator]
        rf"|(?P<plain>{_PLAIN}(?:[?!](?!=|\.[\w(\[])|=(?!{setter}))?)"
        rf"|(?P<ruby>{_RUBY})(?![\w$])"
    )


_PART = _grammar(r"[=~>\w(]")
_RUBY_PART = _grammar(r"[=~>\w]")  # def name=(value)
_SIGNS = r"[^\w\s.,;()\[\]{}`'\"]+"
_SIGNED_PART = _grammar(r"[=~>\w]", rf"(?P<signs>[^\W\d][\w$]*_{_SIGNS}(?![\w$])|{_SIGNS}(?![\w$]))|")
"""Of Scala and Swift, where any signs can be a name, in Scala also after a word: ``+:``, ``:::``, ``unary_!``."""
_PYTHON_PART = re.compile(r"(?P<plain>[^\W\d]\w*)")
_KEY = re.compile(r"\[(?P<mark>['\"])(?P<key>[^\n]{1,200}?)(?P=mark)\]")
"""A key of an object in brackets and quotes, after the object."""
_TEXT_KEY = re.compile(r"(?P<mark>['\"])(?P<key>[^'\"\n]{1,200})(?P=mark)")
_COMPUTED = re.compile(r"\[(?:Symbol\.\w{1,60}|`[^`\n]{1,100}`)\]")
_SEPARATOR = re.compile(r"\.|::|->|\?\.(?=[\w\[])|#")
_TYPES = re.compile(r"\[[\w.*, \[\]]{1,100}\](?=[.)])")
"""Go's type arguments between a type and its method."""
_AFTER_TYPES = re.compile(r"[.:#(\s\[]|->|\Z")
_GO_RECEIVER = re.compile(r"\(\*?\s*(?:\w+\.)*([^\W\d]\w*)(?:\[[\w.*, ]{1,100}\])?\)(?=\.)")
_GO_METHOD = re.compile(r"\((?:[^\W\d]\w*\s+)?\*?([^\W\d]\w*)(?:\[[\w.*, ]{1,100}\])?\)\s+(?=[^\W\d])")
_NAMESPACE = re.compile(r"\\?(?:\w+\\)+(?=\w)")
_KEYWORDS = {
    "rb": "def", "rake": "def", "kt": "fun", "kts": "fun", "go": "func", "rs": "fn", "php": "function",
    "swift": r"(?:class\s+)?func", "scala": "def", "sc": "def",
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"), "function"),
}  # fmt: skip
_MODIFIERS = (
    r"(?:(?:async|static|public|private|protected|internal|override|virtual|abstract|suspend|inline|constexpr|open|final|export"
    r"|default|unsafe|extern|const|fileprivate|mutating|nonmutating|nonisolated|convenience|required|prefix|postfix|implicit"
    r"|pub(?:\([^)\n]{0,40}\))?|void|int|bool|char|auto|unsigned|get|set|<[\w\s,]{1,40}>)\s+)"
)
_HEADER = re.compile(rf"{_MODIFIERS}+[*&]?(?=[^\s(]+\s*\()|(?:(?:async|static|get|set)\s+)+\*?(?=\S+\Z)")
_DEFINITIONS = {suffix: re.compile(rf"{_MODIFIERS}*{word}\b\s*\*?\s*(?=\S)") for suffix, word in _KEYWORDS.items()}
_CONVERSION = re.compile(r"(?:implicit|explicit)\s+(?=operator\b)")
_SELF = re.compile(r"(?:(?:self|this|Self|\$this|static|module\.exports|exports|crate|super)(?:\.|::|->)|::)+(?=[^\W\d]|[$#`\[])")
_CONSTRUCTOR = re.compile(r"(\w+)(?:\.|#|::)<init>")
_FAILABLE = re.compile(r"(?<=\binit)[?!](?=[(<])")
_NESTED = re.compile(r"(?<=\w)\$(?=[A-Z])")  # of the JVM
_INTERFACE = re.compile(r"(?:(?<=\.)|^)I[A-Z]\w*\.(?=[^.]+$)")
_WRAPPED = [(mark, mark) for mark in ("**", "``", "`", '"', "'")]
_STOP = re.compile(r"\Z|[\s,;()`*\"']|:(?!:)|\.(?:\s|\Z)")
"""What can follow a whole name."""


def read_name(text: str, path: str = "") -> tuple[str, str] | None:
    """The name at the start of ``text`` in our form, and the text after it; None if there is none.

    Python's names are identifiers, so in a file that ends in ``.py`` a mark such as ``?`` ends the name. Takes the forms that
    models write, too: ``V<T>::f``, ``A#m``, ``(*Server).Handle``, ``<T as X>::f``, ``obj['key']``, ``def self.paid?``.
    """
    text = text[:MAX_CHARS]
    if is_python(path):
        return _parts(text[:_PYTHON_CHARS], _PYTHON_PART, path)
    suffix = path.rpartition(".")[2].lower()
    if path:
        definition = _DEFINITIONS[suffix].match(text) if suffix in _DEFINITIONS else None
        if match := definition or _HEADER.match(text):
            text = text[match.end() :]
        text = (
            _SELF.sub("", _CONVERSION.sub("", text, count=1), count=1)
            if _SELF.match(text)
            else _CONVERSION.sub("", text, count=1)
        )
        text = _FAILABLE.sub("", text, count=1) if suffix == "swift" else text
        text = _CONSTRUCTOR.sub(r"\1.\1", text)
    owner, text = _owner(text, suffix)
    grammar = _RUBY_PART if suffix in ("rb", "rake") else _SIGNED_PART if suffix in ("swift", "scala", "sc") else _PART
    found = _parts(text, grammar, path, owner)
    return (_of_language(found[0], suffix), found[1]) if found else None


def _of_language(name: str, suffix: str) -> str:
    """A name without what its language leaves out: Java's packages, JavaScript's ``prototype``."""
    if suffix in ("scala", "sc"):
        name = name.replace("$.", ".")  # an object of the JVM
    if suffix in ("java", "kt", "kts", "scala", "sc"):
        name = _NESTED.sub(".", name)
    if suffix == "java":
        name = re.sub(r"^(?:[a-z_0-9]+\.)+(?=[A-Z])", "", name)
    return name.replace(".prototype.", ".") if suffix in ("js", "jsx", "mjs", "cjs", "ts", "tsx") else name


def _parts(text: str, grammar: re.Pattern[str], path: str, owner: str = "") -> tuple[str, str] | None:
    """The parts at the start of a text, joined, and the rest. After an ``owner`` the text begins with a separator."""
    parts: list[str] = [owner] if owner else []
    python = grammar is _PYTHON_PART
    position = _SEPARATOR.match(text).end() if owner else 0  # type: ignore[union-attr]
    while len(parts) < (_PYTHON_PARTS if python else MAX_PARTS):
        part = grammar.match(text, position)
        if part is None:
            receiver = None if python else _GO_RECEIVER.match(text, position)
            key = None if python or not parts else _TEXT_KEY.match(text, position)
            if receiver:  # Go names have no package before them
                parts, position = [receiver[1]], receiver.end()
            elif key:
                parts, position = [*parts, key["key"]], key.end()
            else:
                break
        else:
            parts.append(_written(part, path))
            position = part.end()
        if not python and part and part.lastgroup == "plain":
            position = _after_types(text, position)
            while key := _KEY.match(text, position) or _COMPUTED.match(text, position):
                parts, position = [*parts, key["key"] if "key" in key.groupdict() else key[0]], key.end()
        separator = _SEPARATOR.match(text, position)
        if separator is None:
            break
        after = separator.end()
        if not python and separator[0] in ("::", ".") and text.startswith("<", after) and _after_types(text, after) > after:
            position = _after_types(text, after)  # Rust's Vec::<T>::new
            separator = _SEPARATOR.match(text, position)
            if separator is None:
                break
            after = separator.end()
        if not (grammar.match(text, after) or (not python and (_TEXT_KEY.match(text, after) or _GO_RECEIVER.match(text, after)))):
            break
        position = after
    return (".".join(parts), text[position:]) if parts else None


def _written(part: re.Match[str], path: str) -> str:
    if part.lastgroup == "operator":
        sign = " " if path.endswith(".cs") else ""  # as C# is written: ``operator ==``
        name = (
            re.sub(r"operator\s*(?=[^\w\s])", f"operator{sign}", " ".join(part[0].split()))
            .replace('"" ', '""')
            .replace(" [", "[")
        )
        return name if "[" in name or not re.match(r"operator \w", name) else re.sub(r"(?<=operator )const |\s*[*&]+$", "", name)
    if part.lastgroup == "bracketed":
        return "".join(part[0].split())
    return part["quoted"] if part.lastgroup == "quoted" else part[0]


def _after_types(text: str, position: int) -> int:
    """The position after type arguments, ``<K, List<V>>`` or Go's ``[T]``, or ``position`` if none stand there."""
    if match := _TYPES.match(text, position):
        return match.end()
    end = _closing(text, position)
    return end if end and _AFTER_TYPES.match(text, end) else position


def _closing(text: str, position: int) -> int:
    """The position after the ``>`` that closes the ``<`` at ``position``; 0 if there is none within 200 characters of a line."""
    depth = 0
    for index in range(position, min(len(text), position + 200)):
        sign = text[index]
        if sign == "\n" or (index == position and sign != "<"):
            return 0
        depth += (sign == "<") - (sign == ">" and text[index - 1] not in "-=")
        if not depth:
            return index + 1
    return 0


def _owner(text: str, suffix: str) -> tuple[str, str]:
    """What stands before a name in a form of its own, and the text from the separator on.

    ``Cart`` of ``<Cart as Total>::sum``, ``Server`` of ``(s *Server) Handle``; nothing of PHP's ``App\\f``.
    """
    if text.startswith("<") and (end := _closing(text, 0)) and text.startswith("::", end):
        owner = _before(text[1 : end - 1].removeprefix("impl ").rpartition(" for ")[2], " as ").strip()
        owner = re.sub(r"^(?:&|'\w+\s|mut\s|\*const\s|\*mut\s|\s)+", "", owner)
        if re.match(r"[^\W\d]", owner) and not owner.startswith(("dyn ", "fn(")):
            owner = owner.partition("<")[0].rpartition("::")[2]
        return "".join(owner.split()), text[end:] if owner else text
    if suffix == "go" and (match := _GO_METHOD.match(text)):
        return match[1], f".{text[match.end() :]}"
    match = _NAMESPACE.match(text)
    return "", text[match.end() :] if match else text


def _before(text: str, mark: str) -> str:
    """``text`` before ``mark`` outside type arguments."""
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign == "<") - (sign == ">")
        if not depth and text.startswith(mark, index):
            return text[:index]
    return text


def unwrapped(text: str) -> str:
    """``text`` without blanks and without the backticks, quotes or stars that enclose all of it."""
    text = text.strip()
    for opening, closing in _WRAPPED:
        inner = text[len(opening) : -len(closing)]
        if len(text) > 2 * len(opening) and text.startswith(opening) and text.endswith(closing) and opening not in inner:
            return inner.strip()
    return text


# Looking up


def spelled(text: str, names: Collection[str], path: str = "") -> str:
    """What ``text`` writes, as ``names``, the functions or classes of its file, spell it: the exact name before any other form.

    A text with the end of a name stays that end. What no name fits is in the form of :func:`read_name`, or as it is given, as
    are all names of Python.
    """
    if is_python(path):
        return text
    text = unwrapped(text[:MAX_CHARS])
    if text in names:
        return text
    if start := _start(text, names):
        return start
    forms = list(dict.fromkeys(_forms(text, path)))
    for form in forms:
        if form in names or any(name.endswith(f".{form}") for name in names):
            return form
    keys: dict[str, set[str]] = {}
    for name in list(names)[:MAX_NAMES]:
        keys.setdefault(_plainer(name), set()).add(name)
    for form in forms:
        if alike := _alike(form, keys) or _inside(form, names):
            return alike
    return forms[0]


def _forms(text: str, path: str) -> Iterator[str]:
    """The names that a text can write, the likeliest first."""
    inner = re.sub(r"^`([^`]+)`", r"\1", text)
    head = text.partition("(")[0].rstrip()
    last = re.split(r"\s+(?![^<>]*>)", head)[-1].lstrip("*&") if "(" in text else head  # after a type, in a header
    for one in (text, inner, last):
        if found := read_name(one, path):
            yield found[0]
            if path.endswith(".cs"):
                yield _INTERFACE.sub("", found[0])
    yield from filter(None, (text, head))


def _start(text: str, names: Collection[str]) -> str:
    """The longest name that ``text`` begins with."""
    whole = (name for name in names if text.startswith(name) and _STOP.match(text, len(name)))
    return max(whole, key=len, default="")


def _alike(form: str, keys: Mapping[str, Collection[str]]) -> str:
    """The only name that is the same, or ends the same, without marks, blanks, quotes and types."""
    wanted = _plainer(form)
    ends = {name for key, one in keys.items() if key.endswith(f".{wanted}") for name in one}
    return next((next(iter(found)) for found in (keys.get(wanted, ()), ends) if wanted and len(found) == 1), "")


def _inside(form: str, names: Collection[str]) -> str:
    """The name that is left without leading packages, in lower case, or without leading parts if two parts remain."""
    parts = form.split(".")
    if any(".".join(parts[:count]) in names for count in range(1, len(parts))):  # nested in that one
        return ""
    for count in range(1, len(parts)):
        rest = ".".join(parts[count:])
        if rest in names and (count < len(parts) - 1 or all(part == part.lower() for part in parts[:count])):
            return rest
    return ""


@lru_cache(maxsize=50_000)
def _plainer(name: str) -> str:
    name = re.sub(r"\.?\[(['\"])(.*?)\1\]", r".\2", name)
    name = re.sub(r"\br#|\.prototype\b|(?<=\w)\?(?=\.)", "", name)
    name = re.sub(r"(?<![.:])(?:::|->)(?!\Z)|(?<=\w)#|(?<=\w)\$(?=[^\W\d])", ".", name)
    name = re.sub(r"(?<=\.)I[A-Z]\w*\.(?=[^.]+$)", "", name)
    if "operator" not in name:
        name = re.sub(r"<[\w\s,.*&?:]*>(?=[.>,])", "", name)
    return re.sub(r"[\s`'\"#]+", "", name).replace("..", ".")


# Paths

SUFFIXLESS = re.compile(
    r"(?:GNU)?[Mm]akefile|[A-Z]\w*file|justfile|BUILD|WORKSPACE|LICEN[SC]E|COPYING|README|CHANGELOG|CHANGES|NEWS|AUTHORS|CODEOWNERS"
    r"|VERSION|Kconfig|Kbuild|SConstruct|SConscript|configure|gradlew|mvnw|bootstrap|Cask"
)
"""Names of files that have no suffix."""

_PATH_ENDS = re.compile(r"::|[ \t]*[,;|][ \t]|[,;:]+$|:(?=\d)|:[ \t]|[ \t]+(?:[-–—#|]|\(|is |and )|\.?$")  # noqa: RUF001


def written_paths(text: str) -> Iterator[str]:
    """Texts at the start of a line that can be its path, the longest first: the reader knows which of them is a file."""
    text = text.strip()[:MAX_CHARS]
    for mark in ("`", '"', "'"):
        if text.startswith(mark) and (end := text.find(mark, 1)) > 0:
            yield text[1:end].partition("::")[0]
    yield text
    ends = [match.start() for match in _PATH_ENDS.finditer(text)]
    for end in sorted(set(ends), reverse=True)[:50]:
        if path := text[:end].rstrip():
            yield path
    yield text.split(maxsplit=1)[0] if text else ""
