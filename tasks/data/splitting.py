"""Which instances train by imitation, which by reinforcement, and which are held out.

Splits are by repository: owners named in the params are for validation, every other repository goes to ``sft`` or
``rl`` by a weighted rendezvous hash of its name and the seed alone (each split draws a score for the repository, the
best one has it). So a repository never moves when others are added, and the shares are met on average over
repositories, not exactly. Training instances that also occur in a benchmark or in validation are dropped.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tasks.core.config import Split
from tasks.core.errors import ArtifactError, ConfigError
from tasks.core.schema import Instance
from tasks.data.fingerprints import issue_digest, patch_digest

SPLITS = ("sft", "rl", "validation")
CONTAMINATION = ("benchmark_repository", "same_issue", "same_patch")
"""Reasons for which a training instance is dropped."""


def split(instances: Iterable[Instance], rules: Split, seed: int) -> dict[str, list[Instance]]:
    """Instances of ``sft``, ``rl`` and ``validation``; see :func:`split_and_count`."""
    return split_and_count(instances, rules, seed)[0]


def split_and_count(instances: Iterable[Instance], rules: Split, seed: int) -> tuple[dict[str, list[Instance]], dict[str, int]]:
    """The splits, each in the order of ``instances``, and how many were dropped as contaminated, by reason.

    Raises :class:`ConfigError` when a split ends empty though its share is not zero, :class:`ArtifactError` for a
    benchmark file that is missing or malformed.
    """
    parts: dict[str, list[Instance]] = {name: [] for name in SPLITS}
    for instance in instances:
        parts[assign(instance.repo, rules, seed)].append(instance)
    known = Known()
    for path in rules.benchmarks:
        known.add(read_benchmark(path))
    known.add(parts["validation"], repositories=False)
    drops: Counter[str] = Counter()
    for name in ("sft", "rl"):
        parts[name] = list(decontaminated(parts[name], known, drops))
    _check_filled(parts, rules, drops)
    return parts, {reason: drops[reason] for reason in CONTAMINATION}


def assign(repo: str, rules: Split, seed: int) -> str:
    """The split of a repository: a function of its name, the params and the seed alone."""
    if repo.partition("/")[0].casefold() in {owner.casefold() for owner in rules.validation_owners}:
        return "validation"
    shares = {"sft": rules.sft, "rl": rules.rl}
    if not any(shares.values()):
        raise ConfigError("split: sft and rl are both 0; give at least one a share")
    return max((name for name, share in shares.items() if share), key=lambda name: _score(name, repo, seed, shares[name]))


def _score(name: str, repo: str, seed: int, share: float) -> float:
    """Weighted rendezvous hashing: the best of ``-share / ln(u)`` wins with probability proportional to its share."""
    digest = hashlib.blake2b(f"{seed}\n{name}\n{repo.casefold()}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    uniform = ((int.from_bytes(digest, "big") >> 12) + 0.5) / 2**52
    return -share / math.log(uniform)


@dataclass
class Known:
    """What training must not have seen: repositories, issues and patches; ``projects`` are names without owner."""

    repositories: set[str] = field(default_factory=set)
    projects: set[str] = field(default_factory=set)
    issues: set[bytes] = field(default_factory=set)
    patches: set[bytes] = field(default_factory=set)

    def add(self, instances: Iterable[Instance], *, repositories: bool = True) -> None:
        """Take in held-out instances; ``repositories=False`` where their repositories are held out already."""
        for instance in instances:
            if repositories:
                self.repositories.add(instance.repo.casefold())
                self.projects.add(instance.repo.casefold().rpartition("/")[2])
            self.issues.add(issue_digest(instance.problem_statement))
            if instance.patch.strip():
                self.patches.add(patch_digest(instance.patch))

    def reason(self, instance: Instance) -> str | None:
        """Why an instance is contaminated, if it is.

        A synthetic repository is part of a package (``sympy/ntheory``): it counts as the benchmark's repository when
        that has the package's name (``sympy/sympy``).
        """
        repo = instance.repo.casefold()
        package = repo.partition("/")[0] if instance.provenance.get("source") == "synthetic" else None
        if repo in self.repositories or package in self.projects:
            return "benchmark_repository"
        if issue_digest(instance.problem_statement) in self.issues:
            return "same_issue"
        if instance.patch.strip() and patch_digest(instance.patch) in self.patches:
            return "same_patch"
        return None


def decontaminated(instances: Iterable[Instance], known: Known, drops: Counter[str]) -> Iterator[Instance]:
    """Yield the instances ``known`` has nothing against; count the others in ``drops`` by reason."""
    for instance in instances:
        reason = known.reason(instance)
        if reason is None:
            yield instance
        else:
            drops[reason] += 1


def read_benchmark(path: Path) -> Iterator[Instance]:
    """Instances of a benchmark in the SWE-bench schema: ``.jsonl``, ``.json`` or ``.parquet``.

    Raises :class:`ArtifactError` with file and row for what cannot be read.
    """
    for number, row in enumerate(_rows(path), 1):
        try:
            yield Instance.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "row"
            raise ArtifactError(f"{path}: row {number}: {where}: {first['msg']}") from None


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    import polars as pl

    columns = ["instance_id", "repo", "base_commit", "problem_statement", "patch"]
    try:
        if path.suffix == ".parquet":
            yield from pl.read_parquet(path, columns=columns).iter_rows(named=True)
        elif path.suffix == ".json":
            yield from json.loads(path.read_text(encoding="utf-8"))
        else:
            with path.open(encoding="utf-8") as handle:
                yield from (json.loads(line) for line in handle if line.strip())
    except FileNotFoundError:
        raise ArtifactError(f"split.benchmarks: {path} is missing") from None
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise ArtifactError(f"split.benchmarks: {path} is no table of instances ({' '.join(str(error).split())[:150]})") from None


def _check_filled(parts: dict[str, list[Instance]], rules: Split, drops: Counter[str]) -> None:
    """A split that ends empty would make a later stage fail with less to say."""
    wanted = {"sft": rules.sft > 0, "rl": rules.rl > 0, "validation": True}
    empty = [name for name in SPLITS if wanted[name] and not parts[name]]
    if not empty:
        return
    counts = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
    lost = f"; {drops.total()} dropped as contaminated" if drops else ""
    advice = {
        "validation": f"no repository belongs to split.validation_owners {rules.validation_owners}",
        "sft": "mine more repositories, or change data_seed or the shares",
        "rl": "mine more repositories, or change data_seed or the shares",
    }[empty[-1]]
    raise ConfigError(f"split: {' and '.join(empty)} would be empty ({counts}{lost}): {advice}")
