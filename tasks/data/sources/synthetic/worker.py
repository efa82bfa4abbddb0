"""One process that mines one package: import, record what its examples reach, try mutants, write the repository.

Started by :mod:`tasks.data.sources.synthetic.mining`; reads its job as JSON from stdin and writes JSON lines to stdout: progress,
and the finished row last.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from tasks.core.errors import FusesearchError
from tasks.data.sources.synthetic import doctests, git_writer, issues, patching
from tasks.data.sources.synthetic.mutations import KINDS, Mutant, Source, mutants
from tasks.data.sources.synthetic.packages import Package, SourceFile, files_of
from tasks.data.sources.synthetic.sandbox import Limits, address_space, run_forked, violations
from tasks.data.sources.synthetic.tracing import BudgetSpent, Coverage, Function, FunctionNode, Recorder, outermost_functions

MAX_DOCSTRINGS = 260
MAX_EXAMPLES = 30
TRACE_BUDGET = 60_000
KEPT_PER_FUNCTION = 2
ATTEMPTS_PER_FUNCTION = 7
EXAMPLES_PER_MUTANT = 3
KEPT_PER_EXAMPLE = 2
SHARE_WITH_HOPS = 0.6
CPU_SECONDS = 0.6


@dataclass(frozen=True)
class Unit:
    """A reproducer: the examples to run in order (the last is the one checked), where it comes from, what it reaches."""

    identity: str
    module: str
    owner: str
    examples: tuple[doctests.Example, ...]
    coverage: Coverage


@dataclass
class Target:
    """A function that some reproducer reaches, with its source and what was tried on it so far."""

    function: Function
    node: FunctionNode
    source: Source
    direct: list[Unit] = field(default_factory=list)
    indirect: list[Unit] = field(default_factory=list)
    pending: list[Mutant] = field(default_factory=list)
    attempts: int = 0
    kept: int = 0


@dataclass(frozen=True)
class Finding:
    """A mutant some reproducer observed."""

    target: Target
    mutant: Mutant
    unit: Unit
    hops: int
    issue: str
    symptom: issues.Symptom


def digest(*parts: object) -> str:
    """Forty hex characters that depend on the parts alone."""
    return hashlib.sha1(
        "\0".join(str(part) for part in parts).encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


class Miner:
    """Everything known about one package in this process."""

    def __init__(self, package: Package, seed: int, options: dict[str, Any], report: Callable[[int, int], None]) -> None:
        self.package = package
        self.seed = seed
        self.options = options
        self.report = report
        self.files = files_of(package)
        self.sources: dict[str, Source] = {}
        self.targets: dict[str, Target] = {}
        self.docstrings: list[doctests.Docstring] = []
        self.real = {str(file.real): file.path for file in self.files}
        self.filename = {file.path: str(file.real) for file in self.files}
        self.live: dict[patching.Key, list[FunctionType]] = {}
        self.attempted: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.used: Counter[str] = Counter()
        self.passes: dict[str, bool] = {}
        self.findings: list[Finding] = []
        self.deadline = time.monotonic() + float(options["seconds"])

    # --- reading and recording -------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the sources and import the modules; a module that cannot be imported is left out."""
        for file in self.files:
            if file.module is None:
                continue
            try:
                source = Source(file.real.read_bytes().decode("utf-8"))
            except (SyntaxError, ValueError):
                self.dropped["unreadable file"] += 1
                continue
            found = doctests.collect(source.tree, file.path, file.module)
            if self._import(file, needed=bool(found)):
                self.sources[file.path] = source
                self.docstrings += found
                for function, node in outermost_functions(source.tree, file.path):
                    self.targets.setdefault(function.entity, Target(function, node, source))
        if not self.docstrings:
            raise FusesearchError(f"{self.package.repo}: no doctest could be imported")
        self.live = patching.live_functions(self.real)
        self.memory = address_space() + int(self.options["memory_mb"]) * 1_000_000

    def _import(self, file: SourceFile, needed: bool) -> bool:
        if file.module is None or file.path.endswith("__main__.py"):
            return False
        if file.module in sys.modules:
            return True
        if not needed and not file.path.endswith("__init__.py"):
            return True
        try:
            importlib.import_module(file.module)
        except BaseException:  # noqa: BLE001  whatever an optional module does when imported, it is only left out
            self.dropped["module not importable"] += 1
            return False
        return True

    def record(self) -> None:
        """Run docstrings once, each in its own child, and note which examples pass and what they reach."""
        functions = [target.function for target in self.targets.values()]
        chosen = sorted(self.docstrings, key=lambda d: digest(self.seed, "docstring", d.owner))[:MAX_DOCSTRINGS]
        for docstring in chosen:
            if time.monotonic() > self.deadline:
                self.dropped["docstring not recorded in time"] += 1
                continue
            result = run_forked(lambda d=docstring: self._record_one(d, functions), self._limits(4 * CPU_SECONDS))
            for index, coverage in (result or {}).items():
                self._add_unit(docstring, index, coverage)

    def _record_one(self, docstring: doctests.Docstring, functions: list[Function]) -> dict[int, Coverage]:
        recorder = Recorder(self.real, functions, TRACE_BUDGET)
        names = self._namespace(docstring.module)
        found = {}
        for index, example in enumerate(docstring.examples[:MAX_EXAMPLES]):
            try:
                with recorder.recording() as coverage:
                    outcome = doctests.run_example(example, names)
            except BudgetSpent:
                break
            if recorder.spent:
                break
            if outcome.passed and doctests.is_reportable(example) and not violations.events:
                found[index] = coverage
            violations.events.clear()
        return found

    def _add_unit(self, docstring: doctests.Docstring, index: int, coverage: Coverage) -> None:
        examples = doctests.reproducer(docstring, index)
        if examples is None or not coverage.hops:
            return
        unit = Unit(f"{docstring.owner}#{index}", docstring.module, docstring.owner, examples, coverage)
        for entity, hops in coverage.hops.items():
            target = self.targets[entity]
            (target.indirect if hops else target.direct).append(unit)

    def _namespace(self, module: str) -> dict[str, Any]:
        names = dict(vars(sys.modules[module]))
        for alias, name in (("np", "numpy"), ("pd", "pandas"), ("nx", "networkx")):
            if name in sys.modules:
                names.setdefault(alias, sys.modules[name])
        return names

    def _limits(self, cpu_seconds: float) -> Limits:
        return Limits(cpu_seconds, max(float(self.options["timeout"]), 2 * cpu_seconds), self.memory)

    # --- mutants ---------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Try mutants until enough are kept, the attempts are spent or time is up."""
        reached = [target for target in self.targets.values() if target.direct or target.indirect]
        reached.sort(key=lambda target: digest(self.seed, "function", target.function.entity))
        for target in reached:
            target.pending = self._mutants_of(target)
        while len(self.findings) < self.options["keep"] and sum(self.attempted.values()) < self.options["attempts"]:
            target = self._next(reached)
            if target is None or time.monotonic() > self.deadline or os.getppid() == 1:
                break
            self._attempt(target)
            reached.remove(target)
            if target.pending and target.kept < KEPT_PER_FUNCTION and target.attempts < ATTEMPTS_PER_FUNCTION:
                reached.append(target)
            self.report(len(self.findings), sum(self.attempted.values()))

    def _mutants_of(self, target: Target) -> list[Mutant]:
        lines: set[int] = set()
        for unit in (*target.direct, *target.indirect):
            lines |= unit.coverage.lines.get(target.function.path, set())
        found = mutants(target.source, target.node, lines)
        return sorted(found, key=lambda m: digest(self.seed, target.function.entity, m.kind, m.start, m.replacement))

    def _next(self, reached: list[Target]) -> Target | None:
        """The next function in the queue that suits the wanted share of hops; any, when none does."""
        with_hops = sum(finding.hops > 0 for finding in self.findings)
        want = with_hops < SHARE_WITH_HOPS * (len(self.findings) + 1)
        return next(
            (target for target in reached if bool(target.indirect if want else target.direct)), reached[0] if reached else None
        )

    def _attempt(self, target: Target) -> None:
        mutant = min(target.pending, key=lambda m: self.kept[m.kind], default=None)
        target.attempts += 1
        if mutant is None:
            return
        target.pending.remove(mutant)
        self.attempted[mutant.kind] += 1
        finding = self._observe(target, mutant)
        if finding is not None:
            self.findings.append(finding)
            target.kept += 1
            self.kept[mutant.kind] += 1
            self.used[finding.unit.identity] += 1

    def _observe(self, target: Target, mutant: Mutant) -> Finding | None:
        text = mutant.apply(target.source.text)
        added = text.count("\n") - target.source.text.count("\n")
        try:
            node = patching.mutated_node(text, target.function, added)
            if ast.dump(node) == ast.dump(target.node):
                return self._drop("same program")
            flags = patching.future_flags(target.source.tree)
            code = patching.compiled(node, target.function, self.filename[target.function.path], flags)
        except (SyntaxError, ValueError, patching.NotPatchable, RecursionError):
            return self._drop("not compiled")
        units = self._units(target, mutant)
        if not units:
            return self._drop("no example left for the line")
        live = self.live.get((self.filename[target.function.path], target.function.name, target.function.start), [])

        def run() -> tuple[int, list[doctests.Outcome]] | str | None:
            try:
                patching.replace_function(live, code, node)
            except (patching.NotPatchable, ValueError):
                return "not patchable"
            for position, unit in enumerate(units):
                outcomes = doctests.run_examples(unit.examples, self._namespace(unit.module))
                if violations.events:
                    return "touched the outside"
                if not outcomes[-1].passed:
                    return position, outcomes
            return None

        result = run_forked(run, self._limits(CPU_SECONDS * 2))
        if result is None:
            return self._drop("nothing seen, or hung")
        if isinstance(result, str):
            return self._drop(result)
        position, outcomes = result
        return self._judge(target, mutant, units[position], outcomes, text, added)

    def _units(self, target: Target, mutant: Mutant) -> list[Unit]:
        with_hops = sum(finding.hops > 0 for finding in self.findings)
        far_first = with_hops < SHARE_WITH_HOPS * (len(self.findings) + 1)
        groups = [target.indirect, target.direct] if far_first else [target.direct, target.indirect]
        path = target.function.path
        header = range(target.function.start, target.node.body[0].lineno)
        units: list[Unit] = []
        for group in groups:
            fitting = [
                u
                for u in group
                if (mutant.line in header or mutant.line in u.coverage.lines[path]) and self.used[u.identity] < KEPT_PER_EXAMPLE
            ]
            units += sorted(fitting, key=lambda u: digest(self.seed, u.identity, target.function.entity, mutant.start))[
                :EXAMPLES_PER_MUTANT
            ]
        return units[:EXAMPLES_PER_MUTANT]

    def _drop(self, reason: str) -> None:
        self.dropped[reason] += 1

    # --- reporting -------------------------------------------------------------------------------------------------

    def _judge(
        self, target: Target, mutant: Mutant, unit: Unit, outcomes: list[doctests.Outcome], text: str, added: int
    ) -> Finding | None:
        outcome = outcomes[-1]
        example = unit.examples[len(outcomes) - 1]
        if not self._passes(unit):
            return self._drop("example fails without the fault")
        if _is_trivial(example, outcome):
            return self._drop("difference too small to report")
        symptom = self._symptom(target, unit, outcomes, text, added)
        key = digest(self.seed, self.package.repo, target.function.entity, mutant.start, mutant.replacement)
        issue = issues.write_issue(symptom, self.package.repo.split("/")[0], self.package.version, key)
        if issue is None:
            return self._drop("issue too long")
        hops = unit.coverage.hops[target.function.entity]
        return Finding(target, mutant, unit, hops, issue, symptom)

    def _passes(self, unit: Unit) -> bool:
        """Whether the reproducer passes on the untouched package, twice in a child like the mutant's."""
        if unit.identity not in self.passes:

            def run() -> bool:
                done = [doctests.run_examples(unit.examples, self._namespace(unit.module)) for _ in range(2)]
                return (
                    all(len(outcomes) == len(unit.examples) and outcomes[-1].passed for outcomes in done)
                    and not violations.events
                )

            self.passes[unit.identity] = bool(run_forked(run, self._limits(CPU_SECONDS * 2)))
        return self.passes[unit.identity]

    def _symptom(self, target: Target, unit: Unit, outcomes: list[doctests.Outcome], text: str, added: int) -> issues.Symptom:
        outcome, run = outcomes[-1], unit.examples[: len(outcomes)]
        wanted = run[-1].exception.split(":")[0].strip() if run[-1].exception else None
        return issues.Symptom(
            imports=tuple(self._imports(unit.module, run)),
            statements=tuple(example.shown for example in run),
            want="" if wanted else run[-1].want,
            got="" if outcome.exception else outcome.got,
            exception=outcome.exception,
            message=outcome.message,
            wanted_exception=wanted,
            traceback=tuple(self._traceback(outcome, target, text, added)) if outcome.exception else (),
        )

    def _imports(self, module: str, examples: tuple[doctests.Example, ...]) -> Iterator[str]:
        """Imports of the names the statements take from the module their docstring stands in."""
        tree = ast.parse("\n".join(example.source for example in examples))
        bound = doctests.bound_names(tree)
        used = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound - {"np", "pd", "nx"})
        names = vars(sys.modules[module])
        if "*" not in bound:
            for name in used:
                if name in names and not name.startswith("__") and names[name] is not getattr(__builtins__, name, None):
                    yield _import_of(name, names[name], module)

    def _traceback(self, outcome: doctests.Outcome, target: Target, text: str, added: int) -> list[issues.TracebackEntry]:
        lines = text.split("\n")
        entries = []
        for frame in outcome.frames:
            path = self.real.get(frame.filename)
            line = frame.line
            if path == target.function.path and line > target.function.end and frame.name != target.function.name.split(".")[-1]:
                line += added
            if path == target.function.path:
                code = lines[line - 1].strip() if line <= len(lines) else ""
            else:
                code = _line_of(frame.filename, line)
            entries.append(
                issues.TracebackEntry(path or _installed_path(frame.filename), line, frame.name, code if len(code) <= 90 else "")
            )
        inside = [entry for entry, frame in zip(entries, outcome.frames, strict=True) if frame.filename in self.real]
        return entries[-3:] if len(entries) <= 3 or not inside else _last_frames(entries, inside)

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, git_dir: Path) -> list[dict[str, Any]]:
        """Write the repository and return its instances as plain dicts, in the order they were found."""
        files = {file.path: file.real.read_bytes() for file in self.files}
        changes = {self._name(finding): finding for finding in self.findings}
        stream = [
            git_writer.Change(name, f.target.function.path, f.mutant.apply(f.target.source.text).encode())
            for name, f in changes.items()
        ]
        written = git_writer.write_repository(git_dir, files, stream, f"{self.package.repo} {self.package.version}")
        return [self._instance(name, finding, *written[name]) for name, finding in changes.items()]

    def _name(self, finding: Finding) -> str:
        mutant = finding.mutant
        return f"{self.package.slug}-{digest(finding.target.function.entity, mutant.kind, mutant.start, mutant.replacement)[:8]}"

    def _instance(self, name: str, finding: Finding, commit: str, patch: str) -> dict[str, Any]:
        function, mutant, symptom = finding.target.function, finding.mutant, finding.symptom
        return {
            "instance_id": name,
            "repo": self.package.repo,
            "base_commit": commit,
            "problem_statement": finding.issue,
            "patch": patch,
            "provenance": {
                "source": "synthetic",
                "version": self.package.version,
                "kind": mutant.kind,
                "function": function.entity,
                "line": mutant.line,
                "hops": finding.hops,
                "example": finding.unit.identity,
                "statement": symptom.statements[-1],
                "want": symptom.want,
                "got": symptom.got,
                "exception": symptom.exception,
                "named": function.name.split(".")[-1] in finding.issue,
                "file_named": function.path in finding.issue,
            },
        }

    def table(self) -> dict[str, Any]:
        """What was tried, kept and dropped, per kind and reason."""
        return {
            "repo": self.package.repo,
            "files": len(self.files),
            "docstrings": len(self.docstrings),
            "attempts": sum(self.attempted.values()),
            "kept": len(self.findings),
            "kinds": {
                kind: {"attempts": self.attempted[kind], "kept": self.kept[kind]} for kind in KINDS if self.attempted[kind]
            },
            "hops": dict(sorted(Counter(str(finding.hops) for finding in self.findings).items())),
            "dropped": dict(sorted(self.dropped.items())),
        }


