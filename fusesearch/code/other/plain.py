"""What source says by its form alone, in any language and without a parser: text, calls, what is declared and what holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fusesearch.code.spans import FunctionSpan, function_at, is_python

RUBY = (".rb", ".rake")
"""Suffixes of languages whose calls may have no brackets."""

BRACED = (
    ".java", ".cs", ".kt", ".kts", ".swift", ".scala", ".sc", ".groovy", ".dart", ".rs",
    ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm",
)  # fmt: skip
"""Suffixes of languages with characters in quotes, where what looks like a call outside functions is a declaration."""

TRAILING = (".kt", ".kts", ".swift", ".scala", ".sc", ".groovy")
"""Suffixes of languages whose calls may have a function in braces instead of brackets."""

CONSTRUCTORS = ("__init__", "__new__", "constructor", "initialize", "__construct", "init")
"""Names of constructors; the last is one in Swift alone."""

_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".go")
_HASHES = (*RUBY, ".ex", ".exs", ".sh", ".bash", ".pl", ".pm", ".r", ".jl", ".py", ".pyi", ".php")
_DASHES = (".lua", ".sql", ".hs", ".elm")
_CHARACTER, _QUOTED, _STRING = r"'(?:\\[^'\n]*|[^'\\\n])'", r"'(?:[^'\\\n]|\\.)*'", r"\$?\"(?:[^\"\\\n]|\\.)*\""
_LONG = r"[fF][rR]?\"(?!\"\")(?:[^\"\\\n]|\\.)*\"|[fF][rR]?'(?!'')(?:[^'\\\n]|\\.)*'|\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|"
_NO_BREAK = re.compile(r"[^\n]")
_INTERFACE = re.compile(r"\binterface[ \t]*\{[^{}]*\}")
_BRACES = re.compile(r"(?<=\{)(?<!\{\{)[^{}\n]*(?=\})")
_FIELDS = re.compile(r"(?<=[#$]\{)[^{}\n]*(?=\})|(?<=\\\()[^\n\"]*(?=\))")
"""Fields of an f-string and of C#'s, and those of Ruby, JavaScript, Kotlin, Swift and others."""

_TYPES = r"(?:(?:::)?<[^<>;(){}]*(?:<[^<>;(){}]*>[^<>;(){}]*)*>|\[[A-Z][^\[\];(){}]*(?:\[[^\[\];(){}]*\])*\])?"
_CALL = re.compile(
    r"(?<!\bdef )(?<!\bclass )(?<!\bfunc )(?<!\bfunction )(?<!\bfn )(?<!\bfun )(?<!\w)([^\W\d]\w*)"
    rf"(?:[ \t]?[?!]?{_TYPES}[ \t]?[({{]|\.init\b)"
)
_HEADS = "class|interface|object|struct|enum|extension|actor|protocol|trait|impl"
_TYPE_BEFORE = re.compile(rf"(?:->|\)[ \t]*:|\b(?:var|val|let)[ \t]+[\w`]+[ \t]*:|\b(?:{_HEADS})\b)[^={{(\n]*\Z")
_RUBY_WORD = re.compile(
    r"(?<![\w@$])(?<!(?<!:):)(?P<receiver>(?<=\.)|(?<=&\.))?(?P<name>[^\W\d]\w*[?!]?)"
    r"(?P<after>\(|:(?!:)|[ \t]*(?:\|\||&&|[-+*/|&])?=(?![=~>]))?"
)
_RUBY_HEAD = re.compile(r"\A(?:[^\n]*\n)*?[^\n]*\bdef[ \t]+[\w.?!=]+[ \t]*(\([^()]*\)|[^\n]*)")

