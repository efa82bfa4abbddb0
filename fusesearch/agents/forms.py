"""The forms in which models write calls that their server does not read: one table, for the loop and for SFT alike.

A form is a mark (``<|tool_call_begin|>``, ``[TOOL_CALLS]``, ``<invoke name="grep">``) and a way to write name and arguments
behind it. Any mark that speaks of tools, functions or calls counts, so that a new family is read if its way is known. Without
a mark, calls must end the message, name a tool and fit its arguments: what an answer or an explanation quotes is no call.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from fusesearch.agents.parsing import EXAMPLE, MAX_CALL_CHARS, MAX_CALLS, OPEN, call_of, parse_turn, visible
from fusesearch.agents.values import read_value
from fusesearch.code.functions import parse
from fusesearch.core.schema import ToolCall

MAX_CHARS = 100_000
"""Length of a message up to which forms other than Hermes's are looked for."""
MAX_PLACES = 128
"""Most marks and starts of lines at which calls are looked for."""

_OTHERS = r"(?!/|arg|[^<>\n]{0,60}(?:respon|result|output|param))"
"""Excludes tags of arguments and results, and closing ones."""
_MARKS = (
    rf"<{_OTHERS}(?:[|｜][^<>\n]{{1,60}}|[^<>\n]{{1,60}}[|｜])>",  # noqa: RUF001 - special tokens, DeepSeek's with a wide bar
    rf"<{_OTHERS}[^<>\n]{{0,40}}(?i:tool|func|call|action|invoke|plugin|name(?=>)|(?<![\w-])(?:%s)(?![\w-]))[^<>\n]{{0,60}}>",
    r"\[CALL_ID\]\w*|\[[A-Z_]*(?:TOOL|CALL|ARGS)[A-Z_]*\]|\[unused\d+\]|✿\w+✿",  # Mistral, Pangu, Qwen 2
    r"(?:commentary )?\bto=(?:multi_tool_use\.parallel)?",  # Harmony
    r"functools(?=\[)|>>>|\*{0,2}\b(?:Action|Tool(?: call)?|\w+_call):|```(?:tool|func)\w*",  # Phi, Functionary, ReAct, Gemma 3
)
_BETWEEN = r"\s|[;,:*`]|```\w*|json\b|code\b|commentary\b|(?:Action )?Input:|Arguments:|</[^<>\n]{1,60}>|<(?:arg|param|input)\w*>"
"""What stands between calls, or between a name and its arguments, besides marks."""
_ELEMENT = (
    r"(?:\s|</(?:\w*name|tool|function)>|<(?:arg|param|input)\w*>|<\w*sep[^<>\n]{0,20}>)*"  # what the elements of a call stand in
    r"<(?![^\s<>=]*(?:function|invoke|tool))(?:([^\s<>=/]{1,40})(?:=|\s+(?:name|key)=)[\"']?([\w.-]{1,64})[^<>\n]{0,60}|(%s))>"
    r"\n?(.{0,2000}?)\n?(?:</(?:\1|\3)>|(?=</(?:function|invoke)>|\Z))"
)
_LOOKS = (
    r"(?i)<[^<>\n]{0,20}(?:(?:tool|function)[_▁:]?(?:calls?|sep)|invoke\b|python_tag)[^<>\n]{0,200}>"
    r"|<(?:tool|function)(?:\s+name)?=|\[(?:TOOL_CALLS?|ARGS)\]|\bto=functions\.|<(?:%s)[\s/>]"
    r"|\A\s*(?:```\w*\s*)?[\[{].{0,200}[\"'](?:%s)[\"']"
)
"""What looks like a call, whether it can be read or not."""
_PYTHON = re.compile(r"[\[(\s]{0,20}[\w.]{1,80}\(")
_END = re.compile(rf"{_MARKS[0]}|</|```|\Z")
_KEY, _QUOTE = r"<\w{0,20}arg_key[^<>]{0,20}>\s*([\w.-]{1,64})\s*</\w{0,20}arg_key[^<>]{0,20}>", r'(?:<\|"\|>|<escape>)'
_VALUE = r"<\w{0,20}arg_value[^<>]{0,20}>(.{0,2000}?)</\w{0,20}arg_value[^<>]{0,20}>"
_ALIASES = [
    (re.compile(rf"{_KEY}\s*{_VALUE}", re.DOTALL), lambda part: f"<parameter={part[1]}>{part[2]}</parameter>"),  # GLM, Hunyuan
    (re.compile(rf"\b(\w{{1,64}}):{_QUOTE}(.{{0,2000}}?){_QUOTE}"), lambda part: f'"{part[1]}":{json.dumps(part[2])}'),  # Gemma
    (re.compile(r"<function=([\w.-]{1,64})(?=[{(])"), lambda part: f"<function={part[1]}>"),  # Llama 3.1
    (re.compile(r"<\|open\|>([^<>\n]{1,80})<\|sep\|>"), lambda part: f"<{part[1]}>"),  # Kimi K3
    (re.compile(r"<\|close\|>([^<>\n]{1,80})<\|sep\|>"), lambda part: f"</{part[1]}>"),
]
"""What some families write, in the form of others."""
_NAMES = ("name", "toolname", "functionname", "recipientname", "tool", "function", "action")
_ARGUMENTS = (
    "arguments",
    "parameters",
    "params",
    "args",
    "kwargs",
    "input",
    "toolarguments",
    "toolinput",
    "functionargs",
    "actioninput",
)
"""Keys without their underscores."""

