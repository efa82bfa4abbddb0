"""Split instances by repository into ``sft``, ``rl`` and ``validation``.

Repositories of the owners in ``split.validation_owners`` go to validation. Every other repository is assigned by a weighted
rendezvous hash of its name and the seed: each split draws a score, and the highest wins. So a repository never moves when
others are added, and the shares hold on average over repositories, not exactly. Forks and former names stay together.
Training instances that occur in a benchmark, in validation or in a table of ``split.without`` are dropped.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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

SPLITS = ("sft", "rl", "validation")
TRAINING = ("sft", "rl")


class TableSplit:
    """The splits of a table that may be larger than memory: it is read once per split.

    ``dropped`` has id and reason of each dropped instance; it is complete after reading ``sft`` and ``rl``.
    """

    def __init__(self, path: Path, rules: Split, seed: int, repos_dir: Path | None = None) -> None:
        self.path = path
        self.dropped: list[tuple[str, str]] = []
        rows = iter_rows(path, ["repo", "provenance"])
        self.plan = plan_splits(((row["repo"], json.loads(row["provenance"])) for row in rows), rules, seed)
        self._known = HeldOut.of_benchmarks(rules, self.plan.families)
        if repos_dir is not None:  # a clone with a benchmark's base commit is its repository, whatever its name
            repos = [repo for name in TRAINING for repo in self.plan.repositories(name)]
            self._known.clones = holding_commits(repos, repos_dir, self._known.commits)
        self._known.add(self.instances("validation"), repositories=False)
        self._without = {name: rule for table in rules.without for name, rule in read_dropped(table).items()}

    def instances(self, split: str) -> Iterator[Instance]:
        """The instances of one split, in the order of the table."""
        for instance in iter_instances(self.path, self.plan.repositories(split)):
            name = instance.instance_id
            if split in TRAINING and (reason := self._without.get(name) or self._known.reason(instance)):
                self.dropped.append((name, reason))
            else:
                yield instance


def counts_of(dropped: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many instances each reason dropped."""
    return {**dict.fromkeys(CONTAMINATION, 0), **Counter(reason for _, reason in dropped)}


@dataclass(frozen=True)
class Plan:
    """The split of every repository, and the groups of names of one repository."""

    split_of: dict[str, str]
    families: Families

    def repositories(self, split: str) -> list[str]:
        """The repositories of a split, by their names in the data."""
        return [repo for repo, name in self.split_of.items() if name == split]


def plan_splits(rows: Iterable[tuple[str, Mapping[str, Any]]], rules: Split, seed: int) -> Plan:
    """Assign every repository of ``rows`` (repository, provenance) to a split.

    Names of one repository, by provenance or as well-known former names, share a split. A repository held out by its owner
    takes its whole family with it.
    """
    families = Families()
    repos: dict[str, None] = {}
    for repo, provenance in rows:
        repos[repo] = None
        families.learn(repo, read_provenance(repo, provenance))
    held_out = {families.key(repo) for repo in repos if _held_out(repo, rules)}
    keys = {repo: families.key(repo) for repo in repos}
    return Plan({repo: "validation" if key in held_out else assign(key, rules, seed) for repo, key in keys.items()}, families)


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
        advice = f"no repository belongs to split.validation_owners {rules.validation_owners}"
    raise ConfigError(f"split: {' and '.join(empty)} would be empty ({counts}{lost}): {advice}")