_KINDS = r"class|struct|interface|trait|enum|union|record|object|protocol|module|namespace|extension|type|typealias|defmodule"
_FUNCTIONS = r"def|function\*?|func|fn|fun|sub|macro_rules!"
_BEFORE = r"(?:[\w@]+(?:\([^()\n]*\))?[ \t]+){0,6}?"
_HOLDER = re.compile(rf"[ \t]*{_BEFORE}(?:{_KINDS}|impl)\b[^\w\n]*(?:<[^>\n]*>[ \t]*)?(?:[\w.:]+ for )?([\w.:]+)")
_DEFINE = re.compile(r"[ \t]*#[ \t]*define\b")
_CLOSING = re.compile(r"[ \t]*(?:[)\]}{]|end\b|(?:public|private|protected)\b[ \w]*:|#[ \t]*(?:if|el|endif))")


def without_text(source: str, path: str) -> str:
    """A source with blanks in the place of its comments and strings, at equal length."""
    path = path.lower()
    quoted = _CHARACTER if path.endswith((".go", *BRACED)) else _QUOTED
    comments = r"(?<![\w$])\#[^\n]*" if path.endswith(_HASHES) else r"/\*.*?(?:\*/|\Z)|//[^\n]*"
    comments += r"|/\*.*?(?:\*/|\Z)|//[^\n]*" if path.endswith(".php") else ""
    long = _LONG if is_python(path) else ""
    long += r"`(?:[^`\\]|\\.)*`|" if path.endswith(_SCRIPTS) else ""
    text = r"--[^\n]*" if path.endswith(_DASHES) else rf"{long}{comments}|{_STRING}|{quoted}"
    return re.sub(text, lambda match: _blank(match[0]), source, flags=re.DOTALL)


def _blank(text: str) -> str:
    """Blanks in the place of a comment or a string, but for the fields of a string, which are code."""
    parts, last = list[str](), 0
    for field in (_BRACES if text[0] in "fF$" else _FIELDS).finditer(text) if text[0] in "fF$\"'`" else ():
        parts += [_NO_BREAK.sub(" ", text[last : field.start()]), field[0]]
        last = field.end()
    return "".join([*parts, _NO_BREAK.sub(" ", text[last:])])


def calls_in(text: str, path: str) -> list[str]:
    """Names that a text calls, or in Ruby may call, in the order of their first calls."""
    return list(dict.fromkeys(name for name, _ in _called(without_text(text, path), path)))


def _called(plain: str, path: str) -> Iterator[tuple[str, int]]:
    return (_ruby_calls if path.endswith(RUBY) else _calls)(plain, path)


def _calls(plain: str, path: str) -> Iterator[tuple[str, int]]:
    for match in _CALL.finditer(plain):
        braced = match[0].endswith("{")
        if not braced or (
            path.endswith(TRAILING) and not _TYPE_BEFORE.search(plain, plain.rfind("\n", 0, match.start()), match.start())
        ):
            yield match[1], match.start()


def _ruby_calls(plain: str, path: str) -> Iterator[tuple[str, int]]:
    """No symbols, variables, keys and parameters."""
    head = _RUBY_HEAD.match(plain)
    local = {name for block in re.findall(r"\|([^|\n]*)\|", plain) for name in re.findall(r"\w+", block)}
    local |= set(re.findall(r"\w+", head[1])) if head else set()
    words = list(_RUBY_WORD.finditer(plain))
    local |= {word["name"] for word in words if (word["after"] or "").endswith("=") and word["receiver"] is None}
    for word in words:
        own = word["name"] in local and not word["after"] and word["receiver"] is None
        if word["after"] in (None, "(") and not own and (head is None or word.start() >= head.end()):
            yield word["name"], word.start()


def use_of(name: str, path: str) -> re.Pattern[str]:
    """Matches a line that has a name and neither imports nor defines it."""
    word = re.escape(name) + (r"(?![\w$?!])" if path.endswith(RUBY) else r"(?![\w$])")
    imports = (
        r"[ \t]*(?:(?:import|from|use|require|#[ \t]*include)[ \t]+(?!\()|using[ \t]+(?:static[ \t]+)?[\w.:]+;|export[ \t]*\{)"
    )
    defined = rf"(?:{_KINDS}|{_FUNCTIONS})[ \t]+{word}(?![ \t]*[*&]|[ \t]+\w+[ \t]*[;,)=\[])"  # not `struct word * x;`
    return re.compile(rf"(?!{imports}|.*\b{defined}).*(?<![\w$]){word}")


