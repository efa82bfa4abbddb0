"""Stack traces in an issue: frames of a dozen languages and of tools that print their own."""

from __future__ import annotations

import re

from fusesearch.localizers.lexical.clues import Frame, frames_of

MAX_FRAMES = 60

_DRIVE = r"(?:[A-Za-z]:)?"
_OUTERMOST_FIRST = [
    # rich, cleo: `│ src/app.py:12 in run`, `at src/app.py:12 in run`
    re.compile(r"^[\s│|]*(?:\d+ +|at +)?(?P<path>[^\s:│|]{1,300}\.pyx?):(?P<line>\d+) in (?P<name>[\w<>.]{1,200})", re.MULTILINE),
]
_INNERMOST_FIRST = [
    re.compile(
        rf"^\s*at (?:async |new )?(?:(?P<name>[\w$.<>#]{{1,200}})[^\n(]{{0,100}} \()?(?:file:///(?=[A-Z]:)|file://|[a-z-]+:///?)?"
        rf"(?P<path>{_DRIVE}[^\n():]{{1,300}}\.(?:[cm]?[jt]sx?|vue|svelte)):(?P<line>\d+):\d+",
        re.MULTILINE,
    ),
    re.compile(
        r"^\s*at (?:app//|[\w.-]{1,60}(?:@[\w.]{1,30})?/)?(?P<name>[\w.$<>]{1,300})"
        r"\((?P<path>\w{1,100}\.(?:java|kt|scala|sc|groovy)):(?P<line>\d+)\)",
        re.MULTILINE,
    ),
    re.compile(
        r"^\s*at (?P<name>[\w.`<>\[\],|+$]{1,300})\([^\n]{0,500}\) in "
        rf"(?P<path>{_DRIVE}[^\n:]{{1,300}}\.(?:cs|fs|vb)):line (?P<line>\d+)",
        re.MULTILINE,
    ),
    re.compile(
        r"^(?:created by )?(?P<name>[\w./()*\[\]-]{1,300})(?:\([^\n]{0,300}\)| in goroutine \d+)\n\s+"
        rf"(?P<path>{_DRIVE}[^\s:]{{1,300}}\.go):(?P<line>\d+)",
        re.MULTILINE,
    ),
    re.compile(
        rf"(?P<path>{_DRIVE}[^\s:]{{1,300}}\.(?:rb|rake|erb)):(?P<line>\d+):in [`'](?P<name>[^'\n]{{1,200}})'",
    ),
    re.compile(
        r"(?:^\s*(?:\d+:\s+(?:0x[0-9a-f]+ - )?(?P<name>[^\n]{1,300})\n\s+)?at |panicked at (?:'[^'\n]{0,300}', )?)"
        rf"(?P<path>{_DRIVE}[^\s:]{{1,300}}\.rs):(?P<line>\d+)",
        re.MULTILINE,
    ),
    re.compile(r"^\s*#\d+ (?P<path>[^\s(]{1,300}\.php)\((?P<line>\d+)\): (?P<name>[\w\\:>{}-]{1,200})\(", re.MULTILINE),
    re.compile(
        rf"^\s*(?P<name>[\w\\]{{1,200}}(?:->|::)\w{{1,100}})\([^\n]{{0,200}}\) at (?:phar://)?(?P<path>{_DRIVE}[^\s:()]{{1,300}}\.php):(?P<line>\d+)",
        re.MULTILINE,
    ),
    # sanitizers: `#0 0x4f in put /src/store.c:3:12`
    re.compile(
        r"^\s*#\d+ 0x[0-9a-f]{1,16} in (?P<name>[^\n]{1,300}?) (?P<path>[^\s:()]{1,300}\.\w{1,4}):(?P<line>\d+)", re.MULTILINE
    ),
    # gdb: `#1  0x4f in put (key=1) at src/store.c:12`
    re.compile(
        r"^\s*#\d+\s+(?:0x[0-9a-f]{1,16} in )?(?P<name>[\w:~<>*&, ]{1,200}?) ?\([^\n]{0,500}\)\s+"
        r"at (?P<path>[^\s:]{1,300}):(?P<line>\d+)",
        re.MULTILINE,
    ),
    # recovery logs of Go's servers: `/app/store.go:12 (0x4f)`, then the function and its code
    re.compile(
        rf"^\s*(?P<path>{_DRIVE}[^\s:]{{1,300}}\.go):(?P<line>\d+) \(0x[0-9a-f]{{1,16}}\)"
        r"(?:\n\s+(?P<name>[\w./()*·]{1,200}): )?",
        re.MULTILINE,
    ),
    # Lua: `store.lua:12: in function 'put'`, `in method 'Store:put'`
    re.compile(r"^\s*(?P<path>[^\s:]{1,300}\.lua):(?P<line>\d+): in (?:\w+ )?['<](?P<name>[\w.:]{1,200})", re.MULTILINE),
    # Swift: `12 [ra] 0x4f put(_:) + 40 in Store at /app/Store.swift:12:3`
    re.compile(
        r"^\s*\d+ (?:\[[^\]\n]{1,20}\] )*0x[0-9a-f]{1,16} (?P<name>[\w.]{1,200})[^\n]{0,200}?"
        r" at (?P<path>[^\n:]{1,300}\.swift):(?P<line>\d+)",
        re.MULTILINE,
    ),
    # Firefox and Safari: `put@http://host/src/store.js:12:5`
    re.compile(
        r"^\s*(?P<name>[\w$./<]{0,200})@(?:[a-z-]+://[^/\s]*)?(?P<path>/[^\s:?]{1,300}\.(?:[cm]?[jt]sx?|vue))(?:\?[^\s:]{0,100})?:(?P<line>\d+):\d+",
        re.MULTILINE,
    ),
    # glibc: `./store(put+0x27d)[0x4f]`
    re.compile(r"\((?P<name>[A-Za-z_]\w{0,200})\+0x[0-9a-f]{1,16}\)"),
]
_HANDLER = re.compile(
    r"_*(?:log_?stack_?trace|(?:sig(?:segv|nal|abrt)?_?)+handler|(?:server)?_?assert\w*|abort|panic\w*|backtrace|raise|terminate)",
    re.IGNORECASE,
)
"""Functions that a crash runs through after the fault."""
_LIBRARY = re.compile(r"^java\.base/|^/_/src/libraries/|^/rustc/|/usr/local/go/src/")
_CLOSURE = re.compile(r"::\{+closure[^}]*\}+|(?:\.func\d+)+(?:\.\d+)*$|::h[0-9a-f]{16}$|::<[^\n]*?>(?=::|$)|\[[^\]]*\]|`\d+")
_STATE_MACHINE = re.compile(r"<(\w+)>[a-z]__\d+(?:\.MoveNext)?|<\w*>g__(\w+)\|[\d_]+|lambda\$(\w+)\$\d+")
_BLOCK = re.compile(r"^(?:(?:block|rescue|ensure)(?: \(\d+ levels\))? in )+")


