"""What an issue names: words, code, traceback frames, paths and lines, modules and literals. A function of its text alone."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from fusesearch.localizers.lexical.clues import URL, Frame
from fusesearch.localizers.lexical.stopwords import COMMON_NAMES, SHORT_WORDS, STOPWORDS, word_set
from fusesearch.localizers.ranker.columns import NAMED
from fusesearch.localizers.ranker.facts import IDENTIFIER as _IDENTIFIER
from fusesearch.localizers.ranker.facts import LOWER, UPPER, literal_terms, same_letters, words_of
from fusesearch.localizers.ranker.frames import all_frames
from fusesearch.localizers.ranker.reading import MAX_CHARS, SUFFIXES, readable, without_noise

MAX_WORDS = 250
MAX_NAMES = 150
MAX_PARTS, MAX_PART_CHARS = 1000, 24
"""Parts of text without blanks that are tried as names, and characters of one."""
MAX_LITERALS = 300
MAX_TITLE_CHARS = 300
MANY_OPTIONS = 3
"""Options of a line outside the title from which none counts."""
LEAST_STEM = 4
"""Characters of a word that can be the name of a file without its separators."""

IDENTIFIER = _IDENTIFIER.pattern
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ENDLESS = re.compile(r"\w{200,}")
WIDE = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Letters of scripts that put no blanks between words, or endings to names."""
_UNSPACED = re.compile(rf"\w*{WIDE.pattern}\w*")
_LINK = re.compile(
    r"(?:/(?:blob|blame|raw|edit|tree)/[^/\s]+|raw\.githubusercontent\.com/[^/\s]+/[^/\s]+/(?:refs/heads/)?[^/\s]+)"
    rf"/(?P<path>[\w./@+()\[\]-]+\.(?:{SUFFIXES}))\b(?:#L(?P<line>\d+))?"
)
_PATH = re.compile(
    r"(?<![\w.:/\\@-])(?P<path>(?:[A-Za-z]:[/\\]|[~.]{0,2}[/\\])?(?:[\w.@~+-]{1,100}[/\\]){0,30}"
    rf"[\w.-]{{1,100}}\.(?:{SUFFIXES}))\b(?![\w/\\-])(?:(?::|#L|\", line |, line | on line | line )(?P<line>\d{{1,6}}))?"
)
_BRACKET = r"\[{1,2}[\w.$-]{1,100}\]{1,2}|\([\w.@$-]{1,100}\)"
_BRACKETS = re.compile(
    rf"(?<![\w.:/\\@\])-])(?P<path>(?:(?:[\w.@~+$-]|{_BRACKET}){{1,100}}/){{0,30}}"
    rf"(?:{_BRACKET})(?:(?:[\w.@~+$-]|{_BRACKET}){{0,100}}/){{0,30}}[\w.\[\]$-]{{0,100}}\.(?:{SUFFIXES}))\b"
)
"""A path with a part in brackets, such as ``app/(shop)/[id].tsx``."""
_BLANKS = re.compile(rf"[`\"'](?P<path>[\w.@~+-][^`\"'\n]{{0,200}}?[ ,][^`\"'\n]{{0,200}}?\.(?:{SUFFIXES}))[`\"']")
"""A path with blanks or commas, in quotes."""
_FOLDER = re.compile(
    r"(?<![\w.:/\\@-])(?:[A-Za-z]:|[~.]{0,2})[/\\][\w.@+-]+[\w./\\@+-]*|(?<![\w.@+-])[\w.@+-]+(?:[/\\][\w.@+-]+){2,}[/\\]?"
)
"""An absolute path, or one of three parts or more."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.|In \[\d+\]:|\$|irb[^>\n]{0,30}>) ?(.*)$", re.MULTILINE)
_INDENTED = re.compile(r"(?:^(?: {4}|\t)[^\n]*\n?)+", re.MULTILINE)
_BACKTICK = re.compile(r"(?<!`)`{1,2}(?!`)([^`\n]{1,200})`{1,2}")
_DOTTED = re.compile(rf"(?<![\w/\\@-])(?:{IDENTIFIER}(?:\.|::|#|->)){{1,8}}{IDENTIFIER}(?![\w/\\])")
_CALL = re.compile(rf"((?:{IDENTIFIER}(?:\.|::|->)){{0,8}}{IDENTIFIER})\(")
_OWNERS = rf"(?P<owners>(?:{IDENTIFIER}(?:\.|::|#|->)){{0,8}})"
_MARKED = re.compile(
    rf"(?<![\w@$]){_OWNERS}(?P<name>~(?P<destructor>{IDENTIFIER})|operator\s?(?:\(\)|\[\]|\"\"\s?\w+|[^\w\s(`'\",]{{1,3}})|r\#(?P<raw>{IDENTIFIER})"
    rf"|(?P<owned>operator\s(?:\w+::)*\w+(?:<[^<>\n]{{0,60}}>)?|(?:\[\]=?|<=>|===?|=~|<<|[!+*/%-])(?=[`(]|\s|$))"
    rf"|[$#](?P<private>{IDENTIFIER})|(?P<plain>{IDENTIFIER})(?:[?!](?![\w=?!])|=(?=[\s`(]|$)))"
)
"""A name with a mark that other languages than Python allow: ``paid?``, ``total=``, ``~Store``, ``#secret``, ``operator==``."""
_ENDS = re.compile(r"\s{0,9}(?:\Z|\n|[A-Z])")
_NAME = re.compile(rf"(?<![\w@]){IDENTIFIER}")
_COMPOUND = re.compile(r"\w+(?:-\w+)*")
_CAPITAL = re.compile(rf"(?<![\w/\\@.-])[{UPPER}][{LOWER}]\w+")
_IMPORT = re.compile(r"\bfrom[ \t]+([\w.]+)[ \t]+import[ \t]+([\w, \t*()]+)|^[ \t>.]*import[ \t]+([\w.]+)", re.MULTILINE)
_DEFINED = re.compile(rf"^[ \t>.]*(?:async[ \t]+)?(?:def|class|function|func|fn)[ \t]+({IDENTIFIER})", re.MULTILINE)
_BOUND = re.compile(
    rf"^[ \t>.]*({IDENTIFIER})(?:[ \t]*,[ \t]*{IDENTIFIER}){{0,5}}[ \t]*=[^=]|\bas[ \t]+({IDENTIFIER})"
    rf"|\bfor[ \t]+({IDENTIFIER})[ \t]+in\b",
    re.MULTILINE,
)
_MESSAGE = re.compile(r"^(?:E[ \t]+)?[\w.]*(?:Error|Exception|Warning|panic|error): (?P<message>[^\n]{3,400})$", re.MULTILINE)
_QUOTED = re.compile(r"[\"“']([^\"“”'\n]{2,120})[\"”']")
_OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]{1,40}")
_HYPHENATED = re.compile(r"(?<![\w-])[a-z]+(?:-[a-z]+){1,5}(?![\w-])")
_CODE = re.compile(r"(?<![\w.])(?:[a-z_]{1,30}\.)?[A-Z]{1,5}-?\d{2,5}(?!\w)")
_ENDINGS = word_set("py pyi js ts java go rs rb php com org net io txt toml ini cfg md rst html json yaml yml png")


