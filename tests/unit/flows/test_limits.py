"""Which runs wait for each other."""

import re
from pathlib import Path

import pytest

from flows.limits import GITHUB, GPU, TEACHER, has_gpu, limits_of
from fusesearch.core.config import parse_params
from tasks.stages import STAGES


@pytest.mark.parametrize(
    ("stage", "section", "expected"),
    [
        ("mine", {"mine": {"source": "github"}}, [GITHUB]),
        ("mine", {"mine": {"source": "git"}}, []),
        ("synthesize", {"teacher": {"localizer": "model"}}, [TEACHER]),
        ("synthesize", {}, []),
        ("sft", {}, [GPU] if has_gpu() else []),
        ("report", {"mine": {"source": "github"}}, []),
    ],
)
def test_a_run_takes_a_slot_of_what_it_shares_with_others(stage, section, expected):
    assert limits_of(STAGES[stage], parse_params(section)) == expected


def test_make_serve_makes_every_limit():
    makefile = (Path(__file__).parents[3] / "Makefile").read_text()
    (names,) = re.findall(r"for name in (.+); do .+ gcl create \$\$name", makefile)
    assert set(names.split()) == {GITHUB, TEACHER, GPU}
