"""The report from artifacts on disk."""

import csv
import json
import random
import re

import pytest

from fusesearch.core.config import Params
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Observation, Score, ToolCall, Trajectory, Turn
from fusesearch.core.storage import read_csv, write_jsonl, write_text
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.statistics import Difference
from fusesearch.reporting import reproduction
from fusesearch.reporting.inputs import read_inputs
from fusesearch.reporting.table import ARMS
from tasks.report import make_report, sources
from tasks.running.places import MAIN, Places

PARAMS = Params(seed=3)
SKILL = {"base": 0.1, "rl": 0.3, "sft": 0.6, "sft+rl": 0.8, "lexical": 0.7}

REFERENCE = """model,stage,file_f1,function_f1,efficiency,turns,tools_per_turn,time_s,tokens_k
Qwen3-4B,sft,78.86,47.94,68.46,4.96,3.59,9.17,54.8
"""


def one_score(arm, index, rng):
    right = rng.random() < SKILL[arm]
    return Score(
        instance_id=f"i{index}", repo=f"o/r{index % 3}", arm=arm, localizer="fusesearch", f1=float(right), reward=0.9 * right,
        file_f1=float(right), function_f1=float(right), efficiency=0.5, efficiency_call=0.4, turns=3, calls=4, calls_per_turn=2.0,
        seconds=1.0, tokens_context=400, tokens_billed=900, true_files=["a"], predicted_files=["a" if right else "b"],
        true_functions=["a::f"], predicted_functions=["a::f"] if right else [],
    )  # fmt: skip


def turn(calls):
    observations = [Observation(call_id=str(index), output="") for index in range(calls)]
    return Turn(text="", calls=[ToolCall(id=str(index), name="grep") for index in range(calls)], observations=observations)


def write_project(root):
    rng = random.Random(0)
    scores = [one_score(arm, index, rng) for arm in SKILL for index in range(30)]
    scores.append(Score(instance_id="i99", arm="base", error="endpoint down", true_files=["a"]))
    write_jsonl(root / MAIN["evaluate.scores"], scores)
    episodes = [
        Trajectory(instance_id=str(i), localizer="x", system="", issue="", turns=[turn(4), turn(2), turn(0)]) for i in range(6)
    ]
    write_jsonl(root / MAIN["evaluate.cells"] / "sft+rl/trajectories.jsonl", episodes)
    write_text(root / "experiments/reference/fusesearch_table2_stages.csv", REFERENCE)
    return root


@pytest.fixture(scope="module", autouse=True)
def _here(undrawn):
    """Nothing is drawn, and git is not asked for the revision."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.report.revision", lambda root: "c0ffee")
        yield


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A project with its report, for tests that only read it."""
    root = write_project(tmp_path_factory.mktemp("reported"))
    make_report(PARAMS, Places(root=root))
    return root


@pytest.fixture(scope="module")
def pages(reported):
    return [(reported / MAIN[name]).read_text() for name in ("report.markdown", "report.html")]


def test_the_markdown_page_has_ours_beside_the_papers_figures(pages):
    markdown, _ = pages
    stages = re.findall(r"^\| (SFT|base|SFT \+ RL|lexical \(teacher\)) \| ([^|]+) \|", markdown, re.M)
    assert ("SFT", "ours") in stages
    assert ("SFT", "Qwen3-4B, paper") in stages
    assert "not comparable in absolute terms" in markdown
    assert markdown.startswith("# FuseSearch reproduction, profile nano\n\n**open**\n")
    assert re.search(r"^\| base \|.*\| 30 \| 30 \| 1 \|$", markdown, re.M)  # with its errored episode


def test_markdown_tables_have_the_same_number_of_cells_in_every_row(pages):
    blocks = re.findall(r"(?:^\|.*\|\n)+", pages[0], re.M)
    assert len(blocks) == 3
    for block in blocks:
        widths = {len(re.split(r"(?<!\\)\|", row)) for row in block.splitlines()}
        assert len(widths) == 1, block


def test_the_html_page_needs_no_other_file_and_is_the_same_each_time(pages, reported):
    html = pages[1]
    assert html.count('<img src="data:image/svg+xml;base64,') == 3
    assert html.index("<figure>") < html.index("<table>") < html.index("not comparable in absolute terms")
    assert not re.search(r"""(?:src|srcset|href)=["'](?!#|data:image/svg)""", html)
    assert "<script" not in html
    make_report(PARAMS, Places(root=reported))
    assert (reported / MAIN["report.html"]).read_text() == html


