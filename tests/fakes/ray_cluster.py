"""A Ray cluster on this machine."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fusesearch.training.ranks import free_port

START_TRIES = 5
"""Ray gives a node 30 seconds to start its agents; a busy machine takes longer."""


@dataclass
class Cluster:
    """``nodes`` are processes of ``ray start``, the head first."""

    address: str
    nodes: list[subprocess.Popen[str]] = field(default_factory=list)


@contextmanager
def ray_cluster(nodes: int = 2) -> Iterator[Cluster]:
    """Nodes with one processor each, separate from other clusters; only who has this process's environment can join."""
    os.environ["RAY_AUTH_MODE"] = "token"  # else anyone can run code on it
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once in a process
    port = free_port()
    cluster = Cluster(f"127.0.0.1:{port}")
    try:
        cluster.nodes.append(start_node(["--head", f"--port={port}", "--include-dashboard=false"]))
        for _ in range(nodes - 1):
            cluster.nodes.append(start_node([f"--address={cluster.address}"]))
        yield cluster
    finally:
        for node in reversed(cluster.nodes):
            node.terminate()
            node.wait()


def start_node(place: list[str]) -> subprocess.Popen[str]:
    """A node, once it has started."""
    command = [str(Path(sys.executable).parent / "ray"), "start", *place, "--block", "--num-cpus=1", "--disable-usage-stats"]
    for _ in range(START_TRIES):
        node = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = []
        for line in node.stdout or ():
            output.append(line)
            if "Ray runtime started" in line:
                return node
        node.wait()
    raise SystemExit(f"Ray did not start:\n{''.join(output)[-2000:]}")
