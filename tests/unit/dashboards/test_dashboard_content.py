"""What the pages say, as blocks."""

import math
import shutil
from dataclasses import replace

import pytest

from dashboards.charts import calls
from dashboards.content.blocks import Columns, Details, Notice, Picture, Plot, Printed, Records, Text
from dashboards.content.experiments import experiment_part, experiments_page
from dashboards.content.funnel import CONTAMINATED, funnel_page
from dashboards.content.plane import plane_page
from dashboards.content.results import results_page
from dashboards.content.training import figures_of, training_page
from dashboards.content.trajectories import open_episode, trajectories_page
from dashboards.reading import episodes
from dashboards.reading.curves import Curve
from tasks.core.storage import read_json, write_json, write_jsonl, write_text
from tasks.data.contamination import CONTAMINATION
from tasks.pipeline.experiments.spec import load_experiment
from tasks.pipeline.places import MAIN
from tasks.pipeline.work.report import PAPER_STAGES
from tasks.reporting import charts
from tasks.reporting.experiment.figures import FIGURES
from tasks.reporting.experiment.pages import DIFFERENCES_NOTE, POWER_NOTE
from tests.fakes.dashboard_project import episode, instance_id


@pytest.fixture
def copy(project, tmp_path):
    """The project, to be damaged."""
    return shutil.copytree(project, tmp_path / "copy")


def every(blocks, kind):
    """All blocks of a kind, those inside of others too."""
    found = []
    for block in blocks:
        inner = block.blocks if isinstance(block, Details) else []
        inner = [inside for part in block.parts for inside in part] if isinstance(block, Columns) else inner
        found += [block] * isinstance(block, kind) + every(inner, kind)
    return found


def said(blocks):
    return "\n".join(block.text for block in every(blocks, Text | Notice))


def captions(blocks):
    return [block.table.caption for block in every(blocks, Printed)]


def test_the_funnel_shows_what_split_dropped_and_what_its_rules_mean(project):
    blocks = funnel_page(project)
    (shown,) = [block for block in every(blocks, Plot) if block.caption == "Rows that split dropped, by rule"]
    assert shown.alt == "Dropped: same_issue 2."
    assert f"same_issue: {CONTAMINATED['same_issue']}." in said(blocks)
    assert set(CONTAMINATED) == set(CONTAMINATION)


def test_figures_of_split_without_its_rules_are_named(copy):
    write_json(copy / MAIN["split.metrics"], {"sft_instances": 1})
    assert "split reports no rule: run `dvc repro split`" in said(funnel_page(copy))


def test_the_funnel_says_that_mining_keeps_no_examples(project):
    assert "Mining keeps counts alone" in said(funnel_page(project))


def test_runs_on_other_instances_are_said_with_the_results(copy):
    path = copy / "experiments/filtering/results.json"
    assert "Measured on other instances" not in said(experiment_part(copy, "filtering"))
    write_json(path, read_json(path) | {"other_instances": ["joint seed 1"]})
    assert "Measured on other instances than the rest: joint seed 1." in said(experiment_part(copy, "filtering"))


def seeds_and_outcome(root, name):
    (table,) = [block.table for block in every(experiments_page(root, []), Printed)]
    (row,) = [row.cells for row in table.rows if row.cells[0] == name]
    return row[3:]


def test_the_table_of_experiments_has_the_seeds_that_were_measured_or_are_to_be(copy):
    path = copy / "experiments/filtering/results.json"
    arms = [arm | {"seeds": [0, 1]} for arm in read_json(path)["arms"]]
    write_json(path, read_json(path) | {"arms": arms})
    assert seeds_and_outcome(copy, "filtering")[0] == "0, 1"
    path.unlink()
    seeds, outcome = seeds_and_outcome(copy, "filtering")
    assert seeds == ", ".join(map(str, load_experiment("filtering", copy / "experiments").seeds))
    assert "experiment run filtering" in outcome