def _is_trivial(example: doctests.Example, outcome: doctests.Outcome) -> bool:
    """Differences only in the order of a set or dict, or in the last digits of a float, make no fair report."""
    if outcome.exception or example.exception:
        return False
    want, got = example.want.split(), outcome.got.split()
    if want == got or (("{" in example.want) and sorted(example.want) == sorted(outcome.got)):
        return True
    return len(want) == len(got) and all(a == b or _close(a, b) for a, b in zip(want, got, strict=True))


def _close(first: str, second: str) -> bool:
    with contextlib.suppress(ValueError):
        a, b = float(first.strip("[](),;")), float(second.strip("[](),;"))
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b))
    return False


def _import_of(name: str, thing: Any, module: str) -> str:
    top = module.split(".")[0]
    if isinstance(thing, type(sys)):
        real = thing.__name__
        return f"import {real}" if real == name else f"import {real} as {name}"
    parents = [".".join(module.split(".")[:count]) for count in range(1, module.count(".") + 2)]
    home = next((parent for parent in parents if getattr(sys.modules.get(parent), name, None) is thing), module)
    origin = getattr(thing, "__module__", None)
    if (
        home == module
        and isinstance(origin, str)
        and origin.split(".")[0] != top
        and getattr(sys.modules.get(origin), name, None) is thing
    ):
        home = origin
    return f"from {home} import {name}"


