"""How many cores this process has, and one OpenMP thread a process.

OpenMP's threads wait actively for each other: two of them on two cores are hardly faster than one at nano's sizes, and a
third as fast beside any other busy process. So a stage that trains or samples on a CPU has one OpenMP thread and uses its
cores with threads of Python.
"""

from __future__ import annotations

import os


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_openmp_thread() -> None:
    """Give this process and its children one OpenMP thread each, unless the user chose. Call it before torch is imported."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
