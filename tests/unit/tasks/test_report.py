"""The report from artifacts on disk."""

import json
import random
import re

import pytest

from fusesearch.core.config import Params
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Score
from fusesearch.core.storage import read_csv, write_json, write_jsonl, write_text
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.statistics import Difference
from tasks.report import PAPER_STAGES, REPORTED, TRAINED, make_report, serving
from tasks.running.places import MAIN, Places

PARAMS = Params(seed=3)
SKILL = {"base": 0.1, "rl": 0.3, "sft": 0.6, "sft+rl": 0.8, "lexical": 0.7}
REFERENCE = "model,stage,file_f1,function_f1,efficiency,turns,tools_per_turn,time_s,tokens_k\n" + "".join(
    f"Qwen3-4B,{stage},78.86,47.94,68.46,4.96,3.59,9.17,54.8\n" for stage in TRAINED
)


def one_score(arm, index, rng):
    right = rng.random() < SKILL[arm]
    return Score(
        instance_id=f"i{index}", repo=f"o/r{index % 3}", arm=arm, localizer="fusesearch", f1=float(right), reward=0.9 * right,
        file_f1=float(right), function_f1=float(right), efficiency=0.5, efficiency_call=0.4, turns=3, calls=6, calls_per_turn=3.0,
        seconds=1.0, tokens_context=400, tokens_billed=900, true_files=["a"], predicted_files=["a" if right else "b"],
        true_functions=["a::f"], predicted_functions=["a::f"] if right else [], calls_each_turn=[4, 2, 0],
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _here():
    """Nothing is drawn, and git is not asked for the revision."""
    with pytest.MonkeyPatch.context() as patch:
        known = {"git_revision": "c0ffee", "dirty": False, "dvc_revision": "none"}
        patch.setattr("tasks.experiments.results.revision", lambda: known)
        patch.setattr("fusesearch.reporting.charts.svg", lambda chart, form="": "<svg></svg>")
        yield


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A project with its report, for tests that only read it."""
    root, rng = tmp_path_factory.mktemp("reported"), random.Random(0)
    scores = [one_score(arm, index, rng) for arm in SKILL for index in range(30)]
    scores.append(Score(instance_id="i99", arm="base", error="endpoint down", true_files=["a"], calls_each_turn=[9]))
    write_jsonl(root / MAIN["evaluate.scores"], scores)
    write_text(root / PAPER_STAGES, REFERENCE)
    make_report(PARAMS, Places(root=root))
    return root


@pytest.fixture(scope="module")
def pages(reported):
    return [(reported / MAIN[name]).read_text() for name in ("report.markdown", "report.html")]


def test_the_markdown_page_has_a_word_first_and_ours_beside_the_papers_figures(pages):
    markdown, _ = pages
    assert markdown.startswith("# FuseSearch reproduction, profile nano\n\n**open, 0 of 2 claims decided**\n")
    stages = re.findall(r"^\| (SFT|base|SFT \+ RL|lexical \(teacher\)) \| ([^|]+) \|", markdown, re.M)
    assert {("SFT", "3"), ("SFT", "the paper"), ("lexical (teacher)", "3")} <= set(stages)
    assert "SFT above base in F1 0.7/0.3, mean: +" in markdown
    assert re.search(r"^\| base \|.*\| 30 \(1\) \|$", markdown, re.M)  # with its errored episode
    assert "Git revision: `c0ffee`" in markdown
    assert re.search(r"RL headroom: `not measured: .* below grpo.min_headroom, 0 points", markdown)


def test_the_html_page_needs_no_other_file_and_is_the_same_each_time(pages, reported):
    html = pages[1]
    assert html.count('<img src="data:image/svg+xml;base64,') == 3
    assert html.index("<figure>") < html.index("<table>") < html.index("what can be compared is which arm is ahead")
    assert not re.search(r"""(?:src|srcset|href)=["'](?!#|data:image/svg)""", html)
    assert "<script" not in html
    make_report(PARAMS, Places(root=reported))
    assert (reported / MAIN["report.html"]).read_text() == html


def test_the_ranker_decides_whether_a_student_is_worth_serving():
    common = {"metric": "f1_macro", "estimate": 0.2, "low": 0.1, "high": 0.3}
    ahead, behind = Difference(first="sft", second="ranker", **common), Difference(first="ranker", second="sft+rl", **common)
    said = ["", "worth serving: SFT − ranker", "not worth serving: SFT + RL − ranker"]  # noqa: RUF001
    assert [serving(rows).partition(" in ")[0] for rows in ([], [ahead], [ahead, behind])] == said


def test_metrics_are_flat_numbers_under_fixed_names(reported):
    metrics = json.loads((reported / MAIN["report.metrics"]).read_text())
    assert all(isinstance(value, int | float) for value in metrics.values())
    assert metrics["base.errored"] == 1
    assert metrics["sft_rl-sft.reward"] == pytest.approx(metrics["sft_rl.reward"] - metrics["sft.reward"], abs=1e-5)
    assert metrics["sft.f1_macro.low"] < metrics["sft.f1_macro"] == metrics["sft.file_micro_f1"] < metrics["sft.f1_macro.high"]


def test_dvc_plots_the_calls_of_each_turn_without_errored_episodes(reported):
    rows = read_csv(reported / MAIN["report.calls_by_turn"])
    assert {(row["turn"], row["calls"], row["episodes"]) for row in rows} == {("1", "4.0", "30"), ("2", "2.0", "30")}


def test_scores_alone_make_a_report_and_an_arm_without_any_shows_dashes(tmp_path):
    write_jsonl(tmp_path / MAIN["evaluate.scores"], [Score(instance_id="i1", arm="base", error="down")])
    write_json(tmp_path / MAIN["grpo.metrics"], {
        "headroom": 0.031, "headroom_low": 0.02, "headroom_high": 0.042, "flat": 0.4, "f1_per_call": 0.005,
    })  # fmt: skip
    make_report(PARAMS, Places(root=tmp_path))
    markdown = (tmp_path / MAIN["report.markdown"]).read_text()
    assert re.search(r"^\| base \| 3 \| (– \| )+0 \(1\) \|$", markdown, re.M)  # noqa: RUF001
    assert "3.1 [2.0, 4.2] points of F1, best of 8 samples minus their mean; 40% of prompts without spread; +0.5" in markdown


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "scores.jsonl holds no scores"), ("{}\n", "scores.jsonl:1: instance_id: Field required")],
)
def test_corrupt_scores_are_named(tmp_path, text, message):
    write_text(tmp_path / MAIN["evaluate.scores"], text)
    with pytest.raises(ArtifactError, match=message):
        make_report(PARAMS, Places(root=tmp_path))


def test_the_reference_table_of_the_repository_names_the_columns_we_print(request):
    rows = read_csv(request.config.rootpath / PAPER_STAGES)
    assert {METRICS[key].paper for key in REPORTED if METRICS[key].paper} <= set(rows[0])
    assert {row["stage"] for row in rows} <= set(TRAINED)
