"""The parts of a rehearsal: a small model of the same kind, settings that stay, conversations replayed and lengthened."""

from pathlib import Path

import pytest

from fusesearch.cli.profiles import load_profile, names
from fusesearch.core.config import read_mapping
from fusesearch.core.errors import DataError
from fusesearch.core.overrides import flat_params
from tasks import rehearsal
from tasks.rehearsal import CUTS, cut_down, rehearse

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", names(ROOT))
def test_lengths_and_settings_are_the_profiles_own(name):
    params = load_profile(name, ROOT)
    before, now = flat_params(params), flat_params(cut_down(params, ROOT))
    changed = {key for key in now if before.get(key) != now[key]}
    allowed = {*read_mapping(ROOT / CUTS), "model.base"}
    assert changed <= allowed | {"grpo.rollouts", "grpo.micro_batch", "evaluate.rollouts", "compute.options"}
    kept = ["sft.max_length", "agent.max_context_tokens", "agent.max_new_tokens", "grpo.group", "sft.micro_batch"]
    assert changed.isdisjoint(kept)


def test_a_stage_that_fails_is_named_with_its_reason_and_ends_the_rehearsal(tmp_path, monkeypatch):
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    monkeypatch.setattr(rehearsal, "make_model", lambda *_: None)
    monkeypatch.setattr(rehearsal, "_run", lambda stage, folder: "no memory" if stage == "filter" else "")
    steps = list(rehearse(load_profile("small", ROOT), None, tmp_path))
    assert [(step.name, step.error) for step in steps] == [("model", ""), ("mine", ""), ("filter", "no memory")]


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        next(rehearse(load_profile("small", ROOT), tmp_path, tmp_path))
    assert not (tmp_path / "data").exists()
