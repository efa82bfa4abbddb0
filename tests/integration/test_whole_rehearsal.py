"""A whole rehearsal, from mining to the report."""

from pathlib import Path

import pytest

from fusesearch.cli.profiles import load_profile
from tasks.rehearsal import rehearse
from tasks.stages import STAGES

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.rare, pytest.mark.timeout(1800)]


def test_every_step_of_the_small_profile_runs_in_a_folder_of_its_own(tmp_path):
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    steps = list(rehearse(load_profile("small", ROOT), None, tmp_path))
    assert [(step.name, step.error) for step in steps] == [(name, "") for name in ("model", *STAGES)]
    assert {path.name for path in tmp_path.iterdir()} == {"experiments", ".fusesearch"}
    report = tmp_path / ".fusesearch/rehearsals/small/artifacts/report/report.md"
    assert report.is_file()
