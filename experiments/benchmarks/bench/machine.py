"""The machine and the versions behind the figures."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import psutil

from fusesearch.search import ripgrep
from fusesearch.search.git import git_environment


def describe() -> dict[str, str]:
    """Processor, memory, load and versions by printed name."""
    rg = subprocess.run([ripgrep.binary(), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    revision = subprocess.run(command, env=git_environment(), capture_output=True, text=True, check=False)
    memory, system = psutil.virtual_memory().total / 2**30, f"{platform.system()} {platform.release()}"
    return {
        "machine": f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, {system}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        "revision": revision.stdout.strip() or "unknown",
        "versions": f"Python {platform.python_version()}, ripgrep {rg}",
    }


def is_busy() -> bool:
    """Whether other work is likely to distort the figures."""
    return os.getloadavg()[0] > len(os.sched_getaffinity(0)) / 4


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
