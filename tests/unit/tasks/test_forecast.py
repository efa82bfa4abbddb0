"""What a reproduction says before it begins."""

from fusesearch.core.config import Params
from tasks.running.forecast import due, forecast
from tasks.running.record import RunRecord
from tasks.stages import STAGES


def test_what_changed_and_all_that_builds_on_it_is_due():
    assert due(set(STAGES), Params()) == []
    assert due(set(STAGES) - {"sft"}, Params()) == ["sft", "grpo", "evaluate", "report"]
    assert due(set(), Params()) == list(STAGES)


def test_it_tells_how_long_the_last_runs_took_where_that_is_known():
    said = forecast(["sft", "grpo"], {"sft": RunRecord(stage="sft", seconds=150)})
    assert said.startswith("To run: sft (2 min), grpo.\nTheir last runs took 2 min together. ")
    assert "last runs" not in forecast(["sft"], {})
    assert forecast([], {}) == "Nothing to run: every stage is up to date."