def _installed_path(filename: str) -> str:
    for base in sorted(sys.path, key=len, reverse=True):
        if base and filename.startswith(base.rstrip("/") + "/"):
            return filename[len(base.rstrip("/")) + 1 :]
    return os.path.basename(filename)


def _line_of(filename: str, line: int) -> str:
    try:
        with open(filename, encoding="utf-8") as handle:
            return next((text.strip() for number, text in enumerate(handle, 1) if number == line), "")
    except (OSError, UnicodeDecodeError):
        return ""


def _last_frames(entries: list[issues.TracebackEntry], inside: list[issues.TracebackEntry]) -> list[issues.TracebackEntry]:
    """The last three frames, or the last two and the last one inside the repository when that is earlier."""
    tail = entries[-3:]
    return tail if inside[-1] in tail else [inside[-1], *entries[-2:]]


def mine_package(job: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Do one job: ``{"row": {"repo", "instances", "table"}}`` or ``{"skipped": reason}``."""
    package = Package(job["repo"], tuple(job["modules"]), tuple(job["without"]))
    started = time.monotonic()
    try:
        miner = Miner(package, job["seed"], job["options"], lambda kept, attempts: say({"kept": kept, "attempts": attempts}))
        miner.load()
        loaded = time.monotonic()
        miner.record()
        recorded = time.monotonic()
        miner.search()
        searched = time.monotonic()
        instances = miner.write(Path(job["git_dir"]))
    except FusesearchError as error:
        return {"skipped": str(error)}
    seconds = {
        "load": loaded - started,
        "record": recorded - loaded,
        "search": searched - recorded,
        "total": time.monotonic() - started,
    }
    table = miner.table() | {"seconds": {name: round(value, 2) for name, value in seconds.items()}}
    return {"row": {"repo": package.repo, "instances": instances, "table": table}}


def main() -> None:
    """Read the job, keep stdout for the protocol, work, write the result."""
    job = json.loads(sys.stdin.read())
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 0)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(3000)

    def say(message: dict[str, Any]) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    say(mine_package(job, say))


if __name__ == "__main__":
    main()
