"""SWE-bench Pro's public issues in the SWE-bench schema, from two repositories.

Texts and gold patches are in kimjune01/swebench-pro-audit, base commits in scaleapi/SWE-bench_Pro-os. No text of either is
kept in this project.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fusesearch.core.errors import DataError
from fusesearch.search.git import Git

PARTS = ("PROBLEM", "REQUIREMENTS", "INTERFACE")
"""The sections of a text. The benchmark's own agents get all three."""
HEADINGS = ("", "Requirements:\n", "New interfaces introduced:\n")

_SECTIONS = re.compile(r"^## PROBLEM\n(.*)^## REQUIREMENTS\n(.*)^## INTERFACE\n(.*)", re.DOTALL | re.MULTILINE)
_INFO = re.compile(r"^Repository: (?P<repo>\S+)\nBase Commit: (?P<base>[0-9a-f]{40})$", re.MULTILINE)
_VERDICT = re.compile(r"^\| (?P<case>\S+) \| (?P<verdict>[A-Za-z-]+) \|", re.MULTILINE)
_MISMATCH = re.compile(r"^## (\w\S*_[0-9a-f]{8}) ", re.MULTILINE)


def pro_rows(audit: Path, benchmark: Path, whole: bool) -> Iterator[dict[str, Any]]:
    """The rows, by instance; ``audit`` and ``benchmark`` are git folders of the repositories, read at their ``HEAD``.

    A text is the problem alone, or with ``whole`` its three sections. ``half`` is ``even`` or ``odd``, by the SHA-256 of the id:
    rules are chosen on the even one. Raises :class:`DataError` that names an instance of which a file or a part is missing.
    """
    with Git(audit) as texts, Git(benchmark) as infos:
        files = [entry.path for entry in texts.entries(texts.resolve("HEAD")[1])]
        cases = sorted(path.split("/")[2] for path in files if re.fullmatch(r"data/cases/[^/]+/spec\.md", path))
        verdicts = _verdicts(texts)
        for case in cases:
            name = _text(texts, f"data/cases/{case}/instance_id.txt").strip()
            info = _INFO.search(_text(infos, f"run_scripts/{name}/instance_info.txt"))
            sections = _SECTIONS.search(_text(texts, f"data/cases/{case}/spec.md"))
            if not info or not sections:
                raise DataError(f"{name} has no {'text' if info else 'base commit'}")
            parts = [plain(part) for part in sections.groups()]
            shown = [heading + part for heading, part in zip(HEADINGS, parts, strict=True)][: None if whole else 1]
            yield {
                "instance_id": name,
                "repo": info["repo"],
                "base_commit": info["base"],
                "problem_statement": "\n\n".join(shown),
                "patch": _text(texts, f"data/cases/{case}/gold.diff"),
                "half": ("even", "odd")[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2],
                "verdict": verdicts.get(name) or verdicts.get(case, ""),
            }


def plain(part: str) -> str:
    """A section as it was written: most are one line with escaped ends of lines, some are JSON strings."""
    part = part.strip()
    if len(part) > 1 and part[0] == part[-1] == '"':
        try:
            part = str(json.loads(part))
        except ValueError:
            part = part[1:-1]
    return (part if "\n" in part else part.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')).strip()


def _verdicts(texts: Git) -> dict[str, str]:
    """What the audit says, by case or instance: whether the text determines the fix, and which are known to be wrong."""
    found = {row["case"]: row["verdict"] for row in _VERDICT.finditer(_text(texts, "COVERAGE.md")) if row["case"] != "case"}
    found |= dict.fromkeys(_MISMATCH.findall(_text(texts, "KNOWN_MISMATCH.md")), "KNOWN_MISMATCH")
    return found | dict.fromkeys(re.findall(r"`(instance_[^`]+)`", _text(texts, "KNOWN_BAD.md")), "KNOWN_BAD")


def _text(git: Git, path: str) -> str:
    """A file at ``HEAD``. Raises :class:`DataError` if it is not there."""
    found = git.read("HEAD", path)
    if found is None:
        raise DataError(f"{git.git_dir} has no {path}")
    return found
