"""``python -m flows profile``: the params of a scale."""

import pytest
import yaml

from fusesearch.core.config import load_params, parse_params
from tests.fakes.checkout import NANO, checked_out


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    return checked_out(tmp_path, monkeypatch)


def test_use_overlays_and_nano_comes_back_as_it_was(run, checkout):
    assert run("profile", "use", "big").exit_code == 0
    params = load_params(checkout / "params.yaml")
    assert (params.profile, params.seed, params.model.base) == ("big", 7, "org/big")
    assert run("profile", "use", "big").exit_code == 0
    assert run("profile", "use", "nano").exit_code == 0
    assert (checkout / "params.yaml").read_text() == NANO


def test_the_base_model_of_a_profile_is_what_dvc_watches(run, checkout):
    (checkout / "experiments/profiles/mine.yaml").write_text("profile: mine\nmodel: {base: experiments/mine/base}\n")
    (checkout / "dvc.yaml").write_text("")

    def watched():
        stages = yaml.safe_load((checkout / "dvc.yaml").read_text())["stages"]
        bases = {name: [dep for dep in stage.get("deps", []) if dep.endswith("base")] for name, stage in stages.items()}
        return {name: found for name, found in bases.items() if found}

    readers = ("sft", "evaluate")  # GRPO starts from SFT's checkpoint
    assert run("profile", "use", "mine").exit_code == 0
    assert watched() == {stage: ["experiments/mine/base"] for stage in readers}
    overlay = checkout / "experiments/profiles/mine.yaml"
    overlay.write_text(overlay.read_text() + "grpo: {start: base}\n")
    assert run("profile", "use", "mine").exit_code == 0
    assert watched() == {stage: ["experiments/mine/base"] for stage in (*readers, "grpo")}
    assert run("profile", "use", "big").exit_code == 0
    assert watched() == {}, "a model of the hub has no folder in the checkout"
    assert run("profile", "use", "nano").exit_code == 0
    assert watched() == {stage: ["no/base"] for stage in readers}


def test_list_marks_the_current_profile_and_show_prints_all_params(run, checkout):
    (checkout / "experiments/profiles/a_long_name_of_one.yaml").write_text("{}")
    listed = run("profile", "list").stdout.splitlines()
    assert [line[:6] for line in listed if line.startswith("*")] == ["* nano"]
    assert len({line.index(" base ") for line in listed}) == 1
    shown = yaml.safe_load(run("profile", "show", "big").stdout)
    assert parse_params(shown).grpo.rollouts == "vllm"


@pytest.mark.parametrize(
    ("name", "overlay", "message"),
    [("none", None, "big"), ("bad", "grpo: {setps: 1}\n", "setps"), ("bad", "[]", "mapping"), ("bad", "a: [", "YAML")],
)
def test_a_bad_profile_changes_nothing(run, checkout, name, overlay, message):
    if overlay is not None:
        (checkout / "experiments/profiles/bad.yaml").write_text(overlay)
    result = run("profile", "use", name)
    assert result.exit_code == 1
    assert message in result.stderr
    assert (checkout / "params.yaml").read_text() == NANO


def test_without_the_nano_params_git_is_named(run, checkout):
    (checkout / "params.yaml").write_text("profile: big\n")
    result = run("profile", "use", "big")
    assert result.exit_code == 1
    assert "git checkout params.yaml" in result.stderr


def test_every_help_teaches_with_an_example(run):
    for command in ("profile list", "profile show", "profile use", "experiment run", "track"):
        result = run(*command.split(), "--help")
        assert result.exit_code == 0
        assert f"python -m flows {command}" in result.output.split("Usage:")[1].split("\n", 1)[1]


def test_a_date_of_a_profile_is_one_that_dvc_reads(run, checkout):
    (checkout / "experiments/profiles/dated.yaml").write_text("profile: dated\nmine: {since: 2024-02-29}\n")
    result = run("profile", "use", "dated")
    assert result.exit_code == 0, result.output
    assert yaml.safe_load((checkout / "params.yaml").read_text())["mine"]["since"] == "2024-02-29"
    assert str(load_params(checkout / "params.yaml").mine.since) == "2024-02-29"
