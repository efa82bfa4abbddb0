"""The number of cores, and the limit of one OpenMP thread per process.

OpenMP threads busy-wait for each other. At nano's sizes, two on two cores are hardly faster than one, and run at a third of
the speed beside another busy process. So stages that train or sample on a CPU use one OpenMP thread, and for the cores
Python threads (training) or processes (sampling, which spends its time in Python).
"""

from __future__ import annotations

import os


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_openmp_thread() -> None:
    """Limit this process and its children to one OpenMP thread, unless the user set a number. Call before importing torch."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
