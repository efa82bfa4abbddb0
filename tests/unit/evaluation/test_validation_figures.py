"""The columns of a validation: means, standard errors, and differences to step 0 that are paired over the prompts."""

import pytest

from fusesearch.core.schema import Score
from fusesearch.evaluation.validation import validation_figures


def scores(*f1, **figures):
    return [
        Score(instance_id=f"i{n}", f1=value, **figures)
        if value is not None
        else Score(instance_id=f"i{n}", error="the server is gone")
        for n, value in enumerate(f1)
    ]


@pytest.mark.parametrize(
    ("first", "now", "expected"),
    [
        ((0.0, 1.0), (1.0, 1.0), {"f1": 1.0, "f1_error": 0.0, "f1_gain": 0.5, "f1_gain_low": -5.8531, "f1_gain_high": 6.8531}),
        ((0.2, 0.6), (0.3, 0.7), {"f1": 0.5, "f1_error": 0.2, "f1_gain": 0.1, "f1_gain_low": 0.1, "f1_gain_high": 0.1}),
        ((0.5, 0.5), (0.5, None), {"f1": 0.5, "f1_gain": 0.0, "errored": 1.0}),
        ((None, 0.5), (0.9, 0.7), {"f1": 0.8, "f1_error": 0.1, "f1_gain": 0.2, "errored": 0.0}),
        ((0.5,), (None,), {"errored": 1.0}),
    ],
)
def test_figures_of_a_step_and_their_paired_differences_to_the_first(first, now, expected):
    found = validation_figures(scores(*first), scores(*now))
    f1 = {key.removeprefix("validation/"): value for key, value in found.items() if "f1" in key or "errored" in key}
    assert f1 == pytest.approx({"errored": 0.0} | expected, abs=1e-4)


def test_an_answer_names_a_location_or_a_value():
    rows = [
        Score(instance_id="a", predicted_files=["a.py"]),
        Score(instance_id="b", predicted_values=["2"]),
        Score(instance_id="c"),
        Score(instance_id="d", error="the server is gone"),
    ]
    assert validation_figures(rows, rows)["validation/answered"] == pytest.approx(2 / 3)
