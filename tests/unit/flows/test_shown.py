"""The funnel: what was left after each stage that has run."""

import pytest

from flows.shown import funnel
from tasks.core.layout import metrics_path
from tasks.core.places import MAIN
from tasks.core.storage import write_json


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_has_a_row_for_every_stage_that_has_run_in_order_and_zero_is_a_count(project):
    write_json(metrics_path("mine"), {"pairs": 20, "repositories": 4})
    write_json(metrics_path("filter"), {"instances": 12})
    rows = funnel(MAIN, {"selected": 0})
    assert [(row["stage"], row["left"]) for row in rows] == [("mine", 20), ("filter", 12), ("select", 0)]
