"""Drop training instances that occur in a benchmark or in validation, by repository, issue or patch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fusesearch.core.config import Split
from fusesearch.core.errors import ArtifactError, DataError
from fusesearch.core.schema import Instance
from fusesearch.data.families import Families
from fusesearch.data.similarity import Similar, changed_lines, issue_digest, issue_shingles, patch_digest
from fusesearch.data.swe_bench import instances, read_rows

_SHA = re.compile(r"^[0-9a-f]{40,64}$")
NEAR_DUPLICATE = 0.8
"""Jaccard similarity to a benchmark's issue or patch from which an instance is dropped."""
CONTAMINATION = ("benchmark_repository", "same_issue", "same_patch", "similar_issue", "similar_patch")
"""Why a training instance is dropped. Similarity is looked for to benchmarks, and to validation that shares repositories."""


@dataclass
class HeldOut:
    """What training must not see. ``projects`` are names without owner; ``clones`` contain commits of a benchmark."""

    families: Families = field(default_factory=Families)
    repositories: set[str] = field(default_factory=set)
    projects: set[str] = field(default_factory=set)
    clones: set[str] = field(default_factory=set)
    commits: set[str] = field(default_factory=set)
    issues: set[bytes] = field(default_factory=set)
    patches: set[bytes] = field(default_factory=set)
    near_issues: Similar | None = None
    near_patches: Similar | None = None

    @classmethod
    def of_benchmarks(cls, rules: Split, families: Families) -> HeldOut:
        """All instances of ``rules.benchmarks``. Raises :class:`ArtifactError` for a missing or malformed file."""
        known = cls(families)
        for path in rules.benchmarks:
            known.add(barred_instances(path), near=True)
        return known

    def add(self, instances: Iterable[Instance], *, repositories: bool = True, near: bool = False) -> None:
        """Add held-out instances; ``repositories=False`` keeps other instances of their repositories.

        With ``near``, their issues, their patches and what they change in each file are compared for similarity.
        """
        if near and not (self.near_issues and self.near_patches):
            self.near_issues, self.near_patches = Similar(NEAR_DUPLICATE, issue_shingles), Similar(NEAR_DUPLICATE, changed_lines)
        for instance in instances:
            if repositories:
                self.repositories.add(self.families.key(instance.repo))
                self.projects.add(instance.repo.casefold().rpartition("/")[2])
                self.commits.update(_SHA.findall(instance.base_commit))
            self.issues.add(issue_digest(instance.problem_statement))
            if instance.patch.strip():
                self.patches.add(patch_digest(instance.patch))
            if near and self.near_issues and self.near_patches:
                self.near_issues.add(instance.problem_statement)
                for part in _parts(instance.patch):
                    self.near_patches.add(part)

    def reason(self, instance: Instance) -> str | None:
        """Why an instance is contaminated, if it is."""
        if self._is_benchmarks(instance):
            return "benchmark_repository"
        if issue_digest(instance.problem_statement) in self.issues:
            return "same_issue"
        if instance.patch.strip() and patch_digest(instance.patch) in self.patches:
            return "same_patch"
        if self.near_issues and self.near_issues.holds(instance.problem_statement):
            return "similar_issue"
        if self.near_patches and any(map(self.near_patches.holds, _parts(instance.patch))):
            return "similar_patch"
        return None

    def _is_benchmarks(self, instance: Instance) -> bool:
        """Whether the repository belongs to a benchmark.

        A synthetic repository is part of a package (``sympy/ntheory``). It counts as a benchmark's repository with the
        package's name (``sympy/sympy``).
        """
        synthetic = instance.provenance.get("source") == "synthetic"
        package = instance.repo.casefold().partition("/")[0] if synthetic else None
        if self.families.key(instance.repo) in self.repositories or package in self.projects:
            return True
        return instance.repo in self.clones or instance.base_commit in self.commits


def _parts(patch: str) -> list[str]:
    """A patch, and what it changes in each file if there are several."""
    files = re.split(r"^(?=diff --git )", patch, flags=re.MULTILINE)[1:]
    return [patch, *files] if len(files) > 1 else [patch]


def barred_instances(path: Path) -> Iterator[Instance]:
    """Instances of a file of ``split.benchmarks``, in the SWE-bench schema: ``.jsonl``, ``.json`` or ``.parquet``.

    Raises :class:`ArtifactError` with file and row for unreadable data.
    """
    try:
        yield from instances(str(path), read_rows(path))
    except DataError as error:
        raise ArtifactError(f"split.benchmarks: {error}") from None