@dataclass(frozen=True)
class Mention:
    """How a name is mentioned, and the names before its dots."""

    kinds: frozenset[str]
    owners: frozenset[str]

    def __or__(self, other: Mention) -> Mention:
        return Mention(self.kinds | other.kinds, self.owners | other.owners)


class Marked(NamedTuple):
    """How a name with a mark is mentioned, and the name without its mark if the issue has that only as a part of it."""

    mention: Mention
    plain: str


class Mentioned(NamedTuple):
    """A path as the issue has it; one of a link begins at the root of a repository, which may be another."""

    path: str
    line: int | None
    link: bool = False


@dataclass(frozen=True)
class Evidence:
    """All that an issue names.

    ``title``, ``prose`` and ``block`` are the words of the title, of the running text and of code, with the times they occur;
    ``frames`` begin with the outermost; ``paths`` have a line where one is given; ``literals`` are terms of string literals;
    ``stems`` are words of the title that a file can be named after, as :func:`squashed` has them; ``marked`` are names with
    marks, ``unusual`` paths with brackets, blanks or commas: they count where a tree has exactly these; ``parts`` are parts of
    text without blanks, which count where a tree defines them.
    """

    title: dict[str, int] = field(default_factory=dict)
    prose: dict[str, int] = field(default_factory=dict)
    block: dict[str, int] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    paths: list[Mentioned] = field(default_factory=list)
    names: dict[str, Mention] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    stems: frozenset[str] = frozenset()
    marked: dict[str, Marked] = field(default_factory=dict)
    unusual: list[str] = field(default_factory=list)
    parts: dict[str, Mention] = field(default_factory=dict)
    chars: int = 0

    @property
    def words(self) -> dict[str, float]:
        """The words that count, with their weights: twice in the title, by the logarithm of how often elsewhere."""
        weights: Counter[str] = Counter()
        for part, weight in ((self.title, 2.0), (self.prose, 1.0), (self.block, 0.5)):
            for word, times in part.items():
                weights[word] += weight * (1 + math.log2(times))  # type: ignore[assignment]
        return dict(weights.most_common(MAX_WORDS))


