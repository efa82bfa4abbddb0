"""The released runs: their places in their repositories, and their figures under their rules and ours."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from tasks.core.errors import DataError
from tasks.core.schema import Instance, Truth
from tasks.core.storage import write_jsonl
from tasks.data.repositories import Repositories, git_dir_of
from tasks.data.swe_bench import instances as instances_of
from tasks.data.swe_bench import read_rows
from tasks.data.truth import truth_from_patch
from tasks.evaluation.protocols import PROTOCOLS, code_of
from tasks.evaluation.published import rules
from tasks.evaluation.published.claims import Published
from tasks.evaluation.published.formats import FORMATS
from tasks.evaluation.published.importing import Prediction, Tally, prediction
from tasks.evaluation.published.snapshot import Snapshots
from tasks.evaluation.quality import ACCURACY_AT, Pair, accuracy_at, modules_of, summarize, summarize_level
from tasks.search.git import Git

TRUTH_FILE = "evaluation/gt_verified.json"
LOCAGENT_FILE = "evaluation/loc_output/locagent/claude_3-5/loc_outputs.jsonl"
LOCAGENT_METRIC = "evaluation/eval_metric.py"


class Run(NamedTuple):
    """One released run: system and model, its format, and its file in CoSIL's repository."""

    system: str
    model: str
    format: str
    path: str

    @property
    def name(self) -> str:
        """Name of its files here."""
        return f"{self.system}_{self.model}".lower().replace(" ", "-")


_FOLDERS = {"CoSIL": ("cosil", "afl"), "Agentless": ("agentless", "agentless"),
            "LocAgent": ("cosil", "locagent"), "OrcaLoca": ("cosil", "orcaloca")}  # fmt: skip
VERIFIED = [
    Run(system, f"Qwen-{size}B", format_, f"loc_to_patch_verified/{folder}/{folder}_qwen_coder_{size}b_func.jsonl")
    for size in (7, 32)
    for system, (format_, folder) in _FOLDERS.items()
]
LITE = Run("LocAgent", "Claude-3.5", "locagent", LOCAGENT_FILE)


@dataclass(frozen=True)
class Sources:
    """Clones of the three repositories, SWE-bench Verified, and clones of its repositories."""

    cosil: Path
    tooltrain: Path
    locagent: Path
    instances: Path
    repos: Path


@dataclass
class Measured:
    """One run's answers and predictions by instance."""

    answers: dict[str, Published]
    class_as_init: bool = False
    tally: Tally = field(default_factory=Tally)
    predictions: dict[str, Prediction] = field(default_factory=dict)


def measure(sources: Sources, out: Path, limit: int | None) -> dict[str, Any]:
    """All figures: ``verified`` by run name, ``locagent`` for its own release; writes predictions to ``out``."""
    return {"verified": verified(sources, out, limit), "lite": lite(sources, out, limit)}


def verified(sources: Sources, out: Path, limit: int | None) -> dict[str, Any]:
    """The runs in CoSIL's repository, over SWE-bench Verified."""
    rows = list(islice(instances_of("verified", read_rows(sources.instances)), limit))
    theirs = {
        "tooltrain": json.loads(text_in(sources.tooltrain, TRUTH_FILE)),
        "cosil": json.loads(text_in(sources.cosil, TRUTH_FILE)),
    }
    runs = {run: Measured(_answers(run, sources.cosil)) for run in VERIFIED}
    truths = _place(rows, runs, sources.repos)
    entries = {name: [*truth.files, *truth.functions] for name, truth in truths.items()}
    return {
        run.name: {"system": run.system, "model": run.model}
        | {f"{name}_rule": by_name(measured.answers, _of(rows, truth)) for name, truth in theirs.items()}
        | {"names_our_truth": by_name(measured.answers, entries)}
        | {"luck": luck(measured, _of(rows, theirs["tooltrain"]))}
        | ours(measured.predictions, truths)
        | {"tally": tally_figures(measured.tally)}
        for run, measured in _written(runs, out)
    }


