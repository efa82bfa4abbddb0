"""What an issue says about where to look: traceback frames, paths, identifiers, error messages and words.

Everything here is a function of the issue's text alone. Names are sorted by how much they are worth a search.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import defaultdict
from dataclasses import dataclass, field

from fusesearch.localizers.lexical.stopwords import COMMON_NAMES, FILE_ENDINGS, STOPWORDS

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_FRAME = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>[\w<>.]+))?')
_PYTEST_FRAME = re.compile(
    r"^\s*(?P<path>[\w./\\-]+\.py):(?P<line>\d+): (?:in (?P<name>[\w<>]+)|\w+(?:Error|Exception|Warning))", re.M
)
_BLOB = re.compile(r"/blob/[^/\s]+/(?P<path>[\w./-]+\.py)(?:#L(?P<line>\d+))?")
_PATH = re.compile(r"(?<![\w.:/\\-])(?:[\w.-]+[/\\])*[\w-]+\.py\b")
_URL = re.compile(r"https?://\S+")
_CALL = re.compile(rf"(?P<name>(?:{IDENTIFIER}\.)*{IDENTIFIER})\(")
_DOTTED = re.compile(rf"(?<![\w./\\@-])(?:{IDENTIFIER}\.)+{IDENTIFIER}(?![\w/\\])")
_WORDLIKE = re.compile(rf"(?<![\w/\\]){IDENTIFIER}")
_BACKTICK = re.compile(r"(?<!`)`{1,2}(?!`)([^`\n]+)`{1,2}")
_IMPORT = re.compile(
    rf"from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>[\w, *()]+)|import\s+(?P<plain>[\w.]+)(?:\s+as\s+{IDENTIFIER})?"
)
_DEFINED = re.compile(rf"^[ \t>.]*(?:async\s+)?(?:def|class)\s+({IDENTIFIER})", re.M)
_ASSIGNED = re.compile(rf"^[ \t>.]*({IDENTIFIER})\s*=\s*(?:{IDENTIFIER}\.)*({IDENTIFIER})\(", re.M)
_BOUND = re.compile(
    rf"^[ \t>.]*({IDENTIFIER})(?:\s*,\s*{IDENTIFIER})*\s*=[^=]|\bas\s+({IDENTIFIER})|\bfor\s+({IDENTIFIER})\s+in\b", re.M
)
_CODE_LINE = re.compile(r"^(?:>>>|\.\.\.) ?(.*)$", re.M)
_FENCE = re.compile(r"^(?:```|~~~).*?$(.*?)^(?:```|~~~)\s*$", re.M | re.S)
_STANDARD_LIBRARY = re.compile(r"(?:lib/python[\d.]+|Python[\d.]+/[Ll]ib)/(?!site-packages|dist-packages)|^<|(?:^|/)pluggy/")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_OPTION = re.compile(r"(?<![\w-])--?([a-z][a-z0-9]+(?:-[a-z0-9]+)*)")
_HYPHENATED = re.compile(r"(?<![\w-])[a-z]+(?:-[a-z]+)+(?![\w-])")
_ENDINGS = {
    "s": ("ations", "ings", "ions", "ies", "ors", "ers", "es", "s"),
    "n": ("ation", "ion"),
    "g": ("ing",),
    "d": ("ied", "ed"),
    "r": ("or", "er"),
    "y": ("ly", "y"),
    "e": ("e",),
}
"""Endings of words by their last letter, the longest first."""


@dataclass(frozen=True)
class Frame:
    """One traceback frame, with the path as the issue gives it."""

    path: str
    line: int
    name: str | None


@dataclass(frozen=True)
class Name:
    """An identifier worth looking up; ``owner`` is the class or module it is used through, if any."""

    text: str
    weight: float
    owner: str | None = None


@dataclass(frozen=True)
class Clues:
    """All clues of one issue. ``names`` and ``words`` are sorted, best first."""

    frames: list[Frame] = field(default_factory=list)
    paths: list[tuple[str, int | None]] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    words: list[tuple[str, float]] = field(default_factory=list)


def draw_clues(issue: str) -> Clues:
    """Clues of an issue text; an empty text gives none."""
    text = _COMMENT.sub("", issue)
    frames = frames_of(text)
    return Clues(
        frames=frames,
        paths=_paths(text, frames),
        modules=modules_of(text),
        names=_names(text, frames),
        words=_words(text),
    )


def subwords(text: str) -> list[str]:
    """Lower-case parts of identifiers and words: ``getHTTPName_x`` gives get, http, name, x."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text)]


def stem(word: str) -> str:
    """A word without the most frequent English endings, as a prefix to search for."""
    if "-" in word or len(word) < 5:
        return word
    for ending in _ENDINGS.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def frames_of(text: str) -> list[Frame]:
    """Traceback frames, outermost first, without those of the standard library and pluggy."""
    found = [*_FRAME.finditer(text), *_PYTEST_FRAME.finditer(text)]
    found.sort(key=lambda match: match.start())
    frames = [Frame(m["path"].replace("\\", "/"), int(m["line"]), m["name"]) for m in found]
    return [frame for frame in frames if not _STANDARD_LIBRARY.search(frame.path)]


def _paths(text: str, frames: list[Frame]) -> list[tuple[str, int | None]]:
    """Paths the issue names outside tracebacks, with a line if a link to the source gives one."""
    found: list[tuple[str, int | None]] = [(m["path"], int(m["line"]) if m["line"] else None) for m in _BLOB.finditer(text)]
    in_frames = {frame.path for frame in frames}
    plain = (m.group().replace("\\", "/").lstrip("./") for m in _PATH.finditer(_URL.sub(" ", text)))
    found += [(path, None) for path in plain if path not in in_frames]
    telling = [
        (path, line) for path, line in found if not re.search(r"(^|/)(test_[^/]*|__init__|setup|conftest)\.py$", path) or line
    ]
    return list(dict.fromkeys(telling))