def test_what_a_star_means_stands_with_every_table_that_has_one(project):
    notes = {block.title: said(block.blocks) for block in every(experiment_part(project, "filtering"), Details)}
    assert notes["All differences"] == DIFFERENCES_NOTE
    assert POWER_NOTE in notes["Power: what a true difference would have to be"]
    blocks = results_page(project)
    place = captions(blocks).index("Paired differences between arms")
    before = blocks[blocks.index(every(blocks, Printed)[place]) - 1]
    assert "A star marks p below 0.05 after Holm" in before.text
    assert every(blocks, Records)[0].caption == "The same in figures; a star marks p below 0.05 after Holm's correction"


def test_the_figures_of_an_experiment_are_drawn_from_its_results(project):
    shown = [picture.caption for picture in every(experiment_part(project, "filtering"), Picture)]
    assert shown == [FIGURES[name][0] for name in ("arms", "differences", "calls_by_turn")]


def test_the_caption_of_the_plane_says_what_is_dashed(project):
    (shown,) = every(plane_page(project, 0.5, 0.5), Plot)
    assert shown.caption.startswith("Dashed: the two thresholds.")


def test_a_count_that_is_none_is_named_beside_those_that_are(copy):
    write_text(
        copy / MAIN["filter.drops"], f'{{"short_issue": 3, "no_test": NaN, "odd": -Infinity, "huge": {10**400}, "text": ""}}'
    )
    write_json(copy / MAIN["mine.metrics"], {"pairs": 10**30})
    blocks = funnel_page(copy)
    assert "Dropped: short_issue 3." in [block.alt for block in every(blocks, Plot)]
    assert "filter reports no count for no_test, odd, huge, text: run `dvc repro filter`" in said(blocks)
    assert "mine reports no pairs" in said(blocks)


def curve(stage, **logged):
    return Curve(stage, stage, stage, [{"step": float(step), **logged} for step in range(20)])


def test_the_surrogate_loss_of_grpo_is_not_shown():
    curves = [curve("grpo", reward=0.5, loss=0.01, kl=0.1), curve("grpo_from_base", loss=0.01), curve("sft", loss=2.0)]
    blocks = training_page(curves, figures_of(curves))
    losses = [block.alt for block in every(blocks, Plot) if block.caption == "Loss on assistant tokens"]
    assert losses == ["Loss on assistant tokens: sft from 2 to 2."]
    assert figures_of(curves[:2]) == ["reward", "kl"]


@pytest.mark.parametrize(("logged", "noted"), [({"reward": 1.0}, True), ({"kl": 0.1}, False)])
def test_curves_of_grpo_without_kl_say_when_it_is_logged(logged, noted):
    curves = [curve("grpo", **logged), curve("sft", loss=2.0)]
    assert ("KL is logged where `grpo.kl` is above 0" in said(training_page(curves, figures_of(curves)))) is noted


def test_what_is_no_finite_number_is_left_out_of_a_curve():
    rows = [{"step": float(step), "loss": loss} for step, loss in enumerate([2.0, math.inf, -math.inf, math.nan, 4.0])]
    (table,) = every(training_page([replace(curve("sft"), rows=rows)], ["loss"]), Records)
    assert 4.0 in table.rows[0].values()


def test_small_and_large_figures_of_a_run_are_not_rounded_away():
    (table,) = every(training_page([curve("sft", learning_rate=5e-5, tokens_context=23456.7)], ["learning_rate"]), Records)
    assert table.rows[0]["Learning rate"] == pytest.approx(5e-5)
    drawn = charts.lines([{"name": "a", "x": 1, "raw": 5e-5, "smooth": 5e-5}], "Step", "y", ["a"], {}).to_dict()
    shown = [tip for layer in drawn["layer"] for tip in layer["encoding"].get("tooltip", [])]
    assert [tip["format"] for tip in shown if "format" in tip] == ["~g", "~g"]


