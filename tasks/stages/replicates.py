"""The same comparison for several seeds: each seed's figures kept, and their mean and spread."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from tasks.core import layout
from tasks.core.errors import ConfigError
from tasks.core.storage import read_json, write_csv, write_text

FOLDER = Path("experiments/seeds")
PARAMS = Path("params.yaml")
_SEED = re.compile(r"^seed:.*$", re.MULTILINE)


def set_seed(seed: int) -> None:
    """Change ``seed`` in ``params.yaml`` and nothing else, comments included."""
    text = PARAMS.read_text(encoding="utf-8")
    if len(_SEED.findall(text)) != 1:
        raise ConfigError(f"{PARAMS} needs exactly one line that begins with 'seed:'")
    write_text(PARAMS, _SEED.sub(f"seed: {seed}", text))


def keep(seed: int) -> None:
    """Copy the report of the reproduction just made to ``experiments/seeds/<seed>``."""
    folder = FOLDER / str(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("metrics.json", "report.md"):
        shutil.copyfile(layout.REPORT / name, folder / name)


def summarize() -> list[dict[str, Any]]:
    """Write ``experiments/seeds/summary.csv`` over all seeds kept there; returns its rows."""
    seeds = sorted((int(path.parent.name), read_json(path)) for path in FOLDER.glob("*/metrics.json"))
    rows = spread({str(seed): figures for seed, figures in seeds})
    write_csv(FOLDER / "summary.csv", rows)
    return rows


def spread(figures: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per figure that every seed has: its value by seed, mean, and sample standard deviation (0 for one seed)."""
    names = [name for name in next(iter(figures.values()), {}) if all(_is_figure(row.get(name)) for row in figures.values())]
    rows = []
    for name in names:
        values = {seed: row[name] for seed, row in figures.items()}
        numbers = list(values.values())
        rows.append({"metric": name, **values, "mean": fmean(numbers), "sd": stdev(numbers) if len(numbers) > 1 else 0.0})
    return rows


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
