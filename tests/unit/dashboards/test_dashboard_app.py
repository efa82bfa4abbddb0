"""The app's pages, run by Streamlit without a browser: what is chosen is what is shown, and text of others stays text."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

from dashboards import episodes
from dashboards.draw import coded, plain
from dashboards.tabs import trajectories
from fusesearch.core.storage import read_json, write_json, write_jsonl, write_text
from fusesearch.reporting.experiment.figures import FIGURES
from fusesearch.reporting.experiment.pages import DIFFERENCES_NOTE, POWER_NOTE
from fusesearch.reporting.reproduction import STAR_NOTE
from tasks.experiments.spec import load_experiment
from tasks.report import PAPER_STAGES
from tasks.running.places import MAIN
from tests.fakes.dashboard_project import INSTANCES, episode, instance_id
from tests.fakes.html_seen import Seen

ANYTHING = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"]), max_size=60)


def page_script(name):
    from dashboards.app import open_page

    open_page(name)


def opened(root, name):
    os.chdir(root)
    page = AppTest.from_function(page_script, default_timeout=300, args=(name,)).run()
    assert not page.exception
    return page


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    """Whatever folder a test looks into, the next one starts where this one did."""
    monkeypatch.chdir(Path.cwd())


def texts(elements):
    """Texts as they are seen: without the backslashes that keep them from being markup."""
    return [re.sub(r"\\(.)", r"\1", element.value) for element in elements]


def said(page):
    return "\n".join(texts([*page.markdown, *page.warning, *page.info]))


def cells(page, *headers):
    """The cells of all tables, or of those with these headers."""
    frames = [found.value for found in page.table]
    wanted = [frame for frame in frames if not headers or texts_of(frame.columns)[: len(headers)] == list(headers)]
    return [texts_of(row) for frame in wanted for row in frame.to_numpy().tolist()]


def texts_of(values):
    return [re.sub(r"\\(.)", r"\1", str(value)) for value in values]


@given(ANYTHING)
def test_text_of_others_is_shown_as_it_is_and_makes_no_element(text):
    seen = Seen(MarkdownIt().enable("table").render(plain(text)))
    assert "".join(seen.text.split()) == "".join(text.split())
    assert set(seen.tags) <= {"p"}
    assert set(Seen(MarkdownIt().render(coded(text))).tags) <= {"p", "code"}


def test_text_between_backticks_is_code():
    assert coded("run `dvc repro <x>` now") == "run `dvc repro <x>` now"
    assert coded("one ` alone") == plain("one ` alone")


def test_the_app_opens_with_the_report(project, monkeypatch):
    monkeypatch.chdir(project)
    page = AppTest.from_file(str(Path(__file__).parents[3] / "dashboards/app.py"), default_timeout=300).run()
    assert not page.exception
    assert texts(page.title) == ["Report"]


def test_streamlit_finds_no_pages_of_its_own_beside_the_app():
    assert not (Path(__file__).parents[3] / "dashboards/pages").exists()


def test_the_report_shows_everything_and_hostile_text_as_text(project):
    page = opened(project, "report")
    assert not page.warning
    shown = said(page)
    for caption in (
        "Training stages beside FuseSearch table 2", "Our arms in full", "Precision, recall and ranked metrics (%)",
        "Paired differences between arms", "Mined pairs by repository", STAR_NOTE,
    ):  # fmt: skip
        assert caption in shown
    assert ["mined pairs", "pairs and instances", "40"] in cells(page, "Stage", "Of", "Rows")
    assert "short_issue (1 shown)" in [re.sub(r"\\", "", fold.label) for fold in page.expander]
    assert any("<script>document.title" in cell for row in cells(page) for cell in row)
    assert not [element for element in page.markdown if element.allow_html]
    assert not page.get("html")


@pytest.mark.parametrize("name", ["report", "experiments", "trajectories"])
def test_an_empty_project_says_what_is_missing(tmp_path, name):
    notices = texts(opened(tmp_path, name).warning)
    assert any("missing" in notice for notice in notices)
    assert len(notices) == len(set(notices))


@pytest.mark.parametrize(
    ("name", "path", "text", "says"),
    [
        ("report", MAIN["evaluate.scores"], None, "dvc repro evaluate"),
        ("report", MAIN["select.examples"], None, "dvc repro select"),
        ("report", MAIN["filter.metrics"], None, "dvc repro filter"),
        *(("report", MAIN[name], '{"a": [\n', MAIN[name].name) for name in ("evaluate.scores", "mine.table", "select.examples")),
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
    page = opened(copy, name)
    assert says in said(page) + str(cells(page))
    assert page.table


def test_the_report_is_drawn_again_when_an_artifact_changes(copy):
    assert ["no effect", "3"] in cells(opened(copy, "report"), "Rule", "Rows")
    write_json(copy / MAIN["mine.table"], {"repositories": [], "dropped": {"too large": 3}, "skipped": {}})
    found = cells(opened(copy, "report"), "Rule", "Rows")
    assert ["too large", "3"] in found
    assert ["no effect", "3"] not in found


def test_two_experiments_stand_side_by_side_with_their_notes_and_figures(project):
    page = opened(project, "experiments")
    assert texts(page.header) == ["Does filtering matter?", "Does reward matter?"]
    page.sidebar.multiselect(key="chosen").unselect("reward").run()
    assert texts(page.header) == ["Does filtering matter?"]
    folds = {fold.label: said(fold) for fold in page.expander}
    assert DIFFERENCES_NOTE in folds["Differences"]
    assert POWER_NOTE in folds["Power"]
    assert [text for text in texts(page.caption) if text in [caption for caption, _ in FIGURES.values()]] == [
        FIGURES[name][0] for name in ("arms", "differences", "calls_by_turn")
    ]


def test_runs_on_other_instances_are_said_with_the_results(copy):
    path = copy / "experiments/filtering/results.json"
    write_json(path, read_json(path) | {"other_instances": ["joint seed 1"]})
    assert "Measured on other instances than the rest: joint seed 1." in said(opened(copy, "experiments"))


def test_the_table_of_experiments_has_the_seeds_that_were_measured_or_are_planned(copy):
    rows = {row[0]: row for row in cells(opened(copy, "experiments"), "Experiment", "Question")}
    assert rows["filtering"][3] == "0, 1"
    (copy / "experiments/filtering/results.json").unlink()
    rows = {row[0]: row for row in cells(opened(copy, "experiments"), "Experiment", "Question")}
    assert rows["filtering"][3] == ", ".join(map(str, load_experiment("filtering", copy / "experiments").seeds))
    assert "experiment run filtering" in rows["filtering"][4]


def test_two_localizers_on_one_instance_stand_side_by_side(project):
    page = opened(project, "trajectories")
    assert not page.warning
    assert [box.value for box in page.sidebar.selectbox[:2]] == ["sft", "sft+rl"]
    assert len(page.get("iframe")) == 2
    assert {"Figures of the episode", "What the patch modifies, and who found it"} <= {
        text.strip("*") for text in texts(page.markdown)
    }
    page.selectbox(key="instance").select(instance_id(3)).run()
    assert "Issue 3." in page.code[0].value
    page.selectbox(key="second").select("(nobody)").run()
    assert len(page.get("iframe")) == 1
    assert page.selectbox(key="instance").value == instance_id(3)
    assert set(page.selectbox(key="instance").options) == {instance_id(number) for number in range(INSTANCES)}
    page.text_input(key="holds").input("REPO-11").run()
    assert page.selectbox(key="instance").options == [instance_id(11)]
    page.text_input(key="holds").input("no such").run()
    assert "No instance of that name" in said(page)
    assert not page.exception


def test_a_damaged_table_of_truth_takes_only_the_truth_from_an_episode(copy):
    (copy / MAIN["split.validation"]).write_bytes(b"PAR1")
    page = opened(copy, "trajectories")
    assert "What the patch modifies" not in said(page)
    assert cells(page, "Figure")
    assert "validation.parquet" in said(page)


def test_an_episode_that_cannot_be_read_leaves_the_other(copy):
    first = {source.name: source for source in episodes.sources(copy)}["sft"]
    lines = [f'{{"instance_id": "{instance_id(number)}"}}\n' for number in range(INSTANCES)]
    write_text(first.path, "".join(lines))
    page = opened(copy, "trajectories")
    assert first.path.name in said(page)
    assert cells(page, "Figure", "SFT + RL")


@pytest.mark.parametrize("gain", [float("nan"), float("inf"), float("-inf")])
def test_an_invalid_gain_is_absent_and_the_rest_of_the_episode_is_shown(tmp_path, gain):
    odd = episode(1, "sft", True).model_dump()
    odd["turns"][0]["observations"][0] |= {"gain_turn": gain, "gain_call": gain}
    write_jsonl(tmp_path / MAIN["evaluate.cells"] / "sft/trajectories.jsonl", [odd])
    shown = trajectories.open_episode(episodes.sources(tmp_path)[0], instance_id(1))
    first, second = shown.page.turns[0].cards
    assert (first.gain, first.level, second.gain) == ("absent", "bad", "75%")
    assert ["e, history by turn", "–"] in cells(opened(tmp_path, "trajectories"), "Figure")  # noqa: RUF001


def test_instances_are_ordered_by_what_is_asked_for_and_those_without_a_score_come_last():
    first, second = {"a": 0.5, "b": 0.0, "c": 1.0}, {"a": 0.6, "b": 1.0, "c": 1.0}
    assert trajectories.ordered("cab", first, second, "difference") == ["b", "a", "c"]
    assert trajectories.ordered("cab", first, second, "worst") == ["b", "a", "c"]
    assert trajectories.ordered("cab", first, second, "name") == ["a", "b", "c"]
    first, second = {"a": 1.0, "b": 0.5}, {"b": 0.5, "c": 0.0}
    assert trajectories.ordered("cab", first, second, "difference") == ["b", "a", "c"]
    assert trajectories.ordered("cab", first, second, "worst") == ["b", "a", "c"]
