"""Which process it is: ids are given anew, so that a process is told by its id and its birth."""

from __future__ import annotations

from pathlib import Path

import psutil


def birth(pid: int) -> float:
    """When a process began: in ticks since the machine did, where ``/proc`` tells that, else in seconds since 1970.

    The former does not change when the machine's clock is set, as after a pause of a virtual machine. Raises
    :class:`psutil.NoSuchProcess`.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return float(fields[19])
    except (OSError, IndexError, ValueError):
        return psutil.Process(pid).create_time()
