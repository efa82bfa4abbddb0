"""Trains the cross-encoder of :mod:`fusesearch.localizers.ranker.reranker` (sentence-transformers), whose scores the trees see.

It learns from lists: a right candidate of an issue among wrong ones of the same issue, both of those that it will read. The loss
is the cross-entropy of the right one (ListNet: Cao et al., 2007). Trees must not see scores of what a model learned by heart,
so each issue that they learn from is scored by a cross-encoder that saw none of its owner's.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fusesearch.core.config import Params
from fusesearch.core.errors import ArtifactError, DataError
from fusesearch.core.schema import Instance, Score
from fusesearch.core.storage import Progress, read_json, silent, write_json
from fusesearch.core.text import safe_name
from fusesearch.evaluation.protocols import code_of
from fusesearch.evaluation.quality import recall_at
from fusesearch.evaluation.statistics import Difference, Statistic, averaged, compare
from fusesearch.localizers.ranker.columns import RERANKED, WITH_RERANKER, Candidate
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.lexicon import add_columns
from fusesearch.localizers.ranker.reranker import MAX_TOKENS, Reranker, read_by_it
from fusesearch.localizers.ranker.trees import COLUMNS
from fusesearch.training.ranking import folds_of, issues
from fusesearch.training.ranks import Log
from fusesearch.training.trainer import log_callback, quiet, run_training

if TYPE_CHECKING:
    import polars as pl
    from sentence_transformers.cross_encoder import CrossEncoder

    from fusesearch.search.repository import Repository

SURE = 20.0
"""Label of a right candidate: ListNet's softmax of labels then gives it all of the weight."""
LEVELS = ("file", "function")


class Reading(NamedTuple):
    """What a cross-encoder reads of an issue; the texts are of the first rows of its tables."""

    issue: str
    files: list[str]
    functions: list[str]


def readings_of(
    instances: Sequence[Instance],
    repositories: Callable[[Instance], Repository],
    folder: Path,
    progress: Progress = silent,
) -> dict[str, Reading]:
    """The readings of instances by their ids. Each is kept in ``folder``, so that a killed run goes on."""
    found = {}
    for done, instance in enumerate(instances, 1):
        path = folder / f"{safe_name(instance.instance_id)}.json"
        if not path.exists():
            with Index(repositories(instance), folder / "index") as index:
                candidates = candidates_of(instance.problem_statement, index)
                write_json(path, read_by_it(instance.problem_statement, candidates, index))
        found[instance.instance_id] = Reading(*read_json(path))
        progress(done, len(instances))
    return found


def lists_of(
    readings: Mapping[str, Reading], tables: Mapping[str, pl.DataFrame], negatives: int, seed: int
) -> list[dict[str, Any]]:
    """A list for each right candidate that is read beside wrong ones, of which ``negatives`` are drawn.

    Rows for sentence-transformers: ``query`` (the issue), ``docs`` (texts, the right one first), ``labels``.
    """
    rows = []
    for level in LEVELS:
        table = tables[level]
        labels, names = table["label"].to_numpy(), table["instance_id"].to_list()
        for part in issues(table):
            reading = readings[names[part.start]]
            texts = reading.files if level == "file" else reading.functions
            marked = list(zip(texts, labels[part], strict=False))
            wrong = [text for text, label in marked if not label]
            draw = random.Random(f"{seed} {level} {names[part.start]}")
            for right in (text for text, label in marked if label and wrong):
                docs = [right, *draw.sample(wrong, min(negatives, len(wrong)))]
                rows.append({"query": reading.issue, "docs": docs, "labels": [SURE] + [0.0] * (len(docs) - 1)})
    return rows


