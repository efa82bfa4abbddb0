"""The app's pages, run by Streamlit without a browser: what is chosen is what is shown."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from fusesearch.core.storage import write_json
from tests.fakes.dashboard_project import INSTANCES, instance_id


def page_script(name):
    from dashboards.app import open_page

    open_page(name)


@pytest.fixture
def at(project, monkeypatch):
    """Opens a page over the project."""
    monkeypatch.chdir(project)
    return opened


def opened(name):
    page = AppTest.from_function(page_script, default_timeout=300, args=(name,)).run()
    assert not page.exception
    return page


def text_of(page):
    return "\n".join(element.value if hasattr(element, "value") else element.body for element in page.html)


def headings(page):
    return [element.value for element in page.header]


def test_the_app_opens_with_the_report(project, monkeypatch):
    monkeypatch.chdir(project)
    page = AppTest.from_file(str(Path(__file__).parents[3] / "dashboards/app.py"), default_timeout=300).run()
    assert not page.exception
    assert [element.value for element in page.title] == ["Report"]
    assert list(page.markdown) == []  # no string of the script itself
    assert "Qwen3-4B, paper" in text_of(page)


def test_streamlit_finds_no_pages_of_its_own_beside_the_app():
    assert not (Path(__file__).parents[3] / "dashboards/pages").exists()


def test_two_localizers_on_one_instance_stand_side_by_side(at):
    page = at("trajectories")
    assert [box.value for box in page.sidebar.selectbox[:2]] == ["sft", "sft+rl"]
    assert len(page.get("iframe")) == 2
    page.selectbox(key="instance").select(instance_id(3)).run()
    assert "Issue 3." in text_of(page)
    page.selectbox(key="second").select("(nobody)").run()
    assert len(page.get("iframe")) == 1
    assert page.selectbox(key="instance").value == instance_id(3)
    assert set(page.selectbox(key="instance").options) == {instance_id(number) for number in range(INSTANCES)}
    page.text_input(key="holds").input("REPO-11").run()
    assert page.selectbox(key="instance").options == [instance_id(11)]
    page.text_input(key="holds").input("no such").run()
    assert "No instance of that name" in text_of(page)
    assert not page.exception


def test_two_experiments_stand_side_by_side_with_verdicts(at):
    page = at("experiments")
    assert headings(page) == ["Does filtering matter\\?", "Does reward matter\\?"]
    assert text_of(page).count("Came out: ") == 2
    page.sidebar.multiselect(key="chosen").unselect("reward").run()
    assert headings(page) == ["Does filtering matter\\?"]
    assert not page.exception


def test_runs_of_experiments_can_be_laid_over_the_main_curves(at):
    page = at("training")
    label = "grpo-0123abcd: filtering, with, seed 1 and 1 more"
    assert label not in text_of(page)
    assert page.multiselect(key="nodes").options == [label]
    page.multiselect(key="nodes").select("grpo-0123abcd").run()
    assert label in text_of(page)
    assert not page.exception


def test_a_search_tree_is_shown_beneath_the_curves(copy, monkeypatch):
    monkeypatch.chdir(copy)
    turn = {"parent": None, "visits": 2, "value": 1.0, "reward": None, "stop": None, "trained": True, "critiqued": False}
    turn |= {"calls": [], "gains": [], "text": ""}
    end = turn | {"parent": 0, "text": "## Answer - <b>7</b>", "reward": 0.5, "stop": "answer", "critiqued": True}
    file = copy / "artifacts/grpo/checkpoint/trees/0001-q.json"
    write_json(file, {"issue": "Which default?", "nodes": [turn, end]})
    write_json(file.with_name("0002-q.json"), {"nodes": []})
    page = opened("training")
    assert "Which default?" not in text_of(page)
    page.sidebar.selectbox(key="tree").select("sft+rl 0001-q").run()
    assert not page.exception
    assert "Which default?" in text_of(page)
    assert "Answer - &lt;b&gt;7&lt;/b&gt; (after a critique)" in text_of(page)
    page.sidebar.selectbox(key="tree").select("sft+rl 0002-q").run()
    assert "not a search tree" in text_of(page)


def test_the_report_shows_hostile_text_escaped(at):
    shown = text_of(at("report"))
    assert "Missing:" not in shown
    assert "&lt;script&gt;document.title = " in shown
    assert "<script" not in shown
    assert "<img" not in shown
