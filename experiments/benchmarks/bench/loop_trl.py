"""The same episodes through the tool loop of TRL 1.16's GRPOTrainer (``environment_factory``, asynchronous tools).

Only generation is replaced: each turn's token ids come from the script. The trainer renders prompts, parses calls, runs
tools and joins observations as in training, but computes no rewards and no loss. Its limits on length are lifted, so that it
drops no observation.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.benchmarks.bench.episodes import Episode
from tasks.agents.prompts import render_system
from tasks.core.config import Agent
from tasks.search.tools import Toolbox

TOKENIZER = Path("experiments/nano/base")
_NO_LIMIT = 10**7


class TrlLoop:
    """A trainer around a random model that it never calls, with one environment per episode."""

    def __init__(self, box: Toolbox, episodes: Sequence[Episode]) -> None:
        self._calls = sum(len(turn) for episode in episodes for turn in episode.turns)
        system = render_system(Agent())
        self._rows = [
            {"prompt": [{"role": "system", "content": system}, {"role": "user", "content": episode.issue}]}
            for episode in episodes
        ]
        self._trainer = _trainer(box, episodes, self._rows)

    def run(self) -> float:
        """Seconds of one generation of all episodes, without those between text and token ids."""
        trainer = self._trainer
        trainer.begin()
        try:
            trainer._generate_and_score_completions(self._rows)
        except _Generated as generated:
            if (made := generated.calls) != (self._calls, 0):
                raise RuntimeError(f"TRL made {made[0]} calls, {made[1]} of which failed, not {self._calls}") from None
            return generated.seconds
        raise RuntimeError("TRL's trainer did not generate")


class _Generated(Exception):
    def __init__(self, seconds: float, calls: tuple[int, int]) -> None:
        self.seconds = seconds
        self.calls = calls


def _trainer(box: Toolbox, episodes: Sequence[Episode], rows: list[dict[str, Any]]) -> Any:
    from tasks.training.trainer import quiet

    quiet()
    from datasets import Dataset
    from trl import GRPOConfig

    tokenizer = _tokenizer()
    arguments = GRPOConfig(
        output_dir=tempfile.gettempdir(),
        per_device_train_batch_size=len(rows),
        num_generations=2,
        max_completion_length=_NO_LIMIT,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
    )
    replies = [[[*tokenizer.encode(reply), tokenizer.eos_token_id] for reply in episode.replies] for episode in episodes]
    return _scripted_trainer_class()(
        replies,
        model=_model(tokenizer),
        args=arguments,
        reward_funcs=[lambda completions, **_: [0.0] * len(completions)],
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        environment_factory=_environment_class(box),
    )


def _tokenizer() -> Any:
    """The nano tokenizer under a chat template whose calls TRL knows how to parse."""
    from transformers import AutoTokenizer
    from trl.chat_template_utils import qwen3_instruct_2507_chat_template

    tokenizer = AutoTokenizer.from_pretrained(str(TOKENIZER))
    tokenizer.chat_template = qwen3_instruct_2507_chat_template
    return tokenizer


def _model(tokenizer: Any) -> Any:
    from tasks.training.nano import new_model

    model = new_model(tokenizer, hidden=16, layers=1, heads=1, feed_forward=16, seed=0)
    model.config.max_position_embeddings = _NO_LIMIT
    return model


def _environment_class(box: Toolbox) -> type:
    class Tools:
        """The three tools of the project as TRL takes them: public asynchronous methods."""

        def reset(self, **_: Any) -> None:
            """Keeps no state."""

        async def grep(self, pattern: str, path: str = "", output_mode: str = "files_with_matches") -> str:
            """Search file contents with a regular expression.

            Args:
                pattern: regular expression
                path: folder or file to look in
                output_mode: files_with_matches, content or count
            """
            return (await box.call("grep", {"pattern": pattern, "path": path, "output_mode": output_mode})).output

        async def glob(self, pattern: str, path: str = "") -> str:
            """Find files by name.

            Args:
                pattern: pattern of names
                path: folder to look in
            """
            return (await box.call("glob", {"pattern": pattern, "path": path})).output

        async def read_file(self, path: str, start_line: int = 1, end_line: int | None = None) -> str:
            """Read lines of a file.

            Args:
                path: file to read
                start_line: first line
                end_line: last line
            """
            arguments = {"path": path, "start_line": start_line, "end_line": end_line}
            return (await box.call("read_file", arguments)).output

    return Tools


def _scripted_trainer_class() -> Any:
    from trl import GRPOTrainer

    class Scripted(GRPOTrainer):
        """A trainer with known completions that stops after its rollouts."""

        def __init__(self, replies: list[list[list[int]]], **options: Any) -> None:
            super().__init__(**options)
            self._replies = replies
            self._tokenizer.decode = partial(self._aside, self._tokenizer.decode)

        def begin(self) -> None:
            """Start again at the first turn."""
            self._turn, self._tokenizing = 0, 0.0

        def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> tuple[list[list[int]], list[list[float]]]:
            if len(prompt_ids) != len(self._replies):
                raise RuntimeError(f"TRL lost {len(self._replies) - len(prompt_ids)} episodes in turn {self._turn}")
            ids = [list(replies[self._turn]) for replies in self._replies]
            self._turn += 1
            return ids, [[0.0] * len(row) for row in ids]

        def _tool_call_loop(self, *arguments: Any) -> Any:
            out = super()._tool_call_loop(*arguments)
            self._made = out[4], out[5]
            return out

        def _generate(self, prompts: list[Any]) -> Any:
            started = time.perf_counter()
            super()._generate(prompts)
            raise _Generated(time.perf_counter() - started - self._tokenizing, self._made)

        def _tokenize_prompts(self, prompts: list[Any]) -> Any:
            return self._aside(super()._tokenize_prompts, prompts)

        def _get_tool_suffix_ids(self, tool_messages: list[Any]) -> Any:
            return self._aside(super()._get_tool_suffix_ids, tool_messages)

        def _aside(self, work: Any, *arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return work(*arguments, **options)
            finally:
                self._tokenizing += time.perf_counter() - started

    return Scripted
