"""What unit tests leave to the integration tests: charts are drawn there."""

import pytest


@pytest.fixture(scope="module")
def undrawn():
    """Charts are made, and an empty picture stands for what would be drawn of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fusesearch.reporting.charts.svg", lambda chart, form="": "<svg></svg>")
        yield
