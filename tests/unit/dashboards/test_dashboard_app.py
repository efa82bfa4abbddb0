"""The app's pages, run by Streamlit without a browser."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboards.tabs import TABS
from tasks.core.storage import write_text
from tasks.pipeline.places import MAIN, experiment_files
from tasks.pipeline.work.report import PAPER_STAGES
from tests.fakes.dashboard_project import INSTANCES, PAPER, instance_id

APP = Path(__file__).parents[3] / "dashboards/app.py"
NAMES = [name for name, _ in TABS]
ARTIFACTS = [
    ("results", MAIN["report.table"], "report"),
    ("results", MAIN["evaluate.scores"], "evaluate"),
    ("funnel", MAIN["select.examples"], "select"),
    ("funnel", MAIN["split.metrics"], "split"),
    ("training", MAIN["grpo.curve"], "grpo"),
    ("plane", MAIN["select.plane"], "select"),
]


@pytest.fixture
def at(project, monkeypatch):
    """Opens a page over the project."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return opened


def opened(name):
    page = AppTest.from_file(str(APP), default_timeout=300)
    page.run()
    if name != "results":
        page.switch_page(f"screens/{name}.py").run()
    assert not page.exception
    return page


def text_of(page):
    return "\n".join(element.value if hasattr(element, "value") else element.body for element in page.html)


@pytest.mark.parametrize(
    ("name", "title", "said"),
    [
        ("results", "Results", "Training stages beside FuseSearch table 2"),
        ("experiments", "Experiments", "All experiments"),
        ("training", "Training curves", "Thin lines are what was logged"),
        ("funnel", "Funnel", "Nothing was dropped by"),
        ("plane", "F1 and e of candidate trajectories", "Candidates that stay, by both thresholds"),
        ("trajectories", "Trajectories", "What the patch modifies, and who found it"),
    ],
)
def test_a_page_shows_what_it_is_for_and_misses_nothing(at, name, title, said):
    page = at(name)
    assert [element.value for element in page.title] == [title]
    assert said in text_of(page)
    assert "Missing:" not in text_of(page)


def test_results_stand_beside_the_papers_rows_with_intervals(at):
    shown = text_of(at("results"))
    assert "Qwen3-4B, paper" in shown
    assert "78.86" in shown
    assert 'class="range">[' in shown


def test_another_figure_can_be_drawn(at):
    page = at("results")
    page.sidebar.selectbox[0].select("turns").run()
    assert "Turns" in [element.value for element in page.header]
    assert "Differences are measured for" in text_of(page)


def test_moved_thresholds_move_the_count_that_stays(at):
    page = at("plane")
    counts = []
    for f1, e in ((0.0, 0.0), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0)):
        page.slider[0].set_value(f1)
        page.slider[1].set_value(e).run()
        counts.append(int(text_of(page).split("Candidates that stay</dt><dd>")[1].split("<")[0]))
    assert counts[0] == 12
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[-1]


def test_two_localizers_on_one_instance_stand_side_by_side(at):
    page = at("trajectories")
    assert [box.value for box in page.sidebar.selectbox[:2]] == ["sft", "sft+rl"]
    frames = page.get("iframe")
    assert len(frames) == 2
    page.selectbox(key="instance").select(instance_id(3)).run()
    assert "Issue 3." in text_of(page)
    page.selectbox(key="second").select("(nobody)").run()
    assert len(page.get("iframe")) == 1
    assert not page.exception


def test_the_list_of_instances_says_their_ids_alone_whoever_is_chosen(at):
    page = at("trajectories")
    ids = {instance_id(number) for number in range(INSTANCES)}
    page.selectbox(key="instance").select(instance_id(3)).run()
    assert set(page.selectbox(key="instance").options) == ids
    page.selectbox(key="second").select("base").run()
    assert set(page.selectbox(key="instance").options) == ids
    assert page.selectbox(key="instance").value == instance_id(3)


def test_instances_can_be_looked_for(at):
    page = at("trajectories")
    page.text_input(key="holds").input("REPO-11").run()
    assert page.selectbox(key="instance").options == [instance_id(11)]
    page.text_input(key="holds").input("no such").run()
    assert "No instance of that name" in text_of(page)


