"""A tiny random checkpoint of the nano student."""

from collections.abc import Iterable
from pathlib import Path


def tiny_student(folder: Path, texts: Iterable[str], vocabulary: int, seed: int = 0) -> Path:
    """Write one whose tokenizer was trained on ``texts`` into ``folder``, and return the folder."""
    from fusesearch.training.nano import student

    tokenizer = student.train_tokenizer(texts, vocabulary)
    for part in (student.new_model(tokenizer, hidden=32, layers=2, heads=2, feed_forward=64, seed=seed), tokenizer):
        part.save_pretrained(folder)
    return folder