def test_what_is_not_shown_of_a_run_is_said():
    shown = training_page([replace(curve("sft", loss=2.0), lacks="only the first 2 of 3 figures")], ["loss"])
    assert Notice("only the first 2 of 3 figures", "note") in shown


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (MAIN["report.table"], ["Precision, recall and ranked metrics (%)", "Paired differences between arms"]),
        (MAIN["evaluate.scores"], ["Training stages beside FuseSearch table 2", "Paired differences between arms"]),
        (
            MAIN["report.differences"],
            ["Training stages beside FuseSearch table 2", "Our arms in full", "Precision, recall and ranked metrics (%)"],
        ),
        (
            PAPER_STAGES,
            [
                "Training stages beside FuseSearch table 2",
                "Our arms in full",
                "Precision, recall and ranked metrics (%)",
                "Paired differences between arms",
            ],
        ),
    ],
)
def test_a_damaged_file_takes_only_its_own_tables_from_the_results(copy, path, left):
    write_text(copy / path, '{"a": [\n')
    blocks = results_page(copy, [])
    assert captions(blocks) == left
    assert path.name in said(blocks)


def test_a_damaged_table_of_truth_takes_only_the_truth_from_an_episode(copy):
    source = episodes.sources(copy)[0]
    source.truths.write_bytes(b"PAR1")
    blocks = trajectories_page([(source, 1)], instance_id(1))
    assert captions(blocks) == ["Figures of the episode"]
    assert "validation.parquet" in said(blocks)


def test_an_episode_that_cannot_be_read_leaves_the_other(copy):
    first, second = episodes.sources(copy)[:2]
    write_text(first.path, '{"instance_id": "own__repo-1"}\n')
    blocks = trajectories_page([(first, 1), (second, 1)], instance_id(1))
    assert every(blocks, Printed)[0].table.header == ["Figure", second.label]
    assert first.path.name in said(blocks)


@pytest.mark.parametrize("gain", [float("nan"), float("inf"), float("-inf")])
def test_a_gain_that_is_no_number_is_absent_and_the_rest_of_the_episode_is_shown(tmp_path, gain):
    whole = episode(1, "sft", True)
    odd = whole.turns[0].observations[0].model_copy(update={"gain_turn": gain, "gain_call": gain})
    turns = [whole.turns[0].model_copy(update={"observations": [odd, *whole.turns[0].observations[1:]]}), *whole.turns[1:]]
    path = tmp_path / MAIN["evaluate.trajectories"] / "sft.jsonl"
    write_jsonl(path, [whole.model_copy(update={"turns": turns}).model_dump()])
    shown = open_episode(episodes.sources(tmp_path)[0], instance_id(1))
    first, second = shown.page.turns[0].cards
    assert (first.gain, first.level, second.gain) == ("absent", "bad", "75%")
    assert "counting this turn" not in first.note
    assert "mean gain absent" in shown.page.turns[0].facts
    (efficiency,) = [tile for tile in shown.page.tiles if tile.name == "Tool efficiency e"]
    assert efficiency.value == "absent"
    (printed,) = every(trajectories_page([(episodes.sources(tmp_path)[0], 1)], instance_id(1)), Printed)
    assert ["e, history by turn", "–"] in [row.cells for row in printed.table.rows]  # noqa: RUF001


def test_the_legend_of_the_plane_says_by_what_a_candidate_stays(project):
    (shown,) = every(plane_page(project, 0.5, 0.5), Plot)
    places = shown.chart.to_dict()["layer"][0]["encoding"]
    assert places["color"]["title"] == places["shape"]["title"] == "with these thresholds"


def cells(turns):
    rows = [{"turn": turn, "call": 1, "gain": 0.5, "text": "50%", "tool": "grep", "truth": ""} for turn in range(1, turns + 1)]
    return [{"episode": str(number), **row} for number in range(5) for row in rows]


@pytest.mark.parametrize(("turns", "episodes_shown", "columns"), [(5, 2, 2), (5, 5, 2), (2, 5, 5), (8, 2, 1), (30, 1, 1)])
def test_episodes_with_many_turns_stand_above_one_another(turns, episodes_shown, columns):
    names = [str(number) for number in range(episodes_shown)]
    rows = [row for row in cells(turns) if row["episode"] in names]
    assert calls(rows, names).to_dict()["columns"] == columns
