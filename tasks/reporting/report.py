"""The report of a reproduction: one page of tables and figures in Markdown and in HTML, and its numbers as files.

What a run has not made (an arm, a curve, a drop table) is left out of the page; scores are needed.
"""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.core.config import Params
from tasks.core.digests import digest
from tasks.core.schema import Score
from tasks.core.storage import write_json, write_text
from tasks.pipeline import layout
from tasks.reporting import plots, tables
from tasks.reporting.inputs import Inputs, read_inputs
from tasks.reporting.pages import Figure, Section, render, write_figures
from tasks.reporting.tables import Difference, Summary


def make_report(params: Params, root: Path = Path(), out: Path | None = None) -> Path:
    """Read the artifacts below ``root`` and write the report to ``out`` (default ``artifacts/report``).

    Writes ``report.md``, ``report.html`` (needs no other file), ``plots/*.svg``, ``metrics.json`` (flat) and the CSV files
    that ``dvc plots`` reads. Returns the path of the Markdown page. Raises :class:`ArtifactError` for what is missing or
    corrupt.
    """
    return write_report(read_inputs(root), params, out or root / layout.REPORT, revision(root))


def write_report(inputs: Inputs, params: Params, out: Path, git_revision: str = "unknown") -> Path:
    """Write all files of the report; returns the path of the Markdown page."""
    arms = tables.by_arm(inputs.scores)
    summary = tables.summarize(arms, params.report, params.seed)
    differences = tables.compare(arms, params.report, params.seed)
    sections = [
        _results(inputs, arms, summary, params),
        _differences(differences, params),
        _behaviour(inputs),
        _training(inputs),
        _data(inputs, params),
    ]
    context = {
        "title": f"FuseSearch reproduction, profile {params.profile}",
        "sections": [section for section in sections if section.tables or section.figures],
        "verdicts": verdicts(differences),
        "footer": _provenance(inputs, params, git_revision),
    }
    _write_data(inputs, summary, differences, arms, out)
    _write_pages(context, out)
    return out / "report.md"


def verdicts(differences: Sequence[Difference]) -> list[str]:
    """The two claims of the training recipe, each with its number and whether the interval supports it."""
    claims = (("sft", "base", "f1_macro"), ("sft+rl", "sft", "reward"), ("sft+rl", "lexical", "f1_macro"))
    found = {(row.first, row.second, row.key): row for row in differences}
    return [_verdict(found[claim]) for claim in claims if claim in found and found[claim].interval]


def revision(root: Path) -> str:
    """The git commit of the project, with ``+changes`` when tracked files differ from it."""
    commit = _git(root, "rev-parse", "HEAD")
    return f"{commit[:12]}{'+changes' if _git(root, 'status', '--porcelain', '-uno') else ''}" if commit else "unknown"


def _results(inputs: Inputs, arms: Mapping[str, Sequence[Score]], summary: Summary, params: Params) -> Section:
    text = [
        "The paper's rows are Qwen3 models of 4B and 30B parameters on 386 instances of SWE-bench Verified; ours are another "
        f"scale (profile {params.profile}, repositories held out from training) and not comparable in absolute terms. What "
        "can be compared is the direction from stage to stage.",
        f"Brackets are {params.report.confidence:.0%} bootstrap intervals over instances ({params.report.bootstrap_samples} "
        "resamples; the runs of an instance stay together). Pooled figures sum counts over episodes, as the paper's tables "
        "do; means are over episodes. Episodes the infrastructure broke have no score and are counted as errored. Seconds "
        "are wall time under concurrency. The paper's time and tokens are as it prints them; tokens are over all "
        "requests.",
    ]
    return Section(
        "Results", text, [tables.stages_table(summary, inputs.paper), tables.full_table(summary, arms), tables.ranked_table(arms)]
    )


def _differences(differences: Sequence[Difference], params: Params) -> Section:
    text = [
        f"First minus second over the instances both arms measured, with the {params.report.confidence:.0%} interval of the "
        f"paired bootstrap. {tables.STAR_NOTE}"
    ]
    figures = _figures([("differences", "Paired differences with intervals", plots.differences(differences))])
    return Section("Paired differences", text, [tables.difference_table(differences)] if differences else [], figures)


