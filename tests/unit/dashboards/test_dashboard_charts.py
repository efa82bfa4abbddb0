"""What tells the lines of a chart from one another."""

import pytest

from tasks.reporting.charts import DASHES, SHAPES, scales
from tasks.reporting.table import ARMS

MANY = [f"arm{number}" for number in range(20)]


@pytest.mark.parametrize("names", [MANY, [*MANY, *ARMS], [*ARMS, *MANY], ["sft", *MANY, "base"]])
def test_no_two_of_many_lines_have_the_same_colour_and_dash_or_shape(names):
    colour, shape, dash = (scale.to_dict()["range"] for scale in scales(names, {}))
    assert len({(one, str(other)) for one, other in zip(colour, dash, strict=True)}) == len(names)
    assert len(set(zip(colour, shape, strict=True))) == len(names)


def test_known_arms_look_the_same_on_every_page():
    _, alone, own = (scale.to_dict()["range"] for scale in scales(list(ARMS), {}))
    _, shape, dash = (scale.to_dict()["range"] for scale in scales([*MANY, *ARMS], {}))
    assert own == dash[-len(ARMS) :] == list(DASHES[: len(ARMS)])
    assert alone == shape[-len(ARMS) :] == list(SHAPES[: len(ARMS)])
