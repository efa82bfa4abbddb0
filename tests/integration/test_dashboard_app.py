"""The app's pages, run by Streamlit without a browser: what is chosen is what is shown, and text of others stays text."""

import base64
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

from dashboards.draw import coded, plain
from dashboards.tabs.trajectories import sources
from fusesearch.core.storage import read_text, write_text
from fusesearch.reporting.experiment.figures import FIGURES
from tasks.running.places import MAIN
from tests.fakes.dashboard_project import ARMS, INSTANCES, NODES, instance_id, write_project
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
def _as_before(monkeypatch):
    """Streamlit's tests put their script in the place of ``__main__``, where processes that later tests spawn look for it."""
    monkeypatch.chdir(Path.cwd())
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write_project(tmp_path_factory.mktemp("dashboard"))


@pytest.fixture
def copy(project, tmp_path):
    """The project, to be damaged."""
    return shutil.copytree(project, tmp_path / "copy")


def texts(elements):
    """Texts as they are seen: without the backslashes that keep them from being markup."""
    return [re.sub(r"\\(.)", r"\1", element.value) for element in elements]


def said(page):
    return "\n".join(texts([*page.markdown, *page.warning, *page.info]))


def cells(page):
    return [
        [re.sub(r"\\(.)", r"\1", str(cell)) for cell in row] for found in page.table for row in found.value.to_numpy().tolist()
    ]


def frames(page):
    return [base64.b64decode(frame.proto.src.partition(",")[2]).decode() for frame in page.get("iframe")]


@given(ANYTHING)
def test_text_of_others_is_shown_as_it_is_and_makes_no_element(text):
    seen = Seen(MarkdownIt().enable("table").render(plain(text)))
    assert "".join(seen.text.split()) == "".join(text.split())
    assert set(seen.tags) <= {"p"}
    assert set(Seen(MarkdownIt().render(coded(text))).tags) <= {"p", "code"}
    assert coded("run `dvc repro <x>` now") == "run `dvc repro <x>` now"
    assert coded("one ` alone") == plain("one ` alone")


def test_the_app_opens_with_the_report_and_hostile_text_as_text(project, monkeypatch):
    monkeypatch.chdir(project)
    page = AppTest.from_file(str(Path(__file__).parents[2] / "dashboards/app.py"), default_timeout=300).run()
    assert not page.exception
    assert texts(page.title) == ["Report"]
    assert not page.warning
    assert frames(page) == [read_text(project / MAIN["report.html"])]
    assert ["mined pairs", "pairs and instances", "40"] in cells(page)
    assert not [element for element in page.markdown if element.allow_html]
    assert not page.get("html")


def test_streamlit_finds_no_pages_of_its_own_beside_the_app():
    assert not (Path(__file__).parents[2] / "dashboards/pages").exists()


def test_an_empty_project_says_what_is_missing(tmp_path):
    for name in ("report", "experiments", "trajectories"):
        notices = texts(opened(tmp_path, name).warning)
        assert any("missing" in notice for notice in notices), name
        assert len(notices) == len(set(notices)), name


def test_a_damaged_artifact_is_named_and_the_rest_of_the_page_is_shown(copy):
    write_text(copy / MAIN["select.metrics"], '{"a": [\n')
    write_text(copy / "experiments/reward/results.json", "{}")
    report, experiments = (opened(copy, name) for name in ("report", "experiments"))
    assert str(MAIN["select.metrics"]) in said(report)
    assert report.table
    assert frames(report)
    rows = {row[0]: row for row in cells(experiments)}
    assert "results.json" in rows["reward"][4]
    assert rows["filtering"][3] == "0, 1"
    assert len(frames(experiments)) == 1


def test_an_experiment_has_its_page_with_its_figures(project):
    page = opened(project, "experiments")
    (first,) = frames(page)
    assert "<h1>Does filtering matter?</h1>" in first
    for name in ("arms", "calls_by_turn"):
        assert FIGURES[name][0] in first
    page.sidebar.selectbox(key="chosen").select("reward").run()
    (second,) = frames(page)
    assert "<h1>Does reward matter?</h1>" in second


def test_two_localizers_on_one_instance_stand_side_by_side(project):
    page = opened(project, "trajectories")
    assert not page.warning
    assert [box.value for box in page.sidebar.selectbox[:2]] == ["sft", "sft+rl"]
    assert len(frames(page)) == 2
    assert set(page.selectbox(key="instance").options) == {instance_id(number) for number in range(INSTANCES)}
    page.selectbox(key="instance").select(instance_id(3)).run()
    assert all("Issue 3." in html and "<script>" not in html for html in frames(page))
    page.selectbox(key="second").select("(nobody)").run()
    assert len(frames(page)) == 1
    assert page.selectbox(key="instance").value == instance_id(3)
    assert not page.exception


def test_an_episode_that_cannot_be_read_leaves_the_other_and_so_does_the_truth(copy):
    first = {source.name: source for source in sources(copy)}["sft"]
    write_text(first.path, "".join(f'{{"instance_id": "{instance_id(number)}"}}\n' for number in range(INSTANCES)))
    (copy / MAIN["split.validation"]).write_bytes(b"PAR1")
    page = opened(copy, "trajectories")
    assert first.path.name in said(page)
    assert "validation.parquet" in said(page)
    (html,) = frames(page)
    assert "Turn 1" in html
    assert "what the patch modifies" not in html


def test_sources_are_arms_in_order_then_runs_of_experiments_then_candidates(project):
    found = sources(project)
    assert [source.name for source in found] == [*ARMS, f"{NODES['evaluate']}/sft", "candidates"]
    assert found[-2].label == "evaluate-0123abcd: reward, with, seed 1"
