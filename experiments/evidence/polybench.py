"""Issues of SWE-PolyBench Verified with their fixes and the agents' published patches, from public repositories.

The data set is on a hub only. Its ids name pull requests, so a fix is what the merge of that request changed outside tests, and
it counts if its files give every figure that the benchmark's logs publish for the agents' patches (154 of 159 do; the other five
have files of tests that no rule for names knows). Texts are those that an agent got. No text or patch is kept in this project.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fusesearch.code.kinds import is_test
from fusesearch.core.errors import DataError
from fusesearch.data.patches import parse_patch
from fusesearch.data.repositories import git_dir_of
from fusesearch.search.git import git_command, git_environment

AGENTS = {
    "Rovo Dev": "20251208_atlassian-rovo-dev",
    "Prometheus, GPT-5": "20251130_prometheus_gpt-5",
    "Kodah, GPT-5-mini": "20260430_kodah_gpt-5-mini",
    "iSWE, GPT-5.4": "20260422_iswe_agent",
    "iSWE, Opus 4.5": "20260201_iswe_agent",
}
SUBMISSIONS = "submission:evaluation/PBVerified"
TEXTS = AGENTS["Rovo Dev"]
_STATEMENT = re.compile(r"<problem_statement>\n?(.*?)</problem_statement>", re.DOTALL)


def patches(benchmark: Path) -> dict[str, dict[str, str]]:
    """Patches of each agent by instance, empty where it made none; ``benchmark`` is a clone of amazon-science/SWE-PolyBench."""
    texts = {name: _git(benchmark, "show", f"{SUBMISSIONS}/{folder}/all_preds.jsonl") for name, folder in AGENTS.items()}
    rows = {name: map(json.loads, text.splitlines()) for name, text in texts.items()}
    return {name: {row["instance_id"]: row.get("model_patch") or "" for row in found} for name, found in rows.items()}


def polybench_rows(benchmark: Path, repos: Path) -> Iterator[dict[str, Any]]:
    """Rows in the SWE-bench schema for the issues whose pull request the clones in ``repos`` have, those of gson left out.

    gson is left out because the ranker learned from its history.
    """
    agents = patches(benchmark)
    logs: dict[str, list[list[str]]] = {}
    for name in sorted(agents["Rovo Dev"]):
        repo, _, number = name.replace("__", "/", 1).rpartition("-")
        git_dir = git_dir_of(repo, repos)
        if repo == "google/gson" or not git_dir.exists():
            continue
        if repo not in logs:
            listed = _git(git_dir, "log", "--all", "--format=%H%x1f%P%x1f%s").split("\n")
            logs[repo] = [line.split("\x1f") for line in listed if line.count("\x1f") == 2]
        merged = re.compile(rf"\(#{number}\)|Merge pull request #{number} ")
        hits = [(commit, parents.split()) for commit, parents, subject in logs[repo] if parents and merged.search(subject)]
        fixes = [_fix(git_dir, commit, parents) for commit, parents in hits]
        text = _STATEMENT.search(_git(benchmark, "show", f"{SUBMISSIONS}/{TEXTS}/trajs/{name}"))
        if not fixes or not text:
            continue
        published = {agent: _published(benchmark, folder, name) for agent, folder in AGENTS.items() if agents[agent].get(name)}
        base, patch = max(
            fixes, key=lambda fix: sum(_agrees(fix[1], agents[agent][name], published[agent]) for agent in published)
        )
        yield {
            "instance_id": name, "repo": repo, "base_commit": base, "problem_statement": text[1].strip(), "patch": patch,
        }  # fmt: skip


def _fix(git_dir: Path, commit: str, parents: list[str]) -> tuple[str, str]:
    """The commit that a merge or a squashed request starts from, and its patch without tests."""
    base = _git(git_dir, "merge-base", *parents[:2]).strip() if len(parents) > 1 else parents[0]
    tip = parents[1] if len(parents) > 1 else commit
    names = _git(git_dir, "diff", "--name-only", "--no-renames", "-z", base, tip).split("\0")
    kept = [name for name in names if name and not is_test(name) and "test" not in name.lower()]
    return base, _git(git_dir, "diff", "--no-renames", "--no-color", "--binary", base, tip, "--", *kept) if kept else ""


def _published(benchmark: Path, folder: str, name: str) -> dict[str, float]:
    return json.loads(_git(benchmark, "show", f"{SUBMISSIONS}/{folder}/logs/{name}_metrics.json"))["file_retrieval_metrics"]


def _agrees(fix: str, patch: str, published: dict[str, float]) -> bool:
    """Whether ``fix`` gives the published recall and precision of ``patch``, in the benchmark's way: all new files are one."""
    try:
        right, named = ({change.old if change.kind != "added" else "" for change in parse_patch(one)} for one in (fix, patch))
    except DataError:
        return False
    both = len(right & named)
    return abs(both / len(right) - published["recall"]) < 1e-6 and abs(both / len(named) - published["precision"]) < 1e-6


def _git(git_dir: Path, *arguments: str) -> str:
    done = subprocess.run(git_command(git_dir, *arguments), capture_output=True, env=git_environment(), check=False)
    return done.stdout.decode("utf-8", "replace")