def lite(sources: Sources, out: Path, limit: int | None) -> dict[str, Any]:
    """LocAgent's own release over SWE-bench Lite, which it contains; with classes as they are and as ``__init__``."""
    with extracted(sources.locagent, LOCAGENT_FILE) as path:
        stored = list(islice(read_rows(path), limit))
        answers = {answer.instance_id: answer for answer in FORMATS["locagent"].read(path)}
    rows = list(instances_of("lite", ({"instance_id": row["instance_id"], **row["meta_data"]} for row in stored)))
    edited = {row["instance_id"]: _edited(row["meta_data"]["gt_file_changes"]) for row in stored}
    left_out = set(re.findall(r"[\w.-]+__[\w.-]+-\d+", text_in(sources.locagent, LOCAGENT_METRIC)))
    figures: dict[str, Any] = {
        "system": LITE.system,
        "model": LITE.model,
        "acc": acc({name: entities for name, entities in edited.items() if name not in left_out}, answers),
        "acc_all": acc(edited, answers),
    }
    runs = {LITE: Measured(answers), LITE._replace(model=f"{LITE.model}-init"): Measured(answers, class_as_init=True)}
    truths = _place(rows, runs, sources.repos)
    kept = {name: truth for name, truth in truths.items() if name not in left_out}
    for key, (_, measured) in zip(("ours", "ours_init"), _written(runs, out), strict=True):
        tally = tally_figures(measured.tally)
        figures[key] = ours(measured.predictions, truths) | {"tally": tally, "acc": our_acc(measured.predictions, kept)}
    return figures


def by_name(answers: Mapping[str, Published], truth: Mapping[str, list[str]]) -> dict[str, Any]:
    """ToolTrain's figures over all instances; one whose truth names nothing at a level counts as 0."""
    files = [rules.files_by_name(answers.get(name), entries) for name, entries in truth.items()]
    names = [rules.names_by_name(answers.get(name), entries) for name, entries in truth.items()]
    return {level: _over_all(pairs) for level, pairs in (("file", files), ("function", names))}


def ours(predictions: Mapping[str, Prediction], truths: Mapping[str, Truth]) -> dict[str, Any]:
    """Our rule over all instances, and under the protocol ``fusesearch``: only some instances, and only code in their truth."""
    code = {name: code_of(truth) for name, truth in truths.items()}
    kept = {name: truth for name, truth in code.items() if PROTOCOLS["fusesearch"].keeps(truth)}
    return {"ours": _summary(predictions, truths), "ours_fusesearch": _summary(predictions, kept)}


def acc(edited: Mapping[str, list[str]], answers: Mapping[str, Published]) -> dict[str, Any]:
    """LocAgent's Acc@k, over the instances that edit an entity."""
    pairs = [rules.locagent_pairs(answers.get(name), entities) for name, entities in edited.items() if entities]
    return {"instances": len(pairs)} | {
        f"{level}_acc@{k}": fmean(rules.all_found(*pair[level], k) for pair in pairs)
        for level, ks in ACCURACY_AT.items()
        for k in ks
    }


def our_acc(predictions: Mapping[str, Prediction], truths: Mapping[str, Truth]) -> dict[str, float]:
    """Acc@k of our entities and our truth, over the instances that modify a function."""
    pairs = {level: _pairs(predictions, truths, f"{level}s") for level in ("file", "function")}
    kept = [index for index, (_, functions) in enumerate(pairs["function"]) if functions]
    pairs["module"] = [(modules_of(given), modules_of(wanted)) for given, wanted in pairs["function"]]
    return {
        f"{level}_acc@{k}": fmean(accuracy_at(*pairs[level][index], k) for index in kept)
        for level, ks in ACCURACY_AT.items()
        for k in ks
    }