def test_every_plot_is_on_the_page(pages, reported):
    files = sorted((reported / MAIN["report.markdown"].parent / "plots").iterdir())
    assert [path.stem for path in files] == ["calls_by_turn", "differences", "stages"]
    assert all(f"](plots/{path.name})" in pages[0] for path in files)


def test_metrics_are_flat_numbers_under_fixed_names(pages, reported):
    metrics = json.loads((reported / MAIN["report.metrics"]).read_text())
    assert all(isinstance(value, int | float) for value in metrics.values())
    assert metrics["base.errored"] == 1
    assert metrics["sft_rl-sft.reward"] == pytest.approx(metrics["sft_rl.reward"] - metrics["sft.reward"])
    assert metrics["sft.file_micro_f1"] == pytest.approx(metrics["sft.f1_macro"])


def test_tables_for_dvc_plots_have_a_row_per_point(pages, reported):
    def rows(name):
        with (reported / MAIN["report.markdown"].parent / name).open(newline="") as handle:
            return list(csv.DictReader(handle))

    by_turn = {(row["turn"], row["calls"], row["episodes"]) for row in rows("calls_by_turn.csv")}
    assert by_turn == {("1", "4.0", "6"), ("2", "2.0", "6")}
    assert len(rows("table2.csv")) == len(SKILL) * len(reproduction.REPORTED)


def test_scores_alone_make_a_report_and_an_arm_without_any_shows_dashes(project):
    write_jsonl(project / MAIN["evaluate.scores"], [Score(instance_id="i1", arm="base", error="down")])
    markdown = make_report(PARAMS, Places(root=project)).read_text()
    assert "## Results" in markdown
    assert re.search(r"^\| base \| (– \| )+0 \| 0 \| 1 \|$", markdown, re.M)  # noqa: RUF001


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (MAIN["evaluate.scores"], "", "scores.jsonl holds no scores"),
        (MAIN["evaluate.scores"], "{}\n", "scores.jsonl:1: instance_id: Field required"),
    ],
)
def test_corrupt_artifacts_are_named(project, path, text, message):
    (project / path).write_text(text)
    with pytest.raises(ArtifactError, match=message):
        read_inputs(sources(Places(root=project)))


def test_errored_episodes_have_no_part_in_the_calls_by_turn(project):
    episode = Trajectory(instance_id="1", localizer="x", system="", issue="", turns=[turn(3)], error="down")
    write_jsonl(project / MAIN["evaluate.cells"] / "sft+rl/trajectories.jsonl", [episode])
    assert read_inputs(sources(Places(root=project))).calls_by_turn["sft+rl"] == []


def test_a_difference_that_the_corrected_test_finds_is_starred():
    clear = {"first": "sft", "second": "base", "estimate": 0.2, "low": 0.1, "high": 0.3, "p": 0.0002, "p_holm": 0.0004}
    unclear = {"first": "sft+rl", "second": "sft", "estimate": -0.02, "low": -0.1, "high": 0.1, "p": 0.5, "p_holm": 0.5}
    rows = [Difference(metric=key, **row) for row in (clear, unclear) for key in reproduction.COMPARED]
    table = reproduction.differences_table(rows)
    assert table.rows[0].cells[2] == "+0.200 * [+0.100, +0.300] p=<0.001"
    assert table.rows[1].cells[2] == "-0.020 [-0.100, +0.100] p=0.500"
    claims = [Difference(metric="f1_macro", **clear), Difference(metric="reward", **unclear)]
    lower = claims[1].model_copy(update={"p_holm": 0.01})
    higher = lower.model_copy(update={"estimate": 0.02})
    assert [reproduction.verdict([claims[0], row]) for row in (claims[1], lower, higher)] == ["open", "reversed", "holds"]
    ranked = [row.model_copy(update={"metric": "f1_macro", "second": "ranker"}) for row in claims]
    said = ["", "worth serving: SFT \N{MINUS SIGN} ranker", "not worth serving: SFT + RL \N{MINUS SIGN} ranker"]
    assert [reproduction.serving(rows).partition(" in ")[0] for rows in (claims, ranked[:1], ranked)] == said


def test_the_reference_tables_of_the_repository_name_the_columns_we_print(request):
    rows = read_csv(request.config.rootpath / "experiments/reference/fusesearch_table2_stages.csv")
    assert {METRICS[key].paper for key in reproduction.REPORTED if METRICS[key].paper} <= set(rows[0])
    assert {row["stage"] for row in rows} <= set(ARMS)