@pytest.mark.parametrize("name", ["funnel", "trajectories"])
def test_hostile_text_is_shown_escaped(at, name):
    shown = text_of(at(name))
    assert "&lt;script&gt;document.title = " in shown
    assert "<script" not in shown
    assert "<img" not in shown


def test_two_experiments_stand_side_by_side_with_verdicts(at):
    page = at("experiments")
    shown = text_of(page)
    assert [element.value for element in page.header] == ["Does filtering matter\\?", "Does reward matter\\?"]
    assert shown.count("<caption>Claims</caption>") == 2
    page.sidebar.multiselect[0].unselect("reward").run()
    assert [element.value for element in page.header] == ["Does filtering matter\\?"]


def test_runs_of_experiments_can_be_laid_over_the_main_curves(at):
    page = at("training")
    before = str(page.dataframe[0].value)
    page.multiselect(key="nodes").select("grpo-0123abcd").run()
    assert "grpo-0123abcd" not in before
    assert page.multiselect(key="nodes").options == ["grpo-0123abcd: filtering, with, seed 1 and 1 more"]
    assert "grpo-0123abcd" in str(page.dataframe[0].value)


def test_without_a_store_the_page_says_so_and_makes_none(at):
    page = at("training")
    page.toggle(key="mlflow").set_value(True).run()
    assert "mlflow.db is missing" in text_of(page)
    assert not Path("mlflow.db").exists()
    assert not page.exception


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_project_says_what_to_run(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    shown = text_of(opened(name))
    assert "Missing:" in shown
    assert "missing" in shown.split("Missing:")[1]


@pytest.mark.parametrize(
    ("name", "path", "text", "says"),
    [
        *((name, path, None, f"dvc repro {stage}") for name, path, stage in ARTIFACTS),
        *((name, path, '{"a": [\n', path.name) for name, path, _ in ARTIFACTS),
        ("results", PAPER_STAGES, "model,stage\nQwen3-4B,sft\n", "fusesearch_table2_stages.csv lacks efficiency, file_f1"),
        ("results", PAPER_STAGES, PAPER.replace("4.96", "n/a"), "fusesearch_table2_stages.csv cannot be used"),
        ("results", PAPER_STAGES, PAPER.replace(",54.8", ""), "fusesearch_table2_stages.csv cannot be used"),
        (
            "funnel",
            MAIN["select.drops"],
            '{"low_f1": NaN, "no_answer": Infinity}',
            "select reports no count for low_f1, no_answer",
        ),
        ("funnel", MAIN["filter.metrics"], '{"instances": Infinity}', "filter reports no instances"),
    ],
)
def test_one_missing_or_damaged_artifact_is_named_and_hides_nothing_else(project, tmp_path, monkeypatch, name, path, text, says):
    root = tmp_path / "copy"
    shutil.copytree(project, root)
    monkeypatch.chdir(root)
    if text is None:
        (root / path).unlink()
    else:
        write_text(root / path, text)
    assert says in text_of(opened(name))


def test_one_damaged_curve_leaves_the_others(project, tmp_path, monkeypatch):
    root = tmp_path / "copy"
    shutil.copytree(project, root)
    monkeypatch.chdir(root)
    write_text(root / MAIN["sft.curve"], "no step")
    page = opened("training")
    assert "artifacts/sft/curve.csv holds no step" in text_of(page)
    assert [element.value for element in page.header] == ["GRPO"]


def test_a_damaged_file_of_episodes_leaves_the_other_localizer(project, tmp_path, monkeypatch):
    root = tmp_path / "copy"
    shutil.copytree(project, root)
    monkeypatch.chdir(root)
    write_text(root / MAIN["evaluate.trajectories"] / "sft.jsonl", "{\n")
    page = opened("trajectories")
    assert "sft.jsonl" in text_of(page)
    assert len(page.get("iframe")) == 1


def test_damaged_curves_of_an_experiment_hide_nothing_else(project, tmp_path, monkeypatch):
    root = tmp_path / "copy"
    shutil.copytree(project, root)
    monkeypatch.chdir(root)
    (root / experiment_files("filtering") / "curves.csv").write_bytes(b"\xff\xfe")
    shown = text_of(opened("experiments"))
    assert "curves.csv cannot be read" in shown
    assert "Made by" in shown
