"""A cross-encoder that reads an issue and a candidate together, whose scores are columns of the trees.

The stage ``match`` trains it (:mod:`fusesearch.training.matching`). What it is worth: ``experiments/match``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusesearch.core.errors import ArtifactError
from fusesearch.core.stopping import check
from fusesearch.localizers.ranker.columns import RERANKED, Candidate
from fusesearch.localizers.ranker.lexicon import add_columns, candidate_texts, issue_text

if TYPE_CHECKING:
    from fusesearch.localizers.ranker.features import Candidates
    from fusesearch.localizers.ranker.index import Index

FILES, FUNCTIONS = 20, 20
"""Candidates of an issue that it reads: the first by the sum set by hand."""
MAX_TOKENS = 512
"""Of issue and candidate together; the longer of the two is cut first."""
BATCH = {"cpu": 8, "cuda": 64}


class Reranker:
    """A sequence classifier with one label. Raises :class:`ArtifactError` for a folder that is missing or holds another model."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        logging.set_verbosity_error()
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), padding_side="right")
            model, found = AutoModelForSequenceClassification.from_pretrained(
                str(folder), use_safetensors=True, output_loading_info=True
            )
        except Exception as error:  # the libraries raise many types for a damaged file
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ArtifactError(f"{folder} holds no reranker that can be loaded: {reason}") from error
        if model.config.num_labels != 1 or found["missing_keys"]:
            raise ArtifactError(f"{folder} holds no reranker: it lacks the weights of a score")
        self._model: Any = model.eval().to(self._device)
        self._lock = threading.Lock()

    def scores(self, issue: str, texts: Sequence[str]) -> list[float]:
        """How well each text fits the issue, both as :func:`read_by_it` has them; higher is better."""
        import torch

        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # of like length, so that little is padded
        found = [0.0] * len(texts)
        size = BATCH[self._device]
        for start in range(0, len(order), size):
            check()
            places = order[start : start + size]
            with self._lock, torch.inference_mode():
                batch = self._tokenizer(
                    [issue] * len(places), [texts[place] for place in places],
                    truncation="longest_first", max_length=MAX_TOKENS, padding=True, return_tensors="pt",
                )  # fmt: skip
                logits = self._model(**{name: values.to(self._device) for name, values in batch.items()}).logits[:, 0]
            for place, score in zip(places, logits.float().tolist(), strict=True):
                found[place] = score
        return found

    def add(self, issue: str, candidates: Candidates, index: Index) -> None:
        """Add the columns :data:`RERANKED` and what follows from them to the candidates."""
        asked, files, functions = read_by_it(issue, candidates, index)
        scores = self.scores(asked, [*files, *functions])
        add_columns(RERANKED, scores[: len(files)], scores[len(files) :], candidates.files, candidates.functions)


def read_by_it(issue: str, candidates: Candidates, index: Index) -> tuple[str, list[str], list[str]]:
    """What a reranker reads: the issue, the first files, the first functions."""
    first: tuple[list[Candidate], list[Candidate]] = (candidates.files[:FILES], candidates.functions[:FUNCTIONS])
    return f"{issue_text(issue)}\n\n", *candidate_texts(*first, index)


@lru_cache(maxsize=1)
def reranker_in(folder: Path) -> Reranker:
    """The reranker in a folder, loaded once."""
    return Reranker(folder)
