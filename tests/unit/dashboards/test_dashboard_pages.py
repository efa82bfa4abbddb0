"""What the pages say: parts of page functions, without Streamlit's server."""

import re
from pathlib import Path

import pytest

from dashboards import episodes, read
from dashboards.parts import Columns, Fold, Notice, Plot, whole
from dashboards.tabs import experiments, report, trajectories
from fusesearch.core.storage import read_json, write_json, write_jsonl, write_text
from fusesearch.reporting.charts import COLOURS, bars, svg
from fusesearch.reporting.experiment.figures import FIGURES
from fusesearch.reporting.experiment.pages import DIFFERENCES_NOTE, POWER_NOTE
from fusesearch.reporting.reproduction import STAR_NOTE
from fusesearch.reporting.table import Table
from tasks.experiments.spec import load_experiment
from tasks.report import PAPER_STAGES
from tasks.running.places import MAIN
from tests.fakes.dashboard_project import episode, instance_id

STAGES = "Training stages beside FuseSearch table 2"
FULL, RANKED, PAIRS = "Our arms in full", "Precision, recall and ranked metrics (%)", "Paired differences between arms"


def opened(root, name):
    """A page as the app opens it."""
    if name == "trajectories":
        known = episodes.sources(root)
        return list(whole(trajectories.page([(source, 1) for source in known[:2]], instance_id(1))))
    page = {
        "report": lambda: report.screen(root),
        "experiments": lambda: experiments.page(root, read.experiments(root)),
    }[name]
    return list(whole(page()))


def every(parts, kind):
    """All parts of a kind, those inside of others too."""
    found = []
    for part in parts:
        inner = part.parts if isinstance(part, Fold) else []
        inner = [inside for column in part.parts for inside in column] if isinstance(part, Columns) else inner
        found += [part] * isinstance(part, kind) + every(inner, kind)
    return found


def said(parts):
    return "\n".join(part if isinstance(part, str) else part.text for part in every(parts, str | Notice))


def captions(parts):
    return [table.caption for table in every(parts, Table)]


@pytest.mark.parametrize(
    ("name", "shows"),
    [
        ("report", [STAGES, FULL, RANKED, PAIRS, "Mined pairs by repository"]),
        ("experiments", ["All experiments", "Differences of arms", "Orderings", "Power"]),
        ("trajectories", ["Figures of the episode", "What the patch modifies, and who found it"]),
    ],
)
def test_a_page_shows_what_it_is_for_and_misses_nothing(project, name, shows):
    parts = opened(project, name)
    assert set(shows) <= set(captions(parts))
    assert [part for part in every(parts, Notice) if part.kind == "missing"] == []
    assert all(plot.alt for plot in every(parts, Plot))


@pytest.mark.parametrize("name", ["report", "experiments"])
def test_an_empty_project_says_what_is_missing(tmp_path, name):
    notices = every(opened(tmp_path, name), Notice)
    assert any("missing" in notice.text for notice in notices)
    assert len(notices) == len(set(notices))


READ_BY_THE_REPORT = ("evaluate.scores", "split.metrics", "mine.table", "select.examples")


@pytest.mark.parametrize(
    ("name", "path", "text", "says"),
    [
        ("report", MAIN["evaluate.scores"], None, "dvc repro evaluate"),
        ("report", MAIN["select.examples"], None, "dvc repro select"),
        ("report", MAIN["filter.metrics"], None, "dvc repro filter"),
        *(("report", MAIN[name], '{"a": [\n', MAIN[name].name) for name in READ_BY_THE_REPORT),
        ("report", MAIN["select.plane"], "f1,efficiency\na,b\n", "plane.csv"),
        ("report", MAIN["mine.table"], '{"repositories": [3]}', "cannot be used"),
        ("report", PAPER_STAGES, "model,stage\nQwen3-4B,sft\n", "cannot be used"),
        ("report", Path("params.yaml"), "profile: [", "params.yaml"),
        ("experiments", "experiments/reward/results.json", "{}", "results.json"),
        ("experiments", "experiments/reward/experiment.yaml", "title: [", "experiment.yaml"),
    ],
)
def test_one_missing_or_damaged_artifact_is_named_and_the_rest_of_the_page_is_shown(copy, name, path, text, says):
    if text is None:
        (copy / path).unlink()
    else:
        write_text(copy / path, text)
    parts = opened(copy, name)
    assert says in said(parts)
    assert any(isinstance(part, Table | Fold | Plot | Columns) for part in parts)


def test_the_report_is_drawn_again_when_an_artifact_changes(copy):
    assert "no effect" in cells_of(opened(copy, "report"))
    write_json(copy / MAIN["mine.table"], {"repositories": [], "dropped": {"too large": 3}, "skipped": {}})
    found = cells_of(opened(copy, "report"))
    assert "too large" in found
    assert "no effect" not in found


def cells_of(parts):
    return [cell for table in every(parts, Table) for row in table.rows for cell in row.cells]


def test_the_rows_after_each_stage_and_examples_of_dropped_rows_stand_below_the_report(project):
    parts = opened(project, "report")
    (counts,) = [table for table in every(parts, Table) if table.caption.startswith("From mining to training")]
    assert [row.cells for row in counts.rows][:2] == [
        ["mined pairs", "pairs and instances", "40"],
        ["filter: instances kept", "pairs and instances", "37"],
    ]
    assert "short_issue (1 shown)" in [fold.title for fold in every(parts, Fold)]