def luck(measured: Measured, truth: Mapping[str, list[str]]) -> dict[str, int]:
    """Hits among the first five by name alone: all, and those that the answer places in none of the truth's files."""
    hits = elsewhere = 0
    for name, entries in truth.items():
        answer = measured.answers.get(name)
        given, wanted = rules.names_by_name(answer, entries)
        named = {(claim.path.removeprefix("/"), claim.label) for claim in answer.claims} if answer else set()
        for label in set(given) & set(wanted):
            hits += 1
            elsewhere += not any((entry.split("::")[0], label) in named for entry in entries if entry.endswith(f"::{label}"))
    return {"hits": hits, "in_another_file": elsewhere}


def tally_figures(tally: Tally) -> dict[str, Any]:
    """A tally as JSON values."""
    return {
        "answers": tally.answers,
        "empty": tally.empty,
        "repeated": dict(tally.repeated),
        "found": {f"{level}: {how}": count for (level, how), count in tally.found.most_common()},
        "unmatched": {f"{level}: {reason}": count for (level, reason), count in tally.unmatched.most_common()},
        "examples": {f"{level}: {reason}": shown for (level, reason), shown in tally.examples.items()},
    }


def text_in(git_dir: Path, path: str) -> str:
    """A file at the newest commit of a clone."""
    with Git(git_dir) as git:
        text = git.read("HEAD", path)
    if text is None:
        raise DataError(f"{git_dir} holds no {path}: name a clone of the repository that releases it")
    return text


@contextmanager
def extracted(git_dir: Path, path: str) -> Iterator[Path]:
    """A file at the newest commit as a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, path.rpartition("/")[2])
        target.write_text(text_in(git_dir, path), encoding="utf-8")
        yield target


def _answers(run: Run, git_dir: Path) -> dict[str, Published]:
    with extracted(git_dir, run.path) as path:
        return {answer.instance_id: answer for answer in FORMATS[run.format].read(path)}


def _place(rows: list[Instance], runs: Mapping[Run, Measured], repos: Path) -> dict[str, Truth]:
    """Fill in the predictions of all runs, reading each snapshot once; return the truth of each instance."""
    truths: dict[str, Truth] = {}
    with Snapshots(lambda repo: git_dir_of(repo, repos)) as opened, Repositories(repos) as repositories:
        for row in rows:
            truths[row.instance_id] = truth_from_patch(row.patch, repositories.reader(row))
            snapshot = opened.at(row.repo, row.base_commit)
            for measured in runs.values():
                if answer := measured.answers.get(row.instance_id):
                    measured.predictions[row.instance_id] = prediction(
                        answer, snapshot, measured.tally, class_as_init=measured.class_as_init
                    )
    return truths


def _written(runs: Mapping[Run, Measured], out: Path) -> Iterator[tuple[Run, Measured]]:
    for run, measured in runs.items():
        write_jsonl(out / f"{run.name}.jsonl", measured.predictions.values())
        yield run, measured


def _summary(predictions: Mapping[str, Prediction], truths: Mapping[str, Truth]) -> dict[str, Any]:
    return summarize(_pairs(predictions, truths, "files"), _pairs(predictions, truths, "functions"))


def _pairs(predictions: Mapping[str, Prediction], truths: Mapping[str, Truth], level: str) -> list[Pair]:
    return [(getattr(predictions.get(name), level, []), getattr(truth, level)) for name, truth in truths.items()]


def _over_all(pairs: list[Pair]) -> dict[str, float]:
    """Ranked figures of a level; every pair weighs the same, and one without truth counts as 0."""
    summary = summarize_level(pairs)
    share = summary["instances"] / len(pairs)
    return {name: value * share for name, value in summary.items() if isinstance(value, float)}


def _of(rows: list[Instance], truth: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {row.instance_id: truth[row.instance_id] for row in rows}


def _edited(changes: list[dict[str, Any]]) -> list[str]:
    return [entity for change in changes for entity in change["changes"].get("edited_entities") or []]