def uses_in(
    path: str, lines: Sequence[str], name: str, functions: Sequence[FunctionSpan], calls: bool = False
) -> list[tuple[int, FunctionSpan | None]]:
    """Lines (from 1) that call a name, or have it as a word of the code: the first of each function, and those in none."""
    outside, pieces = list(lines), list[tuple[FunctionSpan | None, int, str]]()
    for span in functions:
        own = outside[span.start - 1 : span.end]
        outside[span.start - 1 : span.end] = [""] * len(own)
        pieces.append((span, span.start, unnamed("\n".join(own), span.name) if any(name in line for line in own) else ""))
    if calls and path.endswith(".go"):  # an interface declares methods as they are called
        outside = _INTERFACE.sub(lambda match: _NO_BREAK.sub(" ", match[0]), "\n".join(outside)).split("\n")
    if calls and path.endswith(BRACED):  # there only values and the bodies of macros call, and others declare
        macro = value = False
        outside = without_text("\n".join(outside), path).split("\n")
        for number, (line, before) in enumerate(zip(lines, ["", *lines], strict=False)):
            macro = bool(_DEFINE.match(line)) or (macro and before.endswith("\\"))
            if not (macro or value):
                outside[number] = re.sub(r"^[^=]*", lambda head: " " * len(head[0]), outside[number])
            value = bool(value or outside[number].strip()) and outside[number].rstrip()[-1:] in "=(,[{&|+?:"  # it goes on
    word, uses = use_of(name, path), list[tuple[int, FunctionSpan | None]]()
    for function, first, text in [*pieces, (None, 1, "\n".join(outside))]:
        plain = without_text(text, path) if name in text else ""
        starts = (start for called, start in _called(plain, path) if called == name) if calls else ()
        found, number, last = list[int](), 0, 0
        for start in starts:
            number, last = number + plain.count("\n", last, start), start
            found += [number] if found[-1:] != [number] else []
        found += [] if calls else [number for number, row in enumerate(plain.split("\n")) if word.match(row)]
        uses += [(first + number, function) for number in (found[:1] if function else found)]
    return uses


def unnamed(text: str, function: str) -> str:
    """The lines of a function with its own name made unknown, which is no use of it."""
    name = function.rpartition(".")[2]
    return re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$])", "_" * len(name), text, count=1)


def callable_name(path: str, name: str) -> str:
    """The name by which a function is called: a constructor by that of its class."""
    *holders, last = name.split(".")
    return holders[-1] if holders and last in CONSTRUCTORS and (last != "init" or path.endswith(".swift")) else last


def declared(path: str, lines: Sequence[str], name: str, functions: list[FunctionSpan]) -> Iterator[FunctionSpan]:
    """What declares a name: a class or the like, a nested or abstract function, a macro, a variable; with its lines and holder.

    ``functions`` are those of the file: they are left out, and so are the variables in them.
    """
    pattern = re.compile(rf"[ \t]*(?:{'|'.join(_forms(re.escape(name), path))})")
    above: list[tuple[int, ...]] = []
    code: list[str] = []
    for number, line in enumerate(lines, 1):
        match = pattern.match(line) if name in line else None
        around = function_at(functions, number) if match else None
        if match and not (around and (match["outside"] or f".{around.name}".endswith(f".{name}"))):
            code = code or without_text("\n".join(lines), path).split("\n")
            above = above or holders(lines)
            if name not in code[number - 1]:
                continue  # a comment
            outer = lines[above[number - 1][-1] - 1] if above[number - 1] else ""
            if path.endswith(".go") and outer and match["outside"] and not outer.startswith(("const (", "var (")):
                continue  # a field
            held = filter(None, (_HOLDER.match(lines[one - 1]) for one in above[number - 1]))
            names = [around.name] if around else [holder[1] for holder in held]
            start = number
            while start > 1 and (
                lines[start - 2].lstrip().startswith(("@", "#[")) or (line[0] == "}" and lines[start - 1][:1] in " \t}")
            ):
                start -= 1
            yield FunctionSpan(start, _block_end(lines, number), ".".join([*names, name]))


