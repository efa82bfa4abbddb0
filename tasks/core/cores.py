"""How many cores this process has, and one OpenMP thread for each of its threads.

OpenMP's threads wait actively for each other: two of them on two cores are hardly faster than one at nano's sizes, and beside
any other busy process a third as fast. So a process that trains or samples on a CPU gives each thread of Python one OpenMP
thread, and uses its cores with threads of Python.
"""

from __future__ import annotations

import os

SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_openmp_thread() -> None:
    """Give this process and its children one OpenMP thread each, unless the user chose. To be called before torch is imported."""
    for name in SINGLE:
        os.environ.setdefault(name, "1")
