"""Every chart of the pages drawn once: well-formed, with a legend and colours that can be told apart, and loading nothing."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from fusesearch.reporting.charts import COLOURS, profile, svg
from fusesearch.reporting.experiment.figures import FIGURES, draw
from tasks.experiments.results import measured
from tasks.report import make_report
from tasks.running.places import MAIN, Places
from tests.fakes.dashboard_project import Params, write_project
from tests.fakes.experiment_runs import experiment, reference, runs

GREYS = {"#dddddd", "#ddd", "#888", "#555555", "#1b1d21", "#ffffff", "white", "#000"}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The pictures of a report and of an experiment by name."""
    root = write_project(tmp_path_factory.mktemp("report"))
    make_report(Params(), Places(root=root))
    found = {path.stem: path.read_text() for path in (root / MAIN["report.plots"]).glob("*.svg")}
    assert set(found) == set(FIGURES)
    root = reference(tmp_path_factory.mktemp("experiment"))
    results = measured(experiment(), runs(root, {"none": 0.2, "joint": 0.8}), root)
    more = {figure.name: figure.svg for figure in draw(FIGURES, results)}
    assert set(more) == set(FIGURES)
    return found | {f"experiment {name}": text for name, text in more.items()}


def strange_colours(picture):
    """Colours of lines and areas that are neither Okabe and Ito's, nor grey, nor of a scale that a legend shows as a band."""
    found = set(re.findall(r'(?:stroke|fill)="([^"]+)"', picture)) - {*COLOURS, *GREYS, "none"}
    band = "linearGradient" in picture
    return {colour for colour in found if not (band and colour.startswith(("rgb(", "url(#gradient_")))}


def test_every_chart_has_a_legend_and_colours_that_can_be_told_apart(drawn):
    for name, picture in drawn.items():
        assert ElementTree.fromstring(picture).tag.endswith("svg"), name
        assert "role-legend" in picture, name
        assert strange_colours(picture) == set(), name
    assert strange_colours('<path stroke="#ff0000" fill="#0072B2"/>') == {"#ff0000"}


def test_names_are_text_in_a_picture_that_loads_nothing():
    rows = [{"name": name, "turn": 1, "calls": 2.0, "episodes": 9} for name in ("a <b>", "zero")]
    picture = svg(profile(rows, ["a <b>", "zero"], {}))
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert all(text in picture for text in ("a &lt;b&gt;", "zero"))
    assert 'href="http' not in picture.replace('href="http://www.w3.org', "")
