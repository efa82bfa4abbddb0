"""Mines one package in its own process: import it, record what its examples reach, try mutants, write the repository.

:mod:`fusesearch.data.sources.synthetic.mining` starts it. Its messages are its progress, and at last the finished row.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fusesearch.core.errors import FusesearchError
from fusesearch.data.sources.synthetic import git_writer
from fusesearch.data.sources.synthetic.corpus import Corpus, digest, shortened
from fusesearch.data.sources.synthetic.mutations import KINDS
from fusesearch.data.sources.synthetic.packages import Package
from fusesearch.data.sources.synthetic.recording import record
from fusesearch.data.sources.synthetic.sandbox import Sandbox, fix_addresses, fix_random_numbers
from fusesearch.data.sources.synthetic.search import Finding, MutantSearch

WALL_SECONDS = 400.0
"""For any child, far more than it needs on a machine that is busy with other work."""
MEMORY_MB = 2048
"""Address space of a child beyond its start."""


def main() -> None:
    """Do the job of standard input, and say its result.

    Standard output is kept for messages; what the package prints is lost.
    """
    steady = fix_addresses()
    fix_random_numbers()
    job = json.loads(sys.stdin.read())
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    warnings.simplefilter("ignore")

    def say(message: dict[str, Any]) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    say(mine_package(job, say, steady))


def mine_package(job: dict[str, Any], say: Callable[[dict[str, Any]], None], steady: bool) -> dict[str, Any]:
    """Do one job: ``{"row": {"repo", "instances", "table", "ended_by_clock", "unsteady"}}`` or ``{"skipped": reason}``.

    ``steady``: addresses are the same in every run. ``unsteady`` is why the instances may depend on the machine's speed or on
    chance; empty if they do not.
    """
    root = Path(job["root"]) if job.get("root") else None
    package = Package(job["repo"], job["module"], tuple(job["without"]), root)
    if root:
        sys.path.insert(0, str(root))
    try:
        corpus = Corpus(package)
        sandbox = Sandbox(job["seconds"], WALL_SECONDS, MEMORY_MB)
        units = list(record(corpus, job["seed"], sandbox, docstrings=30 + 3 * job["keep"]))
        search = MutantSearch(corpus, units, job["seed"], sandbox)
        search.run(job["keep"], job["attempts"], lambda kept: say({"kept": kept}))
        spent = sandbox.spent()
        planted = pairs(search.findings) if job["pairs"] else [[finding] for finding in search.findings]
        instances = _write(corpus, planted, Path(job["git_dir"]))
    except FusesearchError as error:
        return {"skipped": str(error)}
    unsteady = "" if steady else "the system does not allow fixed addresses"
    if spent or corpus.dropped["docstring not recorded in time"]:
        unsteady = "the processor seconds of a repository ran out"
    elif sandbox.late:
        unsteady = f"the clock ended examples {sandbox.late} times"
    row = {"repo": package.repo, "instances": instances, "table": _table(corpus, search)}
    return {"row": row | {"ended_by_clock": sandbox.late, "unsteady": unsteady}}


def pairs(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Two faults in two files for each issue, in the order found: one search does not find both. Without a partner none stays."""
    waiting, made = list[Finding](), list[list[Finding]]()
    for finding in findings:
        if other := next((row for row in waiting if row.function.path != finding.function.path), None):
            waiting.remove(other)
            made.append([other, finding])
        else:
            waiting.append(finding)
    return made


def _write(corpus: Corpus, planted: list[list[Finding]], git_dir: Path) -> list[dict[str, Any]]:
    """Write the repository with the faults ``planted`` for each issue; return its instances as plain dicts in the order found."""
    slug, named = corpus.package.slug, {}
    for findings in planted:
        of = [(row.function.entity, row.mutant.kind, row.mutant.start, row.mutant.replacement) for row in findings]
        named[f"{slug}-{digest(*(part for parts in of for part in parts))[:8]}"] = findings
    files = {file.path: corpus.committed(file.path).text.encode() for file in corpus.files}
    changes = {name: {row.function.path: shortened(row.text).text.encode() for row in rows} for name, rows in named.items()}
    written = git_writer.write_repository(git_dir, files, changes, f"{corpus.package.repo} {corpus.package.version}")
    return [_instance(corpus, name, findings, *written[name]) for name, findings in named.items()]


def _instance(corpus: Corpus, name: str, findings: list[Finding], commit: str, patch: str) -> dict[str, Any]:
    """An instance; what its provenance says is of the first of its faults."""
    finding = findings[0]
    package, function, symptom = corpus.package, finding.function, finding.symptom
    provenance = {
        "source": "synthetic",
        "version": package.version,
        "kind": finding.mutant.kind,
        "function": function.entity,
        "line": corpus.committed(function.path).line(finding.mutant.line),
        "hops": finding.hops,
        "example": finding.unit.identity,
        "statement": symptom.statements[-1],
        "want": symptom.want,
        "got": symptom.got,
        "exception": symptom.exception,
        "names_function": function.name.split(".")[-1] in finding.issue,
        "names_file": function.path in finding.issue,
    }
    return {
        "instance_id": name,
        "repo": package.repo,
        "base_commit": commit,
        "problem_statement": "\n\n".join(row.issue for row in findings),
        "patch": patch,
        "provenance": provenance,
    }


def _table(corpus: Corpus, search: MutantSearch) -> dict[str, Any]:
    """Counts of mutants tried, kept and dropped, by kind of fault and reason."""
    return {
        "repo": corpus.package.repo,
        "files": len(corpus.files),
        "docstrings": len(corpus.docstrings),
        "attempts": sum(search.attempted.values()),
        "kept": len(search.findings),
        "kinds": {
            kind: {"attempts": search.attempted[kind], "kept": search.kept[kind]} for kind in KINDS if search.attempted[kind]
        },
        "hops": dict(sorted(Counter(str(finding.hops) for finding in search.findings).items())),
        "dropped": dict(sorted(corpus.dropped.items())),
    }


if __name__ == "__main__":
    main()
