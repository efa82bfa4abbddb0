"""Our agent loop of veRL, which also keeps what the trainer gets, in the file ``KEPT``.

The reward is how long an episode is: a random model's episodes find nothing, but they differ in that.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fusesearch.training.engines.verl import SearchLoop


class KeptLoop(SearchLoop):
    """One line for each episode."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> Any:
        """One episode."""
        out = await super().run(sampling_params, **row)
        out.reward_score = len(out.response_ids) / 100
        instance = json.loads(row["extra_info"]["instance"])["instance_id"]
        _keep({"instance": instance, "prompt": out.prompt_ids, "response": out.response_ids, "mask": out.response_mask})
        return out


def _keep(row: dict[str, Any]) -> None:
    with Path(os.environ["KEPT"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row | {"reward": len(row["response"]) / 100}) + "\n")
