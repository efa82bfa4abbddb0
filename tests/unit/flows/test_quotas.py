"""Which runs wait for each other."""

import pytest

from flows.quotas import GITHUB, GPU, QUOTAS, TEACHER, has_gpu, quotas_of
from tasks.core.config import parse_params
from tasks.pipeline.stages import STAGES


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
    assert quotas_of(STAGES[stage], parse_params(section)) == expected


def test_every_slot_is_of_a_limit_that_is_registered():
    params = parse_params({"mine": {"source": "github"}, "teacher": {"localizer": "model"}})
    assert {name for stage in STAGES.values() for name in quotas_of(stage, params)} <= QUOTAS.keys()
