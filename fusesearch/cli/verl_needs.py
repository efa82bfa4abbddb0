"""What GRPO by veRL needs of the machines of its cluster: :mod:`fusesearch.cli.needs` asks here for ``grpo.engine: verl``.

veRL shares weights, gradients and optimizer out over the GPUs of all machines. The formulas are those of
:mod:`fusesearch.training.budget`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fusesearch.cli.checks import Check
from fusesearch.core.config import Params
from fusesearch.core.errors import ConfigError
from fusesearch.training.architectures import Architecture
from fusesearch.training.budget import gib, longest_pass, training_bytes
from fusesearch.training.engines.verl_files import configured, verl_python

DEFAULTS = {
    "trainer.nnodes": 1,
    "trainer.n_gpus_per_node": 8,
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 16384,
}
"""veRL's own values (0.9.1) of what the configurations may leave out."""


def machines(params: Params, root: Path) -> tuple[int, int]:
    """How many machines veRL trains on, and the GPUs of each. Raises :class:`ConfigError` for a missing configuration."""
    found = DEFAULTS | configured(params.grpo.verl_config, params.compute.verl_options, root)
    return int(found["trainer.nnodes"]), int(found["trainer.n_gpus_per_node"])


def verl_memory(params: Params, model: Architecture, room: float, root: Path) -> Iterator[Check]:
    """Memory of a step on each GPU, which has ``room`` bytes."""
    nodes, each = machines(params, root)
    found = DEFAULTS | configured(params.grpo.verl_config, params.compute.verl_options, root)
    key = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu"
    needed, tokens = training_bytes(model, int(found[key]), nodes * each), int(found[key])
    detail = f"{gib(needed):.1f} GiB on each of {nodes} x {each} GPUs at {tokens:,} tokens a pass, {gib(room):.1f} GiB are there"
    less = longest_pass(model, room, nodes * each) // 1024 * 1024
    yield Check("grpo memory", needed <= room, detail, f"compute.verl_options: [{key}={less}], or more machines (trainer.nnodes)")


def verl_pieces(params: Params, root: Path) -> Iterator[Check]:
    """veRL, and the Ray cluster of several machines."""
    try:
        yield Check("verl", True, f"{verl_python(root)}, {params.grpo.verl_config}")
    except ConfigError as error:
        yield Check("verl", False, "not installed", str(error))
    nodes, _ = machines(params, root)
    if nodes > 1:
        address = os.environ.get("RAY_ADDRESS", "")
        hint = "`ray start --head` on one machine, `ray start --address` on the others, its address in RAY_ADDRESS"
        yield Check("ray", bool(address), address or f"no address of a cluster of {nodes} machines", hint)