def modules_of(text: str) -> list[str]:
    """Dotted modules of import statements and of dotted names, in order."""
    modules = [m["module"] or m["plain"] for m in _IMPORT.finditer(text)]
    modules += [m.group().rpartition(".")[0] for m in _DOTTED.finditer(_URL.sub(" ", text))]
    return list(dict.fromkeys(module for module in modules if module))


def _names(text: str, frames: list[Frame]) -> list[Name]:
    own = _defined_in_issue(text)
    classes = {variable: cls for variable, cls in _ASSIGNED.findall(text) if cls[0].isupper()}
    weights: defaultdict[str, float] = defaultdict(float)
    owners: dict[str, str] = {}
    for dotted, weight in _mentions(_URL.sub(" ", text), frames):
        owner, _, name = dotted.rpartition(".")
        head = owner.rpartition(".")[2]
        if head[:1].isupper() and not _is_noise(head) and head not in own:
            weights[head] += weight / 2
        if (_is_noise(name) and not head[:1].isupper()) or name in own:
            continue
        weights[name] += weight
        holder = classes.get(owner.rpartition(".")[2], owner.rpartition(".")[2])
        if holder and holder not in ("self", "cls"):
            owners.setdefault(name, holder)
    order = list(weights)
    ranked = sorted(order, key=lambda name: -min(weights[name], 12.0))
    return [Name(name, weights[name], owners.get(name)) for name in ranked]


def _mentions(text: str, frames: list[Frame]) -> list[tuple[str, float]]:
    """(dotted name, weight) of every mention that looks like code, the most informative kind first."""
    found: list[tuple[str, float]] = []
    named = [frame.name.rpartition(".")[2] for frame in frames if frame.name and frame.name[0] != "<"]
    found += [(name, 3.0 + (5.0 if i == 0 else 0.0)) for i, name in enumerate(reversed(named[-4:]))]
    for i, line in enumerate(reversed(_CODE_LINE.findall(text)[-6:])):
        found += [(name, 6.0 if i == 0 else 2.0) for name in _calls(line)]
    code = "\n".join(_FENCE.findall(text))
    found += [(name, 2.0) for name in _calls(code)]
    prose = _CODE_LINE.sub("", _FENCE.sub("\n", text))
    title = text.strip().partition("\n")[0]
    found += [(name, 3.0) for name in _identifiers(title)]
    found += [(name, 3.0) for span in _BACKTICK.findall(prose) for name in _code_names(span)]
    found += [(name, 2.0) for name in _identifiers(prose)]
    found += [(name, 2.0) for m in _IMPORT.finditer(text) for name in re.findall(r"\w+", m["names"] or "")]
    return found


def _calls(code: str) -> list[str]:
    return [m["name"] for m in _CALL.finditer(code)]


def _code_names(span: str) -> list[str]:
    """Names inside backticks. A single name or call is taken whole, even if it looks like an ordinary word."""
    if re.fullmatch(rf"@?(?:{IDENTIFIER}\.)*{IDENTIFIER}(?:\(.*\))?", span.strip()):
        return [re.sub(r"\(.*", "", span.strip()).lstrip("@")]
    return _identifiers(span) + _calls(span)


def _identifiers(text: str) -> list[str]:
    """Dotted, snake_case, CamelCase and called names of running text."""
    dotted = [m.group() for m in _DOTTED.finditer(text) if m.group().rpartition(".")[2] not in FILE_ENDINGS]
    covered = {part for name in dotted for part in name.split(".")}
    plain = [m.group() for m in _WORDLIKE.finditer(text)]
    return dotted + [name for name in plain if name not in covered and _looks_like_code(name)] + _calls(text)


def _looks_like_code(name: str) -> bool:
    inner = name.strip("_")
    snake = "_" in inner or (name.startswith("_") and len(inner) > 2)
    camel = re.search(r"[a-z][A-Z]", name) is not None or re.match(r"[A-Z]{2,}[a-z]{2,}", name) is not None
    return snake or camel


def _defined_in_issue(text: str) -> set[str]:
    """Names that the issue's own example defines or binds, so that they are not the repository's."""
    defined = {name for name in _DEFINED.findall(text) if not _CODE_LINE.search(text) or name.startswith("test")}
    bound = {name for groups in _BOUND.findall(text) for name in groups if name}
    return defined | bound | {name for name in _WORDLIKE.findall(text) if name.startswith(("test_", "Test"))}


def _is_noise(name: str) -> bool:
    return len(name) < 2 or keyword.iskeyword(name) or hasattr(builtins, name) or name in COMMON_NAMES or name.strip("_") == ""


def _words(text: str) -> list[tuple[str, float]]:
    """Words and options of the prose with their weights; the title weighs three times as much."""
    title, _, body = _URL.sub(" ", text).strip().partition("\n")
    prose = _CODE_LINE.sub("", _FENCE.sub("\n", body))
    weights: defaultdict[str, float] = defaultdict(float)
    for part, weight in ((title, 3.0), (prose, 1.0)):
        for option in [*_OPTION.findall(part), *_HYPHENATED.findall(part)]:
            weights[option] += weight
        for word in re.findall(r"[A-Za-z][A-Za-z]{3,}", part):
            if word.lower() not in STOPWORDS and not _is_noise(word):
                weights[stem(word.lower())] += weight
    return sorted(((word, min(weight, 6.0)) for word, weight in weights.items()), key=lambda pair: -pair[1])
