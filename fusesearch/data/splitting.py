"""Split instances into ``sft``, ``rl`` and ``validation``: by repository, or by time where there are few repositories.

Repositories of the owners in ``split.validation_owners`` go to validation, whole. With :data:`MANY` others, each is assigned by
a weighted rendezvous hash of its name and the seed: each split draws a score, and the highest wins. So a repository never moves
when others are added, and the shares hold on average over repositories, not exactly. With fewer, each is divided by time: its
oldest instances are ``sft``, the newest ``validation``, so that one history is enough. Forks and former names stay together.
Training instances that occur in a benchmark, in validation or in a table of ``split.without`` are dropped.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fusesearch.core.config import Split
from fusesearch.core.dropped import read_dropped
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import iter_instances, iter_rows
from fusesearch.data.contamination import CONTAMINATION, HeldOut
from fusesearch.data.families import Families, holding_commits
from fusesearch.data.provenance import read_provenance
from fusesearch.data.sources.base import moment

SPLITS = ("sft", "rl", "validation")
TRAINING = ("sft", "rl")


class TableSplit:
    """The splits of a table that may be larger than memory: it is read once per split.

    ``dropped`` has id and reason of each dropped instance; it is complete after reading ``sft`` and ``rl``.
    """

    def __init__(self, path: Path, rules: Split, seed: int, repos_dir: Path | None = None) -> None:
        self.path = path
        self.dropped: list[tuple[str, str]] = []
        rows = iter_rows(path, ["repo", "provenance", "extra"])
        known = ((row["repo"], _dated(json.loads(row["provenance"]), json.loads(row["extra"]))) for row in rows)
        self.plan = plan_splits(known, rules, seed)
        self._known = HeldOut.of_benchmarks(rules, self.plan.families)
        if repos_dir is not None:  # a clone with a benchmark's base commit is its repository, whatever its name
            repos = [repo for name in TRAINING for repo in self.plan.repositories(name)]
            self._known.clones = holding_commits(repos, repos_dir, self._known.commits)
        self._known.add(self.instances("validation"), repositories=False, near=bool(self.plan.cuts))
        self._without = {name: rule for table in rules.without for name, rule in read_dropped(table).items()}

    def instances(self, split: str) -> Iterator[Instance]:
        """The instances of one split, in the order of the table."""
        for instance in iter_instances(self.path, self.plan.repositories(split)):
            name = instance.instance_id
            if self.plan.of(instance) != split:
                continue
            if split in TRAINING and (reason := self._without.get(name) or self._known.reason(instance)):
                self.dropped.append((name, reason))
            else:
                yield instance


def counts_of(dropped: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many instances each reason dropped."""
    return {**dict.fromkeys(CONTAMINATION, 0), **Counter(reason for _, reason in dropped)}


MANY = 10
"""Repositories from which whole ones are held out."""


@dataclass(frozen=True)
class Plan:
    """The split of every repository, or when ``rl`` and ``validation`` begin in it; and the groups of names of one repository."""

    split_of: dict[str, str]
    families: Families
    cuts: dict[str, tuple[datetime, datetime]]

    def repositories(self, split: str) -> list[str]:
        """The repositories that may have instances of a split, by their names in the data."""
        return [*(repo for repo, name in self.split_of.items() if name == split), *self.cuts]

    def of(self, instance: Instance) -> str:
        """The split of an instance."""
        if instance.repo not in self.cuts:
            return self.split_of[instance.repo]
        when, (rl, validation) = _moment(_dated(instance.provenance, instance.model_extra or {})), self.cuts[instance.repo]
        return "sft" if when < rl else "rl" if when < validation else "validation"


def plan_splits(rows: Iterable[tuple[str, Mapping[str, Any]]], rules: Split, seed: int) -> Plan:
    """Assign every repository of ``rows`` (repository, provenance with ``created_at``) to a split, or find its cuts in time.

    Names of one repository, by provenance or as well-known former names, share a split. A repository held out by its owner
    takes its whole family with it. Nothing is divided by time without a share of ``validation``, or if an instance says no time.
    """
    families = Families()
    times: dict[str, list[datetime]] = {}
    for repo, provenance in rows:
        times.setdefault(repo, []).append(_moment(provenance))
        families.learn(repo, read_provenance(repo, provenance))
    held_out = {families.key(repo) for repo in times if _held_out(repo, rules)}
    keys = {repo: families.key(repo) for repo in times}
    others = {repo: key for repo, key in keys.items() if key not in held_out}
    cuts: dict[str, tuple[datetime, datetime]] = {}
    if rules.validation and len(set(others.values())) < MANY and all(_NEVER not in times[repo] for repo in others):
        cuts = {
            repo: _cuts([when for name in others if others[name] == key for when in times[name]], rules)
            for repo, key in others.items()
        }
    whole = {
        repo: "validation" if key in held_out else assign(key, rules, seed) for repo, key in keys.items() if repo not in cuts
    }
    return Plan(whole, families, cuts)


_NEVER = datetime.min.replace(tzinfo=UTC)
"""The time of an instance that says none."""


def _dated(provenance: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    return {**provenance, "created_at": columns.get("created_at")}


def _moment(provenance: Mapping[str, Any]) -> datetime:
    """When a change was merged, else when the instance says that it was created."""
    return moment(provenance.get("merged_at")) or moment(provenance.get("created_at")) or _NEVER


def _cuts(times: Sequence[datetime], rules: Split) -> tuple[datetime, datetime]:
    """When ``rl`` and ``validation`` begin, so that the shares hold."""
    inside, whole = sorted(times), rules.sft + rules.rl + rules.validation
    first, second = (min(round(len(inside) * share / whole), len(inside) - 1) for share in (rules.sft, rules.sft + rules.rl))
    return inside[first], inside[second]


def assign(repo: str, rules: Split, seed: int) -> str:
    """The split of a repository, a function of its name, the params and the seed only."""
    if _held_out(repo, rules):
        return "validation"
    shares = {"sft": rules.sft, "rl": rules.rl, "validation": rules.validation}
    if not any(shares.values()):
        raise ConfigError("split: the shares of sft, rl and validation are all 0; give at least one a share")
    return max((name for name, share in shares.items() if share), key=lambda name: _score(name, repo, seed, shares[name]))


def _held_out(repo: str, rules: Split) -> bool:
    return repo.partition("/")[0].casefold() in {owner.casefold() for owner in rules.validation_owners}


def _score(name: str, repo: str, seed: int, share: float) -> float:
    """Weighted rendezvous hashing: the best of ``-share / ln(u)`` wins with probability proportional to its share."""
    digest = hashlib.blake2b(f"{seed}\n{name}\n{repo.casefold()}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    uniform = ((int.from_bytes(digest, "big") >> 12) + 0.5) / 2**52
    return -share / math.log(uniform)


def check_filled(sizes: Mapping[str, int], rules: Split, dropped: int) -> None:
    """Raise :class:`ConfigError` for an empty split, before a later stage fails on it with a worse message."""
    wanted = {"sft": rules.sft > 0, "rl": rules.rl > 0, "validation": True}
    empty = [name for name in SPLITS if wanted[name] and not sizes[name]]
    if not empty:
        return
    counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
    lost = f"; {dropped} dropped" if dropped else ""
    advice = "mine more repositories, or change data_seed or the shares"
    if empty[-1] == "validation":
        advice = (
            f"no repository belongs to split.validation_owners {rules.validation_owners}: name owners of yours, or give "
            f"split.validation a share, of which fewer than {MANY} repositories make the newest fixes"
        )
    raise ConfigError(f"split: {' and '.join(empty)} would be empty ({counts}{lost}): {advice}")
