"""``python -m verl.trainer.main_ppo --config-dir DIR --config-name NAME [KEY=VALUE ...]``.

It reads the configuration and the rows, notes scores as our agent loop does, writes the lines of veRL's file logger and saves
shards. ``FAKE_VERL`` has faults: ``dies=N`` in step N, after its checkpoint; ``saves_nothing``.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import polars as pl
from omegaconf import OmegaConf
from safetensors.numpy import load_file, save_file

from fusesearch.core.schema import Instance, Score
from fusesearch.training.engines.verl_files import Noted

FAULTS = dict(part.partition("=")[::2] for part in os.environ.get("FAKE_VERL", "").split(","))


def composed(folder: Path, name: str, options: list[str]):
    own = OmegaConf.load(folder / f"{name}.yaml")
    found = OmegaConf.create()
    for earlier in own.pop("defaults"):
        given = own.hydra.searchpath if "hydra" in own else []
        places = [folder, *(Path(place.removeprefix("file://")) for place in given)]
        places = [place for place in places if (place / f"{earlier}.yaml").is_file()]
        if places:
            found = OmegaConf.merge(found, composed(places[0], earlier, []))
    return OmegaConf.merge(found, own, OmegaConf.from_dotlist([option.lstrip("+") for option in options]))


def line(step: int, validated: bool, rewards: list[float]) -> dict:
    """Some of the metrics of a step, as the real logger wrote them."""
    mean = sum(rewards) / len(rewards)
    return {
        "actor/entropy": 0.0921, "actor/pg_clipfrac": 0.0, "actor/pg_loss": -0.0451, "actor/kl_loss": 0.001 * step,
        "actor/grad_norm": 1.0855, "actor/lr": 0.00005, "perf/mfu/actor": 0.0367, "training/global_step": step,
        "training/epoch": 0, "critic/score/mean": mean, "response_length/mean": 200.125, "response_length/max": 515.0,
        "response_length/min": 83.0, "response_length/clip_ratio": 0.0625, "num_turns/mean": 2.5, "timing_s/gen": 6.0192,
        "timing_s/old_log_prob": 3.0464, "timing_s/ref": 2.3454, "timing_s/update_actor": 8.3423, "timing_s/step": 19.8884,
        "perf/total_num_tokens": 7246, "perf/throughput": 364.3313,
        **({"timing_s/testing": 4.0624, "val-core/fusesearch/reward/mean@1": 0.5} if validated else {}),
    }  # fmt: skip


def score(instance: Instance, reward: float) -> Score:
    return Score(instance_id=instance.instance_id, f1=reward, efficiency=0.5, reward=reward, turns=2, calls=3)


def note(config, step: int, held_out: bool, reward_of) -> list[float]:
    rows = pl.read_parquet(config.data.val_files if held_out else config.data.train_files).to_dicts()
    rewards = []
    for number, row in enumerate(rows if held_out else rows[: config.data.train_batch_size]):
        assert row["extra_info"]["held_out"] is held_out
        instance = Instance.model_validate_json(row["extra_info"]["instance"])
        for rollout in range(1 if held_out else config.actor_rollout_ref.rollout.n):
            rewards.append(reward_of(number, rollout))
            noted = Noted(step=step, held_out=held_out, score=score(instance, rewards[-1]))
            noted.append(Path(config.fusesearch.scores) / "host-1.jsonl")
    return rewards


def main(arguments: list[str]) -> None:
    config = composed(Path(arguments[1]), arguments[3], arguments[4:])
    trainer, saved = config.trainer, Path(config.trainer.default_local_dir)
    source, latest = Path(config.actor_rollout_ref.model.path), saved / "latest_checkpointed_iteration.txt"
    first = int(latest.read_text()) if latest.is_file() else 0
    with open(os.environ["VERL_FILE_LOGGER_PATH"], "w") as file:

        def log(step: int, data: dict) -> None:
            file.write(json.dumps({"step": step, "data": data}, separators=(",", ":")) + "\n")
            file.flush()

        if trainer.val_before_train:
            note(config, first, True, lambda number, _: 0.25)
            log(first, {"val-core/fusesearch/reward/mean@1": 0.25})
        for step in range(first + 1, trainer.total_training_steps + 1):
            rewards = note(config, step, False, lambda number, rollout: 0.5 * rollout)
            last = step == trainer.total_training_steps
            if (step % trainer.save_freq == 0 or last) and "saves_nothing" not in FAULTS:
                save(source, saved / f"global_step_{step}" / "actor", step)
                latest.write_text(str(step))
            validated = trainer.test_freq > 0 and (step % trainer.test_freq == 0 or last)
            if validated:
                note(config, step, True, lambda number, _, at=step: 1.0 if at == 1 else 0.5)
            if FAULTS.get("dies") == str(step):
                raise RuntimeError("CUDA out of memory, says the fake")
            log(step, line(step, validated, rewards))


def save(source: Path, folder: Path, step: int) -> None:
    """A shard whose weights say of which step they are."""
    shutil.copytree(source, folder / "huggingface", ignore=shutil.ignore_patterns("*.safetensors"), dirs_exist_ok=True)
    state = {name: np.full_like(value, step) for name, value in load_file(source / "model.safetensors").items()}
    save_file(state, folder / "model_world_size_1_rank_0.pt")
    (folder / "fsdp_config.json").write_text('{"FSDP_version": 2, "world_size": 1}')


if __name__ == "__main__":
    main(sys.argv[1:])