def fit(rows: Sequence[Mapping[str, Any]], params: Params, out: Path, on_log: Log) -> dict[str, float]:
    """Train a cross-encoder on lists; writes ``out/checkpoint`` and ``out/log.jsonl``. Resumes from the last saved step.

    Raises :class:`ArtifactError` for a base that cannot be loaded, :class:`DataError` where there are no lists.
    """
    if not rows:
        raise DataError("no issue has a right candidate among the first: there is nothing to match")
    quiet()
    import torch
    from datasets import Dataset
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import ListNetLoss
    from transformers import set_seed

    match, gpu = params.match, torch.cuda.is_available()
    set_seed(params.seed)  # of the weights that a language model lacks: those of the score
    torch.set_float32_matmul_precision(params.model.matmul)
    model = _cross_encoder(match.base)
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(out / "trainer"),
        num_train_epochs=match.epochs,
        per_device_train_batch_size=min(match.micro_batch, match.batch_size),
        gradient_accumulation_steps=max(1, match.batch_size // match.micro_batch),
        learning_rate=match.learning_rate,
        warmup_steps=match.warmup_ratio,
        lr_scheduler_type="linear",
        save_steps=match.save_steps,
        save_total_limit=1,
        seed=params.seed,
        data_seed=params.seed,
        use_cpu=not gpu,
        bf16=gpu and params.model.dtype == "bfloat16",
        dataloader_pin_memory=gpu,
        logging_steps=10,
        report_to="none",
        disable_tqdm=True,
    )
    trainer = CrossEncoderTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list([dict(row) for row in rows]),
        loss=ListNetLoss(model),
        callbacks=[log_callback(out / "log.jsonl", on_log, lambda logged: {})],
    )
    result = run_training(trainer, out)
    layers: Any = model[0]
    layers.auto_model.save_pretrained(str(out / "checkpoint"))
    model.tokenizer.save_pretrained(str(out / "checkpoint"))
    shutil.rmtree(out / "trainer", ignore_errors=True)
    return {"lists": len(rows), "steps": trainer.state.global_step, "loss": float(result.training_loss)}


def _cross_encoder(base: str) -> CrossEncoder:
    """An encoder or a language model with a score in place of its head."""
    import torch
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder import CrossEncoder

    try:
        layers = Transformer(
            base, transformer_task="sequence-classification", max_seq_length=MAX_TOKENS,
            config_kwargs={"num_labels": 1}, model_kwargs={"use_safetensors": True, "dtype": torch.float32},
        )  # fmt: skip
    except Exception as error:  # the libraries raise many types for a damaged file
        raise ArtifactError(f"{base} cannot be loaded: {(str(error).splitlines() or ['damaged'])[0]}") from error
    layers.tokenizer.padding_side = "right"
    if layers.tokenizer.pad_token is None:
        layers.tokenizer.pad_token = layers.tokenizer.eos_token
    layers.auto_model.config.pad_token_id = layers.tokenizer.pad_token_id
    return CrossEncoder(modules=[layers], device="cuda" if torch.cuda.is_available() else "cpu")


Scores = dict[str, tuple[list[float], list[float]]]
"""Of the texts of files and of functions, by issue."""


def scores_of(readings: Mapping[str, Reading], checkpoint: Path) -> Scores:
    """The scores that a checkpoint gives."""
    reranker = Reranker(checkpoint)
    found = {}
    for name, (issue, files, functions) in readings.items():
        scores = reranker.scores(issue, [*files, *functions])
        found[name] = (scores[: len(files)], scores[len(files) :])
    return found