def _forms(word: str, path: str) -> Iterator[str]:
    """How lines declare a name. ``outside``: where it stands in no function."""
    end = r"(?![\w$?!=])" if path.endswith(RUBY) else r"(?![\w$])"
    if path.endswith(BRACED):  # there `struct word * x;` uses it, and all but Rust declare a function without a body
        end += rf"(?![ \t]*[*&{'' if path.endswith('.rs') else ';'}]|[ \t]+\w+[ \t]*[;=(,\[])"
    yield rf"#[ \t]*define[ \t]+{word}\b"
    macro = r"(?:[A-Z][A-Z\d_]+(?:\([^()\n]*\))?[ \t]+)?"  # such as an export
    yield rf"(?:template[ \t]*<.*>[ \t]*)?{_BEFORE}(?:{_KINDS}|{_FUNCTIONS})[ \t]+{macro}(?:\w+(?:::|\.))*{word}{end}"
    if path.endswith(_SCRIPTS):
        yield rf".*[ \t(]function\*?[ \t]+{word}[ \t]*\(|(?:[\w$]+\.)+{word}[ \t]*=[ \t]*(?:async\b|function\b|\()"
    array = r"(?:\[[^\]\n]*\])*"
    yield rf"typedef\b[^;\n]*(?:[ \t*]{word}[ \t]*{array};|\([ \t]*\*[ \t]*{word}[ \t]*\))|\}}[ \t]*{word}{array}[ \t]*[;=]"
    types, names = r"(?:(?:[\w<>\[\],.*&?@]|::)+[ \t]+)", r"(?:,[ \t]*\w+)*"
    variable = rf"(?!return\b){types}{{0,6}}[*&$@]*{word}{array}{names}[ \t]*(?::[^=\n;]+)?=(?![=>~])"
    if path.endswith(".go"):
        variable = rf"(?:(?:const|var)[ \t]+)?(?:\w+,[ \t]*)*{word}{names}(?:[ \t]+[^=\n]*)?[ \t]*(?:=(?!=).*)?$"
    if path.endswith((".java", ".cs")):  # an abstract method
        variable += rf"|(?:(?!(?:new|return|throw|else)\b)[\w<>\[\],.?@]+[ \t]+)+{word}[ \t]*(?:<.*>)?\((?:.*[;,(])?$"
    yield f"(?P<outside>{variable})"


def holders(lines: Sequence[str]) -> list[tuple[int, ...]]:
    """For each line the numbers of those around it: the nearest one above that is indented less, and those around that one."""
    found: list[tuple[int, ...]] = []
    around: list[int] = []
    for number, line in enumerate(lines, 1):
        begins = bool(line.strip()) and not _CLOSING.match(line)
        while begins and around and _indent(lines[around[-1] - 1]) >= _indent(line):
            around.pop()
        found.append(tuple(around))
        around += [number] if begins else []
    return found


def _block_end(lines: Sequence[str], number: int) -> int:
    """The last line of what begins on a line, by the indentation of those below it."""
    last, indent = number, _indent(lines[number - 1])
    for after, line in enumerate(lines[number:], number + 1):
        closing, beside = _CLOSING.match(line), _indent(line) <= indent
        goes_on = lines[after - 2].endswith("\\")
        if line.strip() and beside and not closing and not goes_on:
            break
        last = after if line.strip() else last
        if closing and beside and "#" not in line and not line.rstrip().endswith((":", "{", "(", "[")):
            break
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