def all_frames(text: str) -> list[Frame]:
    """The frames of all traces of a text, the outermost of each first, without those of crash handlers."""
    found = frames_of(text)
    for pattern in _OUTERMOST_FIRST:
        found += [_frame(match) for match in pattern.finditer(text)]
    for pattern in _INNERMOST_FIRST:
        found += [_frame(match) for match in pattern.finditer(text)][::-1]
    own = (frame for frame in found if not _LIBRARY.search(frame.path))
    kept = (frame for frame in own if not _HANDLER.fullmatch(re.split(r"[.:]+", frame.name or "")[-1]))
    return list(dict.fromkeys(kept))[-MAX_FRAMES:]


def _frame(match: re.Match[str]) -> Frame:
    row = match.groupdict()
    path, name = (row.get("path") or "").replace("\\", "/"), row["name"]
    if name:
        name = _STATE_MACHINE.sub(lambda m: m[1] or m[2] or m[3], _CLOSURE.sub("", _BLOCK.sub("", name.strip())))
        if path.endswith((".java", ".kt", ".scala", ".sc", ".groovy")):  # the trace has the file without its folder
            packages = [part for part in name.split(".")[:-2] if part[:1].islower() and not path.endswith(".sc")]
            path = "/".join([*packages, path])
            name = name.replace("$", ".")
    return Frame(path, int(row.get("line") or 0), name or None)