def match_issues(
    readings: Mapping[str, Reading],
    tables: Mapping[str, pl.DataFrame],
    learned: Sequence[str],
    params: Params,
    out: Path,
    on_log: Log,
    progress: Progress = silent,
) -> tuple[dict[str, pl.DataFrame], dict[str, float]]:
    """Train the cross-encoder: the tables with its columns, and figures. ``out/checkpoint`` learned from all of ``learned``.

    Those have scores of one that saw none of their owner's issues; others have scores of the checkpoint.
    """
    import polars as pl

    inside = pl.col("instance_id").is_in([*learned])
    ours = {level: tables[level].filter(inside) for level in LEVELS}
    owners = ours["file"].with_columns(repo=pl.col("repo").str.split("/").list.first())
    fold = dict(zip(owners["instance_id"], folds_of(owners, params.match.folds), strict=True))
    parts = sorted(set(fold.values()))
    scores: Scores = {}
    for done, held_out in enumerate(parts):
        folder = out / f"fold-{held_out}"
        if not (folder / "scores.json").exists():
            teaches = pl.col("instance_id").is_in([name for name, part in fold.items() if part != held_out])
            lists = lists_of(
                readings, {level: table.filter(teaches) for level, table in ours.items()}, params.match.negatives, params.seed
            )
            folder.mkdir(parents=True, exist_ok=True)
            fit(lists, params, folder, partial(_report, progress, done, len(parts)))
            ids = [name for name, part in fold.items() if part == held_out]
            write_json(folder / "scores.json", scores_of({name: readings[name] for name in ids}, folder / "checkpoint"))
            shutil.rmtree(folder / "checkpoint")
        scores |= read_json(folder / "scores.json")
    figures = fit(lists_of(readings, ours, params.match.negatives, params.seed), params, out, on_log)
    scores |= scores_of({name: reading for name, reading in readings.items() if name not in scores}, out / "checkpoint")
    return with_columns(tables, scores), figures


def _report(progress: Progress, done: int, parts: int, row: dict[str, float]) -> None:
    share = row["step"] / max(1.0, row["steps"])
    progress(int(100 * (done + share)), 100 * (parts + 1))


def with_columns(tables: Mapping[str, pl.DataFrame], scores: Scores) -> dict[str, pl.DataFrame]:
    """Tables with the columns that a reranker adds to candidates."""
    import polars as pl

    added = {level: WITH_RERANKER[level][len(COLUMNS[level]) :] for level in LEVELS}
    starts = {level: {tables[level]["instance_id"][part.start]: part for part in issues(tables[level])} for level in LEVELS}
    names = {level: tables[level]["candidate"].to_list() for level in LEVELS}
    made = {level: np.full((len(tables[level]), len(added[level])), np.nan, dtype=np.float32) for level in LEVELS}
    for issue, given in scores.items():
        part = {level: starts[level].get(issue, slice(0, 0)) for level in LEVELS}
        found = {level: [Candidate(name.partition("::")[0]) for name in names[level][part[level]]] for level in LEVELS}
        add_columns(RERANKED, *given, found["file"], found["function"])
        for level in LEVELS:
            if found[level]:
                made[level][part[level]] = [one.row(added[level]) for one in found[level]]
    return {
        level: table.with_columns(pl.Series(name, made[level][:, place]) for place, name in enumerate(added[level]))
        for level, table in tables.items()
    }


RANKED: dict[str, Statistic] = {
    f"{level}_recall@{k}": averaged(f"{level}_recall@{k}", level, partial(recall_at, k=k)) for level in LEVELS for k in (1, 5)
}


def differences(
    orders: Mapping[str, Mapping[str, Mapping[str, Sequence[tuple[str, float]]]]], instances: Sequence[Instance]
) -> list[Difference]:
    """With the cross-encoder against without it (arms ``match`` and ``rank``), paired over issues, by candidates in order."""
    arms = {}
    for arm, order in orders.items():
        arms[arm] = {0: [
            Score(
                instance_id=row.instance_id, repo=row.repo,
                true_files=code_of(row.truth).files, true_functions=code_of(row.truth).functions,
                predicted_files=[name for name, _ in order["file"][row.instance_id]],
                predicted_functions=[name for name, _ in order["function"].get(row.instance_id, ())],
            )
            for row in instances
            if row.truth and row.instance_id in order["file"]
        ]}  # fmt: skip
    return compare(arms, [("match", "rank")], RANKED)