def draw_evidence(issue: str) -> Evidence:
    """The evidence of an issue; an empty text gives none."""
    whole = _ENDLESS.sub(" ", same_letters(readable(issue).strip().replace("\r\n", "\n")))
    text = _COMMENT.sub(" ", WIDE.sub(r" \g<0> ", whole))
    title, _, body = text.partition("\n")
    title, rest = title[:MAX_TITLE_CHARS], title[MAX_TITLE_CHARS:]
    frames = all_frames(text)
    plain = without_noise(URL.sub(" ", f"{rest}\n{body}" if rest else body))
    blocks = [*_FENCE.findall(plain)]
    prose = _FENCE.sub("\n", plain)
    blocks += _PROMPT.findall(prose)
    prose = _PROMPT.sub("", prose)
    blocks += _INDENTED.findall(prose)
    code = "\n".join(blocks)
    prose = _INDENTED.sub("\n", prose)
    return Evidence(
        title=_words(title),
        prose=_words(prose),
        block=_words(code),
        frames=frames,
        paths=_paths(text) if text.isascii() else list(dict.fromkeys([*_paths(text), *_paths(whole)]))[:MAX_NAMES],
        names=_names(title, prose, code),
        modules=_modules(URL.sub(" ", text)),
        literals=_literals(title, prose, code),
        stems=_stems(title),
        marked=_marked(title, prose, code),
        unusual=_unusual(text),
        parts=_parts(whole),
        chars=len(issue),
    )


def _parts(text: str) -> dict[str, Mention]:
    """All parts of text without blanks that begin and end beside one of its letters."""
    title, _, rest = text.partition("\n")
    found: dict[str, Mention] = {}
    for kind, part in (("title", title), ("prose", rest)):
        for run in dict.fromkeys(_UNSPACED.findall(part[:MAX_CHARS])):
            wide = [False, *(WIDE.match(letter) is not None for letter in run), False]
            ends = [end for end in range(len(run) + 1) if wide[end] or wide[end + 1] or end in (0, len(run))]
            for start, end in combinations(ends, 2):
                if 1 < end - start <= MAX_PART_CHARS and len(found) < MAX_PARTS:
                    found.setdefault(run[start:end], Mention(frozenset([kind]), frozenset()))
    return found


def squashed(name: str) -> str:
    """A name in lower case without what separates its words: equal for ``trivial_accessors`` and ``TrivialAccessors``."""
    return re.sub(r"[\W_]+", "", name).lower()


def _stems(text: str) -> frozenset[str]:
    return frozenset(found for name in _COMPOUND.findall(_without_paths(text)) if len(found := squashed(name)) >= LEAST_STEM)


def _without_paths(text: str) -> str:
    """A file's name stays as a word where no folder stands before it; its suffix does not."""

    def stem(match: re.Match[str]) -> str:
        path = match["path"]
        return " " if re.search(r"[/\\]", path) else f" {path.rpartition('.')[0]} "

    return _FOLDER.sub(" ", _PATH.sub(stem, text))