Found = tuple[list[ToolCall], int]
"""Calls, and the position behind them."""


def read_calls(text: str, tools: Sequence[Mapping[str, Any]], answered: bool = False) -> tuple[str, list[ToolCall]]:
    """The text to keep of a message, and its calls in order, without ids.

    Hermes blocks stay in the text, as :func:`~fusesearch.agents.parsing.parse_turn` reads them; calls in another form leave it.
    ``tools`` are schemas in OpenAI's form; without any only Hermes is read. In a message that is an answer (``answered``) only
    calls of ``tools`` with a mark are read. In others, what looks like a call and cannot be read is one with ``error``.
    """
    hermes = parse_turn(text)[1]
    if not tools or any(call.error is None for call in hermes):
        return text, hermes
    reader, shown = _Reader(tools), visible(text)[:MAX_CHARS]
    for form, words in _ALIASES:
        shown = form.sub(words, shown)
    calls, start, unread = reader.search(shown, answered)
    looks = reader.looks.search(shown)
    unread = not answered and (unread if calls else not hermes and (unread or looks is not None))
    told = f"a call in this form cannot be read. Right would be: {EXAMPLE}"
    found = [*(calls or hermes), *[ToolCall(id="", name="", error=told)] * unread]
    prose = shown[: min(start, looks.start())] if looks else shown[:start]
    return reader.around.sub("", prose).replace(OPEN, "").strip() if calls else text, found