def test_what_a_star_means_stands_with_every_table_that_has_one(project):
    notes = {part.title: said(part.parts) for part in every(experiments.experiment(project, "filtering"), Fold)}
    assert notes["Differences"] == DIFFERENCES_NOTE
    assert POWER_NOTE in notes["Power"]
    assert STAR_NOTE in said(opened(project, "report"))


def test_an_experiment_draws_the_figures_it_asks_for(project):
    plots = every(experiments.experiment(project, "filtering"), Plot)
    assert [plot.caption for plot in plots] == [FIGURES[name][0] for name in ("arms", "differences", "calls_by_turn")]


def test_runs_on_other_instances_are_said_with_the_results(copy):
    path = copy / "experiments/filtering/results.json"
    assert "Measured on other instances" not in said(experiments.experiment(copy, "filtering"))
    write_json(path, read_json(path) | {"other_instances": ["joint seed 1"]})
    assert "Measured on other instances than the rest: joint seed 1." in said(experiments.experiment(copy, "filtering"))


def seeds_and_outcome(root, name):
    (table,) = every(experiments.page(root, []), Table)
    (row,) = [row.cells for row in table.rows if row.cells[0] == name]
    return row[3:]


def test_the_table_of_experiments_has_the_seeds_that_were_measured_or_are_planned(copy):
    assert seeds_and_outcome(copy, "filtering")[0] == "0, 1"
    (copy / "experiments/filtering/results.json").unlink()
    seeds, outcome = seeds_and_outcome(copy, "filtering")
    assert seeds == ", ".join(map(str, load_experiment("filtering", copy / "experiments").seeds))
    assert "experiment run filtering" in outcome


@pytest.mark.parametrize("name", ["report", "experiments"])
def test_every_chart_has_a_legend_and_colours_that_can_be_told_apart(project, name):
    plots = every(opened(project, name), Plot)
    assert plots
    for plot in plots:
        picture = svg(plot.chart)
        assert "role-legend" in picture
        assert strange_colours(picture) == set()


GREYS = {"#dddddd", "#ddd", "#888", "#555555", "#1b1d21", "#ffffff", "white", "#000"}


def strange_colours(picture):
    """Colours of lines and areas that are neither Okabe and Ito's, nor grey, nor of a scale that a legend shows as a band."""
    found = set(re.findall(r'(?:stroke|fill)="([^"]+)"', picture)) - {*COLOURS, *GREYS, "none"}
    band = "linearGradient" in picture
    return {colour for colour in found if not (band and colour.startswith(("rgb(", "url(#gradient_")))}


def test_bars_in_red_and_green_are_strange():
    kinds = {"a": "#ff0000", "b": "green"}
    rows = [{"name": kind, "count": 2, "kind": kind} for kind in kinds]
    assert strange_colours(svg(bars(rows, "rows", kinds))) == set(kinds.values())


def test_a_damaged_table_of_truth_takes_only_the_truth_from_an_episode(copy):
    source = episodes.sources(copy)[0]
    source.truths.write_bytes(b"PAR1")
    parts = list(trajectories.page([(source, 1)], instance_id(1)))
    assert captions(parts) == ["Figures of the episode"]
    assert "validation.parquet" in said(parts)


def test_an_episode_that_cannot_be_read_leaves_the_other(copy):
    first, second = episodes.sources(copy)[:2]
    write_text(first.path, '{"instance_id": "own__repo-1"}\n')
    parts = list(trajectories.page([(first, 1), (second, 1)], instance_id(1)))
    assert every(parts, Table)[0].header == ["Figure", second.label]
    assert first.path.name in said(parts)


@pytest.mark.parametrize("gain", [float("nan"), float("inf"), float("-inf")])
def test_an_invalid_gain_is_absent_and_the_rest_of_the_episode_is_shown(tmp_path, gain):
    odd = episode(1, "sft", True).model_dump()
    odd["turns"][0]["observations"][0] |= {"gain_turn": gain, "gain_call": gain}
    write_jsonl(tmp_path / MAIN["evaluate.cells"] / "sft/trajectories.jsonl", [odd])
    source = episodes.sources(tmp_path)[0]
    first, second = trajectories.open_episode(source, instance_id(1)).page.turns[0].cards
    assert (first.gain, first.level, second.gain) == ("absent", "bad", "75%")
    (table,) = every(trajectories.page([(source, 1)], instance_id(1)), Table)
    assert ["e, history by turn", "–"] in [row.cells for row in table.rows]  # noqa: RUF001


def test_instances_are_ordered_by_what_is_asked_for_and_those_without_a_score_come_last():
    first, second = {"a": 0.5, "b": 0.0, "c": 1.0}, {"a": 0.6, "b": 1.0, "c": 1.0}
    assert trajectories.ordered("cab", first, second, "difference") == ["b", "a", "c"]
    assert trajectories.ordered("cab", first, second, "worst") == ["b", "a", "c"]
    assert trajectories.ordered("cab", first, second, "name") == ["a", "b", "c"]
    first, second = {"a": 1.0, "b": 0.5}, {"b": 0.5, "c": 0.0}
    assert trajectories.ordered("cab", first, second, "difference") == ["b", "a", "c"]
    assert trajectories.ordered("cab", first, second, "worst") == ["b", "a", "c"]
