"""The app's pages, run by Streamlit without a browser: what is chosen is what is shown."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

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


def test_the_report_shows_hostile_text_escaped(at):
    shown = text_of(at("report"))
    assert "Missing:" not in shown
    assert "&lt;script&gt;document.title = " in shown
    assert "<script" not in shown
    assert "<img" not in shown