def _words(text: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for name in _NAME.findall(_without_paths(text)):
        words = words_of(name)
        if len(words) > 1 or (name.lower() not in STOPWORDS and name.lower() not in SHORT_WORDS):
            counts.update(word for word in words if len(word) > 1 and word not in SHORT_WORDS)
    return dict(counts)


def _paths(text: str) -> list[Mentioned]:
    def mentioned(match: re.Match[str], link: bool) -> Mentioned:
        return Mentioned(match["path"].replace("\\", "/"), int(match["line"]) if match["line"] else None, link)

    found = [mentioned(match, True) for match in _LINK.finditer(text)]
    found += [mentioned(match, False) for match in _PATH.finditer(URL.sub(" ", text))]
    return list(dict.fromkeys(found))[:MAX_NAMES]


def _unusual(text: str) -> list[str]:
    plain = URL.sub(" ", text)
    found = (match["path"] for pattern in (_BRACKETS, _BLANKS) for match in pattern.finditer(plain))
    return list(dict.fromkeys(path.removeprefix("./").removeprefix("/repo/") for path in found))[:MAX_NAMES]


def _modules(text: str) -> list[str]:
    """Dotted names of imports and elsewhere, which may be modules or what modules hold."""
    found = [module or plain for module, _, plain in _IMPORT.findall(text)]
    found += [".".join(_split(match)) for match in _DOTTED.findall(text)]
    return list(dict.fromkeys(found))[:MAX_NAMES]


def _split(dotted: str) -> list[str]:
    return [part for part in re.split(r"\.|::|#|->", dotted) if part]


def _names(title: str, prose: str, code: str) -> dict[str, Mention]:
    own = {*_DEFINED.findall(code), *(name for groups in _BOUND.findall(code) for name in groups if name)}
    kinds: dict[str, set[str]] = {}
    owners: dict[str, set[str]] = {}

    def mention(dotted: str, kind: str) -> None:
        *before, name = _split(dotted)
        if name in own and kind not in ("title", "inline"):
            return
        if not is_noise(name):
            kinds.setdefault(name, set()).update([kind, "dotted"] if before else [kind])
            owners.setdefault(name, set()).update(before[-2:])
        for owner in before[-2:]:
            if not is_noise(owner) and owner not in own:
                kinds.setdefault(owner, set()).add("owner")

    for name in [*_named(title), *_CALL.findall(title)]:
        mention(name, "title")
    for span in _BACKTICK.findall(title) + _BACKTICK.findall(prose):
        whole = re.fullmatch(rf"@?((?:{IDENTIFIER}(?:\.|::|#|->)){{0,8}}{IDENTIFIER})(?:\(.*\))?", span.strip())
        for name in [whole[1]] if whole else [*_named(span), *_CALL.findall(span)]:
            mention(name, "title" if whole and f"`{span}`" in title else "inline")
    for line in [title, *_BACKTICK.findall(prose), *code.split("\n"), *prose.split("\n")]:
        for name in _outermost(line):
            mention(name, "outer")
    for name in [*_CALL.findall(code), *_DOTTED.findall(code), *filter(looks_like_code, _NAME.findall(_without_paths(code)))]:
        mention(name, "block")
    for name in [*_named(prose), *_CALL.findall(prose)]:
        mention(name, "prose")
    for _, names, _ in _IMPORT.findall(f"{prose}\n{code}"):
        for name in re.findall(r"\w+", names):
            mention(name, "imported")
    for name in [*_NAME.findall(_without_paths(title)), *_CAPITAL.findall(prose)]:
        if (len(name) > 2 or name[-1].isdigit()) and name.lower() not in STOPWORDS:
            mention(name, "plain")
    found = {name: Mention(frozenset(kinds[name]), frozenset(owners.get(name, ()))) for name in kinds}
    best = sorted(found, key=lambda name: min(NAMED.index(kind) for kind in found[name].kinds))
    return {name: found[name] for name in best[:MAX_NAMES]}


def _marked(title: str, prose: str, code: str) -> dict[str, Marked]:
    """Names with marks. A word before the ``?`` or ``!`` that ends a sentence counts only if it looks like code."""
    found: dict[str, Mention] = {}
    plain: dict[str, str] = {}
    spans = _BACKTICK.findall(title) + _BACKTICK.findall(prose)
    texts = [
        *((span, "title" if f"`{span}`" in title else "inline") for span in spans),
        (title, "title"),
        (prose, "prose"),
        (code, "block"),
    ]
    for text, kind in texts:
        for match in _MARKED.finditer(text):
            owners, name, word = _split(match["owners"]), match["name"], match["plain"]
            known = kind in ("inline", "block") or bool(owners) or text in spans
            ends = name[-1] in "?!" and _ENDS.match(text, match.end()) is not None
            if match["owned"] and not owners:
                continue
            if not known and ((word and name[-1] == "=") or name[0] == "#" or (ends and not looks_like_code(word or ""))):
                continue
            mention = Mention(frozenset([kind, "dotted"] if owners else [kind]), frozenset(owners[-2:]))
            for spelling in {name, name.replace("operator ", "operator"), re.sub(r"operator(?=\S)", "operator ", name)}:
                found[spelling] = found[spelling] | mention if spelling in found else mention
                plain[spelling] = word or match["private"] or match["raw"] or ""
    everything = f"{title}\n{prose}\n{code}"

    def only(name: str) -> str:
        word = plain[name]
        return word if word and not re.search(rf"(?<![\w#$]){word}(?![\w?!]|=\S)", everything) else ""

    return {name: Marked(found[name], only(name)) for name in list(found)[:MAX_NAMES]}


def _named(text: str) -> Iterator[str]:
    """Dotted, snake_case and CamelCase names of running text."""
    for dotted in _DOTTED.findall(text):
        if dotted.rpartition(".")[2] not in _ENDINGS:
            yield dotted
    yield from filter(looks_like_code, _NAME.findall(_without_paths(text)))


def _outermost(line: str) -> Iterator[str]:
    """The calls of a line that are not inside the parentheses of another."""
    depth, position = 0, 0
    for match in _CALL.finditer(line[:500]):
        between = line[position : match.start()]
        depth = max(0, depth + between.count("(") - between.count(")"))
        if depth == 0:
            yield match[1]
        depth += 1
        position = match.end()


def looks_like_code(name: str) -> bool:
    """Whether a word is written like a name in code: ``snake_case``, ``_private``, ``camelCase``, ``HTTPServer``."""
    inner = name.strip("_")
    return (
        "_" in inner
        or (name.startswith("_") and len(inner) > 2)
        or re.search(rf"[{LOWER}\d][{UPPER}]", name) is not None
        or re.match(rf"[{UPPER}]{{2,}}[{LOWER}]{{2,}}", name) is not None
    )


def is_word(name: str, mention: Mention) -> bool:
    """Whether a name is mentioned only as a word of running text may be."""
    return mention.kinds == {"plain"} and not looks_like_code(name)


def is_noise(name: str) -> bool:
    """Whether a name says nothing about a repository: keywords, builtins, names of every example."""
    return (
        (len(name) < 2 and not name.isupper())
        or keyword.iskeyword(name)
        or hasattr(builtins, name)
        or name in COMMON_NAMES
        or not name.strip("_")
    )


def _options(line: str, title: bool) -> list[str]:
    """The options of a line; a command with many is an example, not about each of them."""
    found = _OPTION.findall(line)
    return found if title or len(found) < MANY_OPTIONS else []


def _literals(title: str, prose: str, code: str) -> list[str]:
    quoted: list[str] = [m["message"] for m in _MESSAGE.finditer(f"{title}\n{prose}\n{code}")]
    quoted += [title, *_QUOTED.findall(title), *_QUOTED.findall(prose), *_BACKTICK.findall(prose)]
    for text in (title, prose, code):
        options = [option for line in text.split("\n") for option in _options(line, text is title)]
        quoted += [*options, *_CODE.findall(text), *_HYPHENATED.findall(text), *(option.lstrip("-") for option in options)]
    quoted += _QUOTED.findall(code)
    found: Iterable[str] = (term for message in quoted for term in literal_terms(message))
    return list(dict.fromkeys(term for term in found if term[2:] not in STOPWORDS))[:MAX_LITERALS]