def _behaviour(inputs: Inputs) -> Section:
    text = [
        "e is a mean over calls: it says how much of what a call returned was new, never how much was found in all. Leaving "
        "out the call with the least gain never lowers it, and a single call that finds anything in the first turn has e = 1. "
        "Under history by turn a call may repeat another of the same turn at no loss; under history by call it may not. The "
        "two columns of e, read beside calls per turn, show which of these a policy makes use of."
    ]
    shown = plots.calls_by_turn(inputs.calls_by_turn)
    caption = "Calls of tool-using turns by turn index (FuseSearch figure 3); points with fewer than 5 episodes left out"
    return Section("Parallelism", text, figures=_figures([("calls_by_turn", caption, shown)]))


def _training(inputs: Inputs) -> Section:
    figures = _figures(
        [
            ("grpo", "GRPO: thin lines are steps, bold lines a moving mean", plots.training_curves(inputs.grpo)),
            ("sft_loss", "SFT loss: the thin line is steps, the bold one a moving mean", plots.loss_curve(inputs.sft)),
        ]
    )
    return Section("Training", figures=figures)


def _data(inputs: Inputs, params: Params) -> Section:
    shown = tables.mined_tables(inputs.mined)
    shown += [tables.drops_table(f"{stage}: rows dropped by each rule", drops) for stage, drops in inputs.drops.items()]
    select = params.select
    plane = plots.candidate_plane(inputs.plane, select.min_f1, select.min_efficiency)
    caption = f"Candidate trajectories; kept are those with F1 >= {select.min_f1:g} and e >= {select.min_efficiency:g}"
    return Section("Data", [], shown, _figures([("candidates", caption, plane)]))


def _figures(candidates: Sequence[tuple[str, str, str | None]]) -> list[Figure]:
    return [Figure(name, caption, svg) for name, caption, svg in candidates if svg]


def _verdict(row: Difference) -> str:
    column, found = tables.BY_KEY[row.key], row.interval
    sign = "above" if found and found.estimate > 0 else "below"
    clear = "the interval excludes zero" if found and found.excludes_zero else "the interval includes zero"
    change = tables.cell(found, column, signed=True)
    return f"{tables.label(row.first)} {sign} {tables.label(row.second)} in {column.heading}: {change}; {clear}."


def _provenance(inputs: Inputs, params: Params, git_revision: str) -> list[tuple[str, str]]:
    instances = {score.instance_id for score in inputs.scores}
    repositories = {score.repo for score in inputs.scores if score.repo}
    return [
        ("Profile", params.profile),
        ("Seed", str(params.seed)),
        ("Held out", f"{len(instances)} instances of {len(repositories)} repositories"),
        ("Git revision", git_revision),
        ("Params", digest(params)[:16]),
    ]


def _write_pages(context: Mapping[str, Any], out: Path) -> None:
    write_figures(context["sections"], out)
    for name in ("report.md", "report.html"):
        write_text(out / name, render(name, context))


def _write_data(
    inputs: Inputs, summary: Summary, differences: Sequence[Difference], arms: Mapping[str, Sequence[Score]], out: Path
) -> None:
    write_json(out / "metrics.json", tables.flat_metrics(summary, differences, arms))
    write_text(out / "table2.csv", _csv(tables.table_records(summary)))
    write_text(out / "differences.csv", _csv(tables.difference_records(differences)))
    write_text(out / "curves.csv", _csv([{"arm": arm, **row} for arm, rows in inputs.grpo.items() for row in rows]))
    profiles = [{"arm": arm, **row} for arm, rows in inputs.calls_by_turn.items() for row in rows]
    write_text(out / "calls_by_turn.csv", _csv(profiles))
    write_text(out / "candidates.csv", _csv([row._asdict() for row in inputs.plane]))


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["empty"]
    output = io.StringIO()
    writer = csv.DictWriter(output, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return output.getvalue()


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
