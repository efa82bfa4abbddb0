"""The benchmark of training on a GPU, on small shapes and without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.benchmarks.gpu import MODELS, SUBJECTS, TINY, Machine
from fusesearch.training.trainer import quiet


@pytest.mark.rare
def test_every_subject_runs_on_small_shapes(tmp_path: Path) -> None:
    quiet()
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(Path(__file__).parents[2] / "experiments/nano/base")
    machine = Machine(tiny=True, folder=tmp_path)
    rows = {name: list(subject(machine, tokenizer)) for name, subject in SUBJECTS.items()}
    training = rows["training"]
    assert len(training) == len(MODELS) * 2 * 2 * len(TINY)
    assert all(float(row["s a step"]) > 0 and float(row["GiB by the formula"]) > 0 for row in training)
    assert rows["passes"][0]["passes"] == "32"
