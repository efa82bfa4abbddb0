"""`doctor` and `profile`: what is here, what is missing, and the params of a scale."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tasks.cli import checks, profile
from tasks.cli.checks import NEEDS, profile_checks
from tasks.core.config import load_params, parse_params

ROOT = Path(__file__).parents[3]
NANO = "# nano, with a comment\nprofile: nano\nseed: 7\nmodel: {base: no/base}\n"
BIG = "profile: big\nmodel: {base: org/big, dtype: bfloat16}\ngrpo: {rollouts: vllm}\nteacher: {localizer: model}\n"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text(NANO)
    (tmp_path / "experiments/profiles").mkdir(parents=True)
    (tmp_path / "experiments/profiles/big.yaml").write_text(BIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def test_the_core_of_this_environment_works(run, checkout):
    result = run("doctor")
    assert result.exit_code == 0, result.output
    assert "ok       ripgrep" in result.stdout
    missing = result.stdout.index("missing  base checkpoint")
    assert "make base" in result.stdout[missing:].splitlines()[1]


def test_json_lists_every_check(run, checkout):
    report = json.loads(run("doctor", "--format", "json").stdout)
    names = {check["name"] for check in report["checks"]}
    assert report["ok"] is True
    assert names >= {
        "python", "ripgrep", "git", "[models]", "[train]", "[evaluate]", "[pipeline]", "[mining]", "[dashboard]", "[gpu]",
        "gpu", "prefect server", "mlflow store", "base checkpoint", "disk", "cores",
    }  # fmt: skip


def test_without_git_the_core_does_not_work(run, checkout, monkeypatch):
    found = shutil.which
    monkeypatch.setattr(checks.shutil, "which", lambda name: None if name == "git" else found(name))
    result = run("doctor")
    assert result.exit_code == 1
    assert "Missing: git." in result.stdout


def test_a_version_other_than_the_locked_one_is_named(tmp_path):
    text = 'typer==0.0.1\nnot-installed==1.0\npydantic==0.0.2 ; python_version < "3"\n# note\n'
    (tmp_path / "requirements.lock").write_text(text)
    (check,) = checks.lock(tmp_path)
    assert not check.ok
    assert "typer" in check.detail
    assert "pydantic" not in check.detail
    assert "not-installed" not in check.detail


def test_servers_that_do_not_answer_are_missing(monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert not checks.prefect_server().ok
    assert not checks.mlflow_store().ok


def test_malformed_params_are_a_line_of_the_report(run, checkout):
    (checkout / "params.yaml").write_text("sead: 1\n")
    result = run("doctor")
    assert result.exit_code == 0
    assert "sead" in result.stdout


def test_a_profile_tells_what_is_missing_here(run, checkout):
    result = run("doctor", "--profile", "big")
    assert result.exit_code == 1
    assert "org/big is not on this machine" in result.stdout
    assert "OPENAI_API_KEY" in result.stdout


def test_a_profile_with_rollouts_by_vllm_needs_it_or_servers_elsewhere(checkout):
    def vllm(params):
        return [check.ok for check in profile_checks(parse_params(params), checkout) if check.name == "vllm"]

    wanted = {"grpo": {"rollouts": "vllm"}}
    assert vllm({}) == []
    assert vllm(wanted) == [False]
    assert vllm(wanted | {"compute": {"servers": ["http://10.0.0.2:8000"]}}) == []
    (checkout / ".venv-vllm/bin").mkdir(parents=True)
    (checkout / ".venv-vllm/bin/python").touch()
    assert vllm(wanted) == [True]


def test_a_profile_that_can_run_here_is_exit_code_0(run, checkout):
    (checkout / "no/base").mkdir(parents=True)
    (checkout / "no/base/config.json").write_text("{}")
    assert run("doctor", "--profile", "nano").exit_code == 0


@pytest.mark.parametrize("name", profile.names(ROOT))
def test_every_committed_profile_loads_and_says_what_it_needs(name):
    params = profile.load_profile(name, ROOT)
    assert params.profile == name
    assert name in NEEDS
    assert {"gpu", "disk", "base checkpoint"} <= {check.name for check in profile_checks(params, ROOT)}


def test_the_paper_profile_wants_the_papers_gpus(checkout):
    wanted = {check.name: check.detail for check in profile_checks(parse_params({"profile": "paper-4b"}), checkout)}
    assert "32 x 96 GB" in wanted["gpu"]


def test_a_cached_checkpoint_of_the_hub_is_found(checkout):
    folder = checkout / "hf/hub/models--org--big/snapshots/abc"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert checks.has_checkpoint(checkout, "org/big")
    assert not checks.has_checkpoint(checkout, "org/bigger")


def test_use_overlays_and_nano_comes_back_as_it_was(run, checkout):
    assert run("profile", "use", "big").exit_code == 0
    params = load_params(checkout / "params.yaml")
    assert (params.profile, params.seed, params.model.base) == ("big", 7, "org/big")
    assert run("profile", "use", "big").exit_code == 0
    assert run("profile", "use", "nano").exit_code == 0
    assert (checkout / "params.yaml").read_text() == NANO


def test_list_marks_the_current_profile_and_show_prints_all_params(run, checkout):
    assert run("profile", "list").stdout.splitlines()[0].startswith("* nano")
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
