"""Report: the page of tables and figures, and its numbers. It is the page of an experiment with one seed: the main pipeline's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.digests import digest
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Score
from fusesearch.core.storage import read_jsonl, write_csv, write_json, write_text
from fusesearch.core.text import safe_name
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.statistics import Difference
from fusesearch.reporting.experiment.figures import draw
from fusesearch.reporting.experiment.pages import page
from fusesearch.reporting.experiment.results import Results
from fusesearch.reporting.headroom import headroom_said
from fusesearch.reporting.inputs import by_arm
from fusesearch.reporting.table import ARMS, cell, pair_name
from tasks.experiments.outcome import ArmRun
from tasks.experiments.results import measured
from tasks.experiments.spec import Arm, Claim, Experiment, PaperTable
from tasks.experiments.verdicts import reversed_difference
from tasks.running.node import Job
from tasks.running.places import EXPERIMENTS, Places

PAPER = PaperTable(
    table="fusesearch_table2_stages.csv",
    where={"model": "Qwen3-4B"},
    caption="FuseSearch table 2, Qwen3-4B on SWE-bench Verified",
)
PAPER_STAGES = EXPERIMENTS / "reference" / PAPER.table
TRAINED = ("base", "rl", "sft", "sft+rl")
"""The stages of the paper's table."""

REPORTED = [
    "f1_macro", "f1_micro", "file_macro_f1", "function_macro_f1", "file_micro_f1", "function_micro_f1", "efficiency",
    "efficiency_call", "reward", "turns", "calls_per_turn", "seconds", "tokens_context", "tokens_billed",
]  # fmt: skip
CLAIMS = (
    Claim(metric="f1_macro", better="sft", than="base", paper=True),
    Claim(metric="reward", better="sft+rl", than="sft"),
)


def make_pages(job: Job) -> dict[str, Any]:
    """Write the report; returns its flat figures."""
    found = make_report(job.params, job.places)
    job.progress(1, 1)
    return flat_metrics(found)


def make_report(params: Params, places: Places) -> Results:
    """Write ``report.md``, ``report.html`` (needs no other file), ``plots/*.svg``, ``metrics.json`` (flat) and the table that
    ``dvc plots`` reads. Raises :class:`ArtifactError` without scores, or if they are corrupt.
    """
    scores = list(read_jsonl(places["evaluate.scores"], Score))
    if not scores:
        raise ArtifactError(f"{places['evaluate.scores']} holds no scores: run the evaluate stage again")
    arms = by_arm(scores)
    runs = [ArmRun(arm, params.seed, rows, places["evaluate.cells"]) for arm, rows in arms.items()]
    found = measured(comparison(params, arms, places.root), runs, places.root)
    repositories = {score.repo for score in scores if score.repo}
    footer = [
        ("Profile", params.profile),
        ("Seed", str(params.seed)),
        ("Held out", f"{len({score.instance_id for score in scores})} instances of {len(repositories)} repositories"),
        ("Git revision", found.revision),
        ("Params", digest(params)[:16]),
        ("RL headroom", headroom_said(params.grpo, places["grpo.metrics"])),
    ]
    word = ", ".join(filter(None, (found.word, serving(found.differences))))
    made = replace(page(found, draw(["calls_by_turn"], found)), word=word, footer=footer)
    out = places["report.markdown"].parent
    made.write_figures(out)
    for suffix in ("md", "html"):
        write_text(out / f"report.{suffix}", made.render(suffix))
    write_json(out / "metrics.json", flat_metrics(found))
    rows = [(arm.name, row.turn, row.calls, row.episodes) for arm in found.arms for row in arm.calls_by_turn]
    columns = ("arm", "turn", "calls", "episodes")
    write_csv(out / "calls_by_turn.csv", [dict(zip(columns, row, strict=True)) for row in rows])
    return found


def comparison(params: Params, arms: Mapping[str, Sequence[Score]], root: Path) -> Experiment:
    """The main pipeline's run as an experiment: its evaluated cells are the arms."""
    beside = (root / PAPER_STAGES).exists()
    rows = {arm: {"stage": arm} for arm in TRAINED if beside}
    return Experiment(
        name="reproduction",
        title=f"FuseSearch reproduction, profile {params.profile}",
        question="Does SFT find more than the base model, and does RL add to its reward?",
        hypothesis="Both hold. One training of each cannot decide it; `python -m flows experiment run stages` has several.",
        paper=PAPER if beside else None,
        arms={arm: Arm(label=ARMS.get(arm, arm), paper_row=rows.get(arm, {})) for arm in arms},
        seeds=[params.seed],
        metrics=REPORTED,
        primary="f1_macro",
        claims=[claim for claim in CLAIMS if {claim.better, claim.than} <= set(arms)],
    )


def serving(differences: Sequence[Difference]) -> str:
    """Whether the last student is worth serving, which the ranker, as it needs no training, decides; "" without its arm."""
    of = METRICS["f1_macro"]
    rows = (row if row.second == "ranker" else reversed_difference(row) for row in differences if row.metric == of.key)
    found = {row.first: row for row in rows if row.second == "ranker"}
    row = found.get("sft+rl") or found.get("sft")
    if row is None:
        return ""
    worth = "worth serving" if row.excludes_zero and row.estimate > 0 else "not worth serving"
    return f"{worth}: {pair_name(row, ARMS)} in {of.heading} {cell(row, of, signed=True)}"


def flat_metrics(found: Results) -> dict[str, Any]:
    """Figures under fixed names, ``<arm>.<metric>`` (with ``.low`` and ``.high`` of its interval) and
    ``<first>-<second>.<metric>``; ``+`` in a name becomes ``_``.
    """
    flat: dict[str, Any] = {}
    for arm in found.arms:
        name = safe_name(arm.name)
        for key, figure in arm.figures.items():
            flat |= {f"{name}.{key}": figure.estimate, f"{name}.{key}.low": figure.low, f"{name}.{key}.high": figure.high}
        flat[f"{name}.errored"] = arm.errored
    flat |= {f"{safe_name(row.first)}-{safe_name(row.second)}.{row.metric}": row.estimate for row in found.differences}
    return {key: value for key, value in flat.items() if value is not None}
