"""What a question asks for, in whatever words: its kind and the names in it.

Case, backticks, quotes, articles, ``()`` after a name, a question mark and polite words make no difference. A name is a word in
quotes, or one that is written like a name; :data:`FORMS` shows one question of each kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from fusesearch.localizers.answerers.wording import read_back

MAX_CHARS = 2000
"""Longer texts ask for more than one of these."""

FORMS = {
    "exported": "where is NAME defined?",
    "default": "what is the default of PARAMETER in NAME?",
    "value": "what is the value of NAME?",
    "constant": "what is the value of the module-level constant that NAME uses?",
    "callers": "who calls NAME?",
    "overrides": "what overrides CLASS.METHOD?",
    "subclasses": "which classes inherit from CLASS?",
    "inherited": "which definition of METHOD runs for an instance of CLASS?",
}


@dataclass(frozen=True)
class Asked:
    """A kind of :data:`FORMS` (or ``raises``, of mined questions), and its names: ``name``, ``parameter``, ``method``, ``code``.

    ``bare``: a name is an ordinary word without quotes, so the text may ask for something else.
    """

    kind: str
    names: dict[str, str] = field(default_factory=dict)
    bare: bool = False


def read(text: str) -> Asked | None:
    """The question in a text; None if it asks for none of :data:`FORMS`."""
    if len(text) > MAX_CHARS:
        return None
    if (mined := read_back(text)) is not None:
        return Asked(mined[0], {name: _clean(value) if name != "code" else value for name, value in mined[1].items()})
    plain, quoted = _plain(text)
    for kind, pattern in _patterns():
        if match := pattern.fullmatch(plain):
            found = {name: value for name, value in match.groupdict().items() if value}
            names = {name: _clean(quoted.get(value, value)) for name, value in found.items()}
            if not all(map(_NAME.fullmatch, names.values())):
                continue
            if any(value.casefold() in (_LITTLE if slot == "parameter" else _NO_NAMES) for slot, value in found.items()):
                continue
            bare = any(value not in quoted and value.isalpha() and value.islower() for value in found.values())
            return _split(Asked(kind, names, bare))
    return None


def _split(asked: Asked) -> Asked | None:
    """The same with the last part of the name as the method or parameter where it was not named apart."""
    wanted = {"overrides": "method", "inherited": "method", "default": "parameter"}.get(asked.kind)
    if wanted is None or wanted in asked.names:
        return asked
    before, _, last = re.sub(r"::", ".", asked.names["name"]).rpartition(".")
    if "::" in asked.names["name"] and before:
        before = asked.names["name"][: len(before) + asked.names["name"].count("::")]
    if not before:  # "what does LIMIT default to?"
        return Asked("value", asked.names, asked.bare) if asked.kind == "default" else None
    return Asked(asked.kind, {"name": before, wanted: last}, asked.bare)


def _plain(text: str) -> tuple[str, dict[str, str]]:
    """The text in small letters without words that say nothing, and what stands in quotes by its placeholder."""
    text = _TYPES.sub("", " ".join(text.split()))
    text = re.sub(r"[\u2018\u2019]", "'", text)
    text = re.sub(r"[\u201c\u201d\u00ab\u00bb]", '"', text)
    quoted: dict[str, str] = {}

    def keep(value: str) -> str:
        placeholder = f"\x00{len(quoted)}\x00"
        quoted[placeholder] = value.strip()
        return f" {placeholder} "

    text = text.replace("\x00", " ")
    text = re.sub(r"`+([^`]+)`+(?:\(\))?", lambda match: keep(match[1]), text)
    text = re.sub(r"(\w)(?<!\boperator)\([^()]*\)", r"\1", text)
    text = re.sub(r'"([^"\s]+)"|(?<!\w)\'([^\'\s]+)\'(?!\w)', lambda match: keep(match[1] or match[2]), text)
    text = re.sub(r"\b(what|where|who|which)'s\b", r"\1 is", text, flags=re.IGNORECASE)
    text = re.sub(r"(\w|\x00) ?'s\b", r"\1 's", text)
    # names keep their case: they get placeholders too, but say that they had no quotes by being their own value
    words = []
    for word in text.split(" "):
        bare = word.strip("?!.,;:")
        bare = bare if re.search(r"\boperator\(\)$", bare) else bare.removesuffix("()")
        if not bare:
            continue
        is_plain = bare in quoted or bare == "'s" or bare.isalpha()
        words.append(bare if is_plain else keep(bare).strip() if _NAME.fullmatch(_clean(bare)) else bare)
        if word.endswith((",", ";", ".", ":")) and bare not in quoted:
            words.append(",") if word[-1] != ":" else None
    plain = " ".join(word for word in words if word.casefold() not in _FILLING).strip(" ,")
    plain = _POLITE.sub("", plain)
    return plain, quoted


def _clean(name: str) -> str:
    name = re.sub(r"(?<=\w)(?<!\boperator)\([^()]*\)$", "", name.strip().strip("`'\""))
    name = re.sub(r"(^|::|->)\$(?=[^\W\d])", r"\1", name)  # a property of PHP
    name = _TYPES.sub("", name.removeprefix("/repo/").removeprefix("@").rstrip("?!"))
    if "\\" in name or "(*" in name or "->" in name or ".prototype." in name:
        name = re.sub(r"^\\", "", re.sub(r"\(\*?(\w+)\)(?=\.)", r"\1", name)).replace(".prototype.", ".")
        name = re.sub(r"\\|->", ".", name)
    return name if re.search(r"\.pyi?::", name) else re.sub(r"::|#", ".", name)  # `A::b` and `A#b` of other languages


_FILLING = frozenset(
    ("the", "a", "an", "please", "exactly", "directly", "currently", "actually", "all", "any", "own", "its", "really")
)
_LITTLE = frozenset((
    "it", "this", "that", "these", "those", "them", "what", "which", "who", "where", "something", "everything", "anything",
    "me", "us", "i", "is", "are", "was", "of", "in", "and", "or", "to", "for", "by", "as", "be", "do", "does",
))  # fmt: skip
_NO_NAMES = _LITTLE | frozenset((
    "code", "function", "functions", "method", "methods", "class", "classes", "file", "files", "parameter", "default",
    "value", "with", "from", "defined", "called", "overridden", "definition",
))  # fmt: skip
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|ok|so|and|but)\b ?,? ?)*"
    r"(?:(?:can|could|would) you (?:tell|show|say to|find|list)(?: me| us)?|tell me|show me"
    r"|(?:i|we) (?:want|need|would like) to (?:know|find|see)|do you know|please)? ?,? ?",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:(?:[\w.\-]+/)*[\w\-]+\.pyi?::)?[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*(?:(?<=operator)(?:\[\]|\(\)|[-+*/%^&|~!=<>]{1,3}))?"
    r"|(?:[^\W\d]\w*(?:\.|::|#))*(?:\[\]=?|\(\)|[-+*/%^&|~!=<>]{1,3})"  # an operator as Ruby, Swift and Scala name it
)
_TYPE = r"[\w\s,.?*&:\[\]]{0,120}"
_TYPES = re.compile(rf"(?<=\w)<(?=[\w\s,.?*&:\[\]<>]{{0,120}}>)[A-Za-z]{_TYPE}(?:<[\w\s,.?*&:\[\]<>]{{0,120}}>{_TYPE})*>")
"""Type arguments and parameters: of ``Box<T>``."""

_NO_VERB = (
    r"(?!(?:defined|declared|implemented|located|found|kept|written|coming|called|invoked|instantiated|overridden|reimplemented"
    r"|redefined|subclassed|extended|default|defaults|set|equal)(?: |$))"
)
# what a pattern's short words stand for
_PARTS = {
    "N": rf"(?P<name>{_NO_VERB}\S+)",
    "P": r"(?P<parameter>\S+)",
    "M": rf"(?P<method>{_NO_VERB}\S+)",
    "K": r"(?:(?:function|method|class|constructor|constant|variable|attribute|field|name|symbol|base class|parameter|argument"
         r"|option|keyword|flag|setting|property|module-level constant|global) )?",
    "WHO": r"(?:who|what|what code"
    r"|(?:what|which)(?: other)? (?:functions?|methods?|functions? (?:and|or) methods?|code|callers?|places?))",
    "CLASSES": r"(?:what|who|(?:what|which)(?: other)? (?:sub)?class(?:es)?)",
    "IS": r"(?:is|are|was|does|do|has|have|gets?)",
    "FILE": r"(?:in )?(?:where|(?:what|which) (?:file|module|path|place|source file))",
    "HERE": r"(?:,? ?(?:in (?:this|our) (?:repository|repo|code|codebase|project|tree|package)|here|from|at|by default))*",
}  # fmt: skip
_SENTENCES = {
    "constant": (
        "(?:what is value of )?K(?:that )?N uses one constant that IS defined at top of module , what is 's? ?value",
        "what is value of (?:module-level |global )?constant (?:that |which )?KN uses",
        "(?:what|which) (?:module-level |global )?constant does KN use",
    ),
    "default": (
        "(?:what|which) default(?: value)? (?:IS|for) KP (?:of|in|for) KN(?: have)?",
        "(?:what is |what are )?default(?: value)?s? (?:of|for) KP (?:of|in|for|on|to) KN",
        "(?:what is |what are )?default(?: value)? (?:of|for|in) KN 's KP",
        "what (?:does|is) KP (?:of|in|for|on|to) KN default(?:s|ed)?(?: to)?",
        "what (?:does|is) KP default(?:s|ed)?(?: to)? (?:in|for|of|on) KN",
        "what (?:does|is) KN 's KP default(?:s|ed)?(?: to)?",
        "(?:what is )?KN 's default (?:value (?:of|for) )?KP",
        "(?:what is )?KN 's KP default(?: value)?",
        "(?:what is )?default (?!value |of |for |in )KP (?:of|in|for) KN",
        "what (?:value|default) does KP (?:of|in) KN have(?: by default| if it is not given)?",
        "what is KP in KN by default",
        "(?:what )?(?:does|is) KN default(?:s|ed)?(?: to)?",
        "(?:what is |which is )?default(?: value)? (?:of|for) KN",
        "(?:what is )?default(?: value)? (?:KP )?(?:of|in|for) KN",
    ),
    "value": (
        "(?:what is |which is )?value (?:of|for) KN",
        "(?:what|which) value does KN have",
        "(?:what|which) (?:is|value is) KN (?:set|equal|assigned|bound) ?(?:to)?",
        "what does KN (?:equal|hold|contain)",
    ),
    "inherited": (
        "which (?:definition|implementation|version) of KM (?:runs|is run|is called|is used|applies|executes) (?:for|on|by|in)"
        "(?: instances? of)? KN",
        "KN inherits KM , where is (?:it|method)(?: that it gets)?(?: defined)?",
        "(?:FILE|from where|from which class|which class) does KN (?:get|inherit|take)(?: from)? KM(?: from)?",
        "(?:which|what) KM does KN (?:use|run|get|inherit|call)",
        "(?:which|what) (?:definition|implementation|version) of KM does KN (?:use|run|get|inherit|call)",
        "(?:which|what) (?:definition|implementation) (?:is|runs|is run|is called|is used) (?:for|by|in) KN",
    ),
    "overrides": (
        "CLASSES of KN ,? ?(?:direct or not ,? )?(?:define|have|override|overrides|reimplement|implement) (?:their )?KM",
        "CLASSES (?:re)?(?:overrides?|defines?|implements?|redefines?) (?:their )?KM (?:of|from|in|for) KN",
        "CLASSES (?:is )?(?:overrides?|overriding|reimplements?|redefines?) KN",
        "(?:where|by (?:what|who|which classes)) is KM of KN (?:overridden|overriden|reimplemented|redefined)(?: by)?",
        "(?:where|by (?:what|who|which classes)) is KN (?:overridden|overriden|reimplemented|redefined)(?: by)?",
        "(?:list |find |what are |which are )?(?:overrides|overriders|reimplementations) of KM (?:of|in|from) KN",
        "(?:list |find |what are |which are )?(?:overrides|overriders|reimplementations) of KN",
        "KN overrides",
    ),
    "subclasses": (
        "CLASSES (?:inherits?(?: from)?|subclass(?:es)?|extends?|derives?(?: from)?|is derived from|is subclass(?:es)? of) KN",
        "(?:list |find |what are |which are |what is |who are )?(?:direct |indirect )?(?:sub|child )class(?:es)? of KN",
        "(?:what|which) subclass(?:es)? (?:does|do) KN have",
        "(?:where is|by (?:what|which classes) is) KN (?:subclassed|extended)(?: by)?",
    ),
    "callers": (
        "WHO (?:calls?|invokes?|is calling|instantiates?|call to) KN",
        "(?:where|(?:from|in) (?:where|what|which (?:functions and methods|functions|methods|places))|by (?:whom|what|who)) "
        "(?:is|are) KN (?:called|invoked|instantiated)(?: by)?",
        "(?:list |find |show |give |what are |who are |which are )?(?:me )?(?:callers|calls|call sites) (?:of|to|for) KN",
        "(?:where|how often) (?:does|do|is) (?:we|anyone|anything|code|it|they|somebody|something)? ?(?:call|calls|invoke) KN",
        "what is calling KN",
        "KN 's callers",
        "callers KN",
        "KN callers",
    ),
    "exported": (
        "FILE (?:(?:can|could|do|should) (?:i|we|you|one) (?:find|see|get)|is) (?:(?:definition|implementation|source) of )?KN"
        "(?: (?:be )?(?:defined|declared|implemented|located|found|kept|written|coming from)(?: at| in)?)?"
        "(?: ,? ?(?:and )?(?:under )?(?:what|which) name)?",
        "FILE does KN (?:live|sit|stand)",
        "FILE do (?:we|they|you) (?:define|declare|implement|keep) KN",
        "FILE does KN come from ?,? ?(?:in which file ,? and what is it called there)?",
        "(?:what|which) (?:file|module)s? (?:defines?|has|contains?|holds?|implements?|declares?) (?:definition of )?KN",
        "(?:who|what) defines KN",
        "(?:find|show|locate|go to|jump to|open)? ?(?:definition|implementation|declaration|location|source) (?:of|for) KN",
        "(?:find|locate) KN",
    ),
}  # fmt: skip


def _compiled(sentence: str) -> re.Pattern[str]:
    def part(match: re.Match[str]) -> str:
        kind, word = match[0][0] == "K", match[0].removeprefix("K")
        return (_PARTS["K"] if kind else "") + (_PARTS[word] if word else "")

    return re.compile(re.sub(r"\b(?:WHO|CLASSES|FILE|IS|K?[NPM]|K)\b", part, sentence) + _PARTS["HERE"], re.IGNORECASE)


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(kind, _compiled(sentence)) for kind, sentences in _SENTENCES.items() for sentence in sentences]