def copied(call: ToolCall, tools: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with a call whose arguments are the words of its own schema, as small models write them; else None."""
    for rules in (tool["function"].get("parameters") or {} for tool in tools if tool["function"]["name"] == call.name):
        about = {key: rule.get("description", "") for key, rule in rules.get("properties", {}).items()}
        described = [key for key, value in call.arguments.items() if value and value == about.get(key)]
        if described or "properties" in call.arguments.keys() - about:
            return f"these are the words that describe {call.name}, not arguments. Right would be: {EXAMPLE}"
    return None


class _Reader:
    """Reads calls of ``tools``."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self.tools = {tool["function"]["name"]: tool["function"].get("parameters") or {} for tool in tools}
        names = "|".join(map(re.escape, self.tools))
        keys = "|".join({re.escape(key) for rules in self.tools.values() for key in rules.get("properties", ())})
        name = rf"(?<![\w-])(?:function\b\W{{0,3}})?(?:call:|functions?\.)?({names})(?::\d+)?(?![\w-])"
        mark = f"(?:{'|'.join(_MARKS).replace('%s', names)})"
        self.name, self.element = re.compile(name), re.compile(_ELEMENT % (keys or r"\w+"), re.DOTALL)
        bare = rf"^(?:(?:```|~~~) ?\w*\s*\n|<code>\s*)?(?=[\[{{]|{name})|(?<=\w: )(?=[\[{{])"
        self.place = re.compile(rf"({mark})(?:[\s:*`]|(?:json|xml|python)\b){{0,20}}|{bare}", re.MULTILINE)
        self.around = re.compile(rf"<\|(?:channel|start)\|>\w+|{_MARKS[0]}|</code>|```\w*\s*\Z|(?:{mark}\s{{0,20}}){{1,4}}\Z")
        self.gap = re.compile(rf"(?:{mark}|{_BETWEEN}){{0,60}}")
        self.looks = re.compile(_LOOKS.replace("%s", names), re.DOTALL)

    def search(self, text: str, answered: bool) -> tuple[list[ToolCall], int, bool]:
        """The calls of a message, where the first one starts, and whether another one could not be read."""
        calls: list[ToolCall] = []
        pending: list[ToolCall] = []  # without a mark: calls if another one ends the message
        start, position, unread = -1, 0, False
        for place in islice(self.place.finditer(text), MAX_PLACES):
            if place.start() < position or len(calls) >= MAX_CALLS:
                continue  # inside of a call
            mark, behind = place[1] or "", place.end()
            named = self.name.search(mark)
            found, end = self._sequence(text, behind, named[1] if named else "")
            if not found:
                opens = named or self.name.match(text, behind) or text.startswith(("{", "["), behind)
                unread = unread or bool(mark and opens and self.looks.search(mark))
                continue
            if mark:
                wanted = not answered or all(call.name in self.tools for call in found)
            else:
                fits = not (answered or calls or text.count("```", 0, place.start()) % 2) and all(map(self._fits, found))
                wanted = fits and not self.around.sub("", text[end:]).strip("`~ \t\n;.")
                found = pending + found if fits else found
                pending = pending if wanted or not fits else found
            if wanted or found is pending:
                start, position = start if start >= 0 else place.start(), end
            if wanted:
                calls, pending = calls + found, []
        return calls[:MAX_CALLS], max(start, 0), unread or bool(pending)

    def _fits(self, call: ToolCall) -> bool:
        rules, given = self.tools.get(call.name), call.arguments.keys()
        return rules is not None and not call.error and {*rules.get("required", ())} <= given <= {*rules.get("properties", given)}

    def _sequence(self, text: str, start: int, name: str = "") -> Found:
        """As :meth:`_at`, with the calls that follow."""
        calls, end = more, _ = self._at(text, start, name)
        while more and len(calls) < MAX_CALLS:
            more, behind = self._at(text, self._skip(text, end))
            calls, end = [*calls, *more], behind if more else end
        return calls, end

    def _at(self, text: str, start: int, name: str = "") -> Found:
        """The calls at ``start``, where the mark before may have had the ``name``; without any, ``start``."""
        behind = start
        if not name and (match := self.name.match(text, start)):
            name, behind = match[1], match.end()
        for form in FORMS:
            calls, end = form(self, text, start, behind, name)
            if calls:
                return calls, end
        return [], start

    def objects(self, text: str, start: int, behind: int, name: str) -> Found:
        """JSON that holds names and arguments: Llama 3, Mistral, Granite, Jamba, Phi, Command, InternLM, Nemotron, Apertus."""
        value, end = _json(text, start) if not name else (None, start)
        return self._held(value), end

    def _held(self, value: Any, depth: int = 0) -> list[ToolCall]:
        """The calls in a JSON value: objects with a name, also in lists and other objects."""
        if isinstance(value, dict):
            keys = {key.replace("_", "").lower(): key for key in value}
            named = next((keys[key] for key in _NAMES if isinstance(value.get(keys.get(key, "")), str)), "")
            key = value.get(named) or (next(iter(value)) if len(value) == 1 else "")
            name = match[1] if (match := self.name.fullmatch(key.rpartition(".")[2])) else key
            rest = {key: item for key, item in value.items() if key != named}
            given = next((value[keys[word]] for word in _ARGUMENTS if word in keys), rest if named else value.get(key, rest))
            if name in self.tools or (named and given is not rest):
                return [call_of("", name, given)]
        rows = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [call for row in rows for call in self._held(row, depth + 1)] if depth < 4 else []

    def elements(self, text: str, start: int, behind: int, name: str) -> Found:
        """An element for each argument: Qwen, MiniMax, DeepSeek V3.2, GLM, Hunyuan, Step, Seed, Kimi K3, Claude, Cline."""
        rules = self.tools.get(name, {}).get("properties", {})
        arguments: dict[str, Any] = {}
        while name and len(arguments) < MAX_CALLS and (element := self.element.match(text, behind)):
            key, behind = element[2] or element[3], element.end()
            arguments[key] = _typed(element[4], rules.get(key, {}).get("type"))
        return ([call_of("", name, arguments)] if arguments else [], behind)

    def named(self, text: str, start: int, behind: int, name: str) -> Found:
        """An object of arguments behind the name: Kimi, DeepSeek, Mistral, Harmony, Llama, Functionary, Gemma, ReAct."""
        value, end = _json(text, self._skip(text, behind)) if name else (None, start)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        return ([call_of("", name, value)] if isinstance(value, dict) else [], end)

    def python(self, text: str, start: int, behind: int, name: str) -> Found:
        """Calls as in Python up to the next mark: Llama 4, OLMo, LFM2, Gemma 3."""
        end = next(mark.start() for mark in _END.finditer(text, start))
        tree = parse(text[start:end][:MAX_CALL_CHARS].strip()) if _PYTHON.match(text, start) else None
        values = [row.value if isinstance(row, ast.Expr) else None for row in (tree.body if tree else ())]
        nodes = [node for value in values for node in (value.elts if isinstance(value, ast.List | ast.Tuple) else [value])]
        calls = [call for node in nodes if (call := self._called(node))]
        return (calls, end) if len(calls) == len(nodes) else ([], start)

    def _called(self, node: ast.expr | None) -> ToolCall | None:
        """The call that an expression is, also inside ``print`` and of a tool's method; None for other code."""
        if not isinstance(node, ast.Call):
            return None
        try:
            if ast.unparse(node.func) == "print":
                return self._called(node.args[0] if node.args else None)
            *_, name = (part for part in ast.unparse(node.func).split(".") if part in self.tools)
            given = [ast.literal_eval(argument) for argument in node.args]
            named = {str(argument.arg): ast.literal_eval(argument.value) for argument in node.keywords}
            if len(given) == 1 and isinstance(given[0], dict):
                return call_of("", name, given[0] | named)
            return call_of("", name, dict(zip(self.tools[name].get("properties", ()), given, strict=False)) | named)
        except (ValueError, TypeError, MemoryError, RecursionError):
            return None

    def _skip(self, text: str, start: int) -> int:
        match = self.gap.match(text, start)
        return match.end() if match else start


FORMS = (_Reader.objects, _Reader.elements, _Reader.named, _Reader.python)
"""Each gets the text, where a call may start, and if a name stands there, the position behind it and the name."""


def _json(text: str, start: int) -> tuple[Any, int]:
    """The JSON object or list at ``start`` and the position behind it; None without one."""
    try:
        value, length = read_value(text[start : start + MAX_CALL_CHARS])
    except (ValueError, RecursionError):
        return None, start
    return value, start + length


def _typed(text: str, kind: Any) -> Any:
    """An argument that an element has as text: of a string's type as it is, otherwise the JSON that it is."""
    value, end = _json(text, 0) if kind != "string" else (text, len(text))
    return value if end == len(text) else text
