"""Invented raw pairs and bare repositories in the shape of mined ones; the same for the same numbers."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tasks.core.schema import Instance
from tasks.core.storage import INSTANCE_COLUMNS, write_instances
from tasks.data.sources.synthetic.git_writer import write_repository
from tasks.pipeline.places import MAIN

FILES = 20
FUNCTIONS = 6
LARGE_PATCH = 50_000_000
LONG_ISSUE = 1_000_000
_FIRST = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu")
WORDS = [first + second for first in _FIRST for second in ("lan", "mer", "tig", "dos", "vul")]
LICENCES = ("MIT", "Apache-2.0", "BSD-3-Clause", None)


def generate(root: Path, pairs: int, repositories: int) -> None:
    """Write ``data/repos`` and ``data/raw`` below ``root``: ``pairs`` pairs and a few hostile rows."""
    commits = {
        repo: _repository(root, repo) for repo in (f"owner{number % 97}/project{number}" for number in range(repositories))
    }
    usual, hostile = root / "usual.parquet", root / "hostile.parquet"
    first = next(_pairs(commits, 1))
    write_instances(usual, _pairs(commits, pairs))
    pl.DataFrame(list(_hostile(first)), schema=dict.fromkeys(INSTANCE_COLUMNS, pl.String)).write_parquet(hostile)
    target = root / MAIN["mine.pairs"]
    target.parent.mkdir(parents=True, exist_ok=True)
    pl.scan_parquet([usual, hostile]).sink_parquet(target, row_group_size=10_000)
    (root / MAIN["mine.table"]).write_text("{}\n", encoding="utf-8")
    usual.unlink()
    hostile.unlink()


def _repository(root: Path, repo: str) -> str:
    git_dir = root / MAIN["mine.repos"] / f"{repo.replace('/', '__')}.git"
    files = {f"src/module{number}.py": _source(number).encode() for number in range(FILES)}
    write_repository(git_dir, files, [], "made up")
    done = subprocess.run(["git", f"--git-dir={git_dir}", "rev-parse", "main"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _source(number: int) -> str:
    """A module of six functions of ten lines."""
    return "\n".join(_function(f"{WORDS[(number + place) % len(WORDS)]}_{place}") for place in range(FUNCTIONS))


def _function(name: str) -> str:
    steps = "".join(f"    {WORDS[step]} = value + {step} if value > {step} else value - {step}\n" for step in range(7))
    return f'def {name}(value):\n    """Works on a value."""\n{steps}    return value\n'


def _pairs(commits: dict[str, str], count: int, seed: int = 0) -> Iterator[Instance]:
    repos = list(commits)
    for number in range(count):
        repo = repos[number * len(repos) // count]
        rng = random.Random(f"{seed} {number}")
        yield Instance(
            instance_id=f"{repo.replace('/', '__')}-{number}",
            repo=repo,
            base_commit=commits[repo],
            problem_statement=_issue(rng),
            patch=_patch(rng),
            provenance=_provenance(rng, number),
        )


def _issue(rng: random.Random) -> str:
    """60 to 600 words; one in fifty is far too short."""
    if rng.random() < 0.02:
        return "It fails."
    return " ".join(rng.choices(WORDS, k=rng.randint(60, 600)))


def _patch(rng: random.Random) -> str:
    """One to three changed functions and a new test of up to 120 lines; one in ten changes only documents."""
    if rng.random() < 0.1:
        return "--- a/README.md\n+++ b/README.md\n -1 +1 \n-old\n+new\n"
    files = rng.sample(range(FILES), rng.randint(1, 3))
    lines = rng.randint(20, 120)
    body = "".join(f"+    assert {rng.choice(WORDS)}({rng.random()}) == {rng.random()}\n" for _ in range(lines))
    test = f"--- /dev/null\n+++ b/tests/test_{rng.getrandbits(32)}.py\n -0,0 +1,{lines + 1} \n+def test():\n{body}"
    return "".join(_change(rng, number) for number in sorted(files)) + test


def _change(rng: random.Random, number: int) -> str:
    lines = _source(number).split("\n")
    start = rng.randrange(FUNCTIONS) * 11 + 2
    old = lines[start : start + 7]
    place = rng.randrange(1, 6)
    hunk = [f" {line}" for line in old[:place]] + [f"-{old[place]}", f"+    {rng.choice(WORDS)} = value * {rng.random()}"]
    hunk += [f" {line}" for line in old[place + 1 :]]
    path = f"src/module{number}.py"
    return f"--- a/{path}\n+++ b/{path}\n -{start + 1},7 +{start + 1},7 \n" + "\n".join(hunk) + "\n"


def _provenance(rng: random.Random, number: int) -> dict[str, object]:
    return {
        "source": "github",
        "pull": number + 1_000_000,
        "issues": [number] if rng.random() < 0.9 else [number, number + 1],
        "author": rng.choice(WORDS) if rng.random() < 0.95 else "dependabot[bot]",
        "licence": rng.choice(LICENCES),
        "language": "Python",
        "issue_created_at": f"{rng.randint(2015, 2024)}-{rng.randint(1, 12):02}-01T00:00:00Z",
    }


def _hostile(usual: Instance) -> Iterator[dict[str, str | None]]:
    """One row per kind of damage, otherwise a usual pair."""
    row = {name: getattr(usual, name) for name in INSTANCE_COLUMNS[:5]} | {"truth": None, "provenance": "{}", "extra": "{}"}
    row["problem_statement"] = (
        "another issue altogether, told at some length so that nothing but the damage counts against it, and nothing else"
    )
    changes: list[dict[str, str | None]] = [
        {"provenance": '{"pull": 1'},
        {"extra": "[1, 2]"},
        {"extra": "[" * 100_000},
        {"problem_statement": None},
        {"patch": usual.patch + "+" * LARGE_PATCH},
        {"patch": usual.patch.replace("b/src", "b/../../etc")},
        {"problem_statement": "x\0y " * 100},
        {"problem_statement": "word " * (LONG_ISSUE // 5)},
        {"repo": "../../etc/passwd"},
    ]
    for number, change in enumerate(changes):
        yield row | {"instance_id": f"hostile-{number}"} | change


def write_params(root: Path) -> None:
    """Params of filter and split below ``root``."""
    params = {
        "filter": {"preset": "strict"},
        "split": {"sft": 0.5, "rl": 0.4, "validation": 0.1, "benchmarks": [str(root / "benchmark.parquet")]},
    }
    (root / "params.yaml").write_text(json.dumps(params), encoding="utf-8")
    commits = {f"bench/project{number}": f"{number:040x}" for number in range(10)}
    write_instances(root / "benchmark.parquet", _pairs(commits, 500, seed=1))
