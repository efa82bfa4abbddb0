"""`doctor` and `profile`: what is here, what is missing, and the params of a scale."""

import json
import os
import shutil
import socket
import tomllib
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

from fusesearch.cli import checks, needs, processor_needs
from fusesearch.cli.needs import Machine, profile_checks
from fusesearch.cli.profiles import load_profile, names
from fusesearch.core.config import parse_params
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.overrides import override
from tests.fakes.checkout import checked_out
from tests.fakes.endpoint import Endpoint, scripted

ROOT = Path(__file__).parents[3]
NOTHING = Machine(0, 0.0, "")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(1e12))
    monkeypatch.setattr(needs, "cores", lambda: 2)
    return checked_out(tmp_path, monkeypatch)


def test_the_core_of_this_environment_works(run, checkout):
    result = run("doctor")
    assert result.exit_code == 0, result.output
    assert "ok       ripgrep" in result.stdout


def test_a_python_that_pip_takes_is_one_that_doctor_takes(monkeypatch):
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = SpecifierSet(package["requires-python"])
    for minor in range(9, 20):
        monkeypatch.setattr(checks, "sys", SimpleNamespace(version_info=(3, minor, 1)))
        assert checks.python().ok == supported.contains(f"3.{minor}.1")
        assert checks.python().ok == (f"Programming Language :: Python :: 3.{minor}" in package["classifiers"])


def test_json_lists_every_check(run, checkout):
    report = json.loads(run("doctor", "--format", "json").stdout)
    names = {check["name"] for check in report["checks"]}
    assert report["ok"] is True
    assert names >= {
        "python", "ripgrep", "git", "[models]", "[train]", "[evaluate]", "[pipeline]", "[mining]", "[dashboard]", "[gpu]",
        "gpu", "disk", "cores",
    }  # fmt: skip


def test_without_git_the_core_does_not_work(run, checkout, monkeypatch):
    found = shutil.which
    monkeypatch.setattr(checks.shutil, "which", lambda name: None if name == "git" else found(name))
    result = run("doctor")
    assert result.exit_code == 1
    assert "Missing: git." in result.stdout


def test_a_ripgrep_that_searches_do_not_use_does_not_count(run, checkout, monkeypatch):
    def missing():
        raise InfrastructureError("ripgrep is missing")

    (checkout / "bin").mkdir()
    (checkout / "bin/rg").symlink_to(checks.binary())
    monkeypatch.setenv("PATH", str(checkout / "bin"), prepend=os.pathsep)
    monkeypatch.setattr(checks, "binary", missing)
    result = run("doctor")
    assert result.exit_code == 1
    assert "Missing: ripgrep." in result.stdout


def test_a_profile_tells_what_is_missing_here(run, checkout):
    result = run("doctor", "--profile", "big")
    assert result.exit_code == 1
    assert "the weights of org/big are not on this machine" in result.stdout
    assert "org/big: no tokenizer on this machine" in result.stdout
    assert "its sizes are not known" in result.stdout
    assert "OPENAI_API_KEY" in result.stdout


def test_a_profile_with_rollouts_by_vllm_needs_it_or_servers_elsewhere(checkout):
    def vllm(params):
        return [check.ok for check in profile_checks(parse_params(params), checkout, NOTHING) if check.name == "vllm"]

    wanted = {"grpo": {"rollouts": "vllm"}}
    assert vllm({}) == []
    assert vllm(wanted) == [False]
    assert vllm(wanted | {"compute": {"servers": ["http://10.0.0.2:8000"]}}) == []
    (checkout / ".venv-vllm/bin").mkdir(parents=True)
    (checkout / ".venv-vllm/bin/python").touch()
    assert vllm(wanted) == [True]


def test_flash_attention_is_missed_only_where_a_profile_asks_for_it(checkout, monkeypatch):
    monkeypatch.setattr(needs, "find_spec", lambda name: None)

    def found(sft):
        params = parse_params({"model": {"base": "org/big", "dtype": "bfloat16"}, "sft": sft})
        return [check.ok for check in profile_checks(params, checkout, NOTHING) if check.name == "flash attention"]

    assert found({}) == []
    assert found({"padding_free": True}) == [False]


def test_a_profile_that_can_run_here_is_exit_code_0(run, checkout):
    (checkout / "no/base").mkdir(parents=True)
    files = {"config.json": "{}", "model.safetensors": "", "tokenizer.json": "{}", "chat_template.jinja": "{{ tools }}"}
    for name, text in files.items():
        (checkout / "no/base" / name).write_text(text)
    result = run("doctor", "--profile", "nano")
    assert result.exit_code == 0, result.output


def test_a_full_disk_and_one_core_are_missing(checkout, monkeypatch):
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(7e9))
    monkeypatch.setattr(needs, "cores", lambda: 1)
    found = {check.name: check for check in profile_checks(parse_params({}), checkout, NOTHING)}
    assert (found["disk"].ok, found["disk"].hint) == (False, "free some space: 8 GB are needed")
    assert not found["cores"].ok


def test_a_tokenizer_without_a_chat_template_is_no_tokenizer_for_training(run, checkout):
    (checkout / "no/base").mkdir(parents=True)
    (checkout / "no/base/tokenizer.json").write_text("{}")
    (checkout / "no/base/config.json").write_text("{}")
    (checkout / "no/base/tokenizer_config.json").write_text("{}")
    assert "its tokenizer has no chat template" in run("doctor", "--profile", "nano").stdout


@pytest.mark.parametrize(
    ("prompt", "template", "fits"), [("full", "{{ messages }}", False), ("full", "{{ tools }}", True), ("nano", "x", True)]
)
def test_a_chat_template_has_to_show_the_tools_that_the_prompt_leaves_to_it(checkout, prompt, template, fits):
    (checkout / "no/base").mkdir(parents=True)
    for name, text in {"config.json": "{}", "tokenizer.json": "{}", "chat_template.jinja": template}.items():
        (checkout / "no/base" / name).write_text(text)
    params = parse_params({"agent": {"prompt": prompt}, "model": {"base": "no/base"}})
    (check,) = [check for check in profile_checks(params, checkout, NOTHING) if check.name == "tokenizer"]
    assert (check.ok, "shows no tools" in check.detail) == (fits, not fits)


def machine(gpus, gib):
    return Machine(gpus, gib * 2**30, "NVIDIA H100 80GB HBM3")


def report(name, where, settings=None, root=ROOT):
    """The checks of a committed profile with other settings, by name."""
    return {
        check.name: check for check in profile_checks(override(load_profile(name, ROOT), settings or {}, "test"), root, where)
    }


@pytest.mark.parametrize("name", names(ROOT))
def test_every_committed_profile_loads_and_says_what_it_needs(name):
    params = load_profile(name, ROOT)
    assert params.profile == name
    checks = report(name, machine(8, 80))
    assert {"gpu", "disk", "base checkpoint", "tokenizer"} <= set(checks)
    assert params.model.dtype == "float32" or {"sft memory", "grpo memory", "vllm memory", "sft hours", "grpo hours"} <= set(
        checks
    )


def test_hours_on_processors_are_told_before_the_base_model_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(processor_needs, "processor_flop", lambda: 1e12)
    checks = report("smol", NOTHING, root=tmp_path)
    assert not checks["base checkpoint"].ok
    assert checks["base checkpoint"].hint == "make smol"
    hours = float(checks["grpo hours"].detail.partition(" ")[0])
    assert "16 steps of 32 rollouts and 96 of validations" in checks["grpo hours"].detail
    monkeypatch.setattr(processor_needs, "processor_flop", lambda: 2e12)
    assert float(report("smol", NOTHING, root=tmp_path)["grpo hours"].detail.partition(" ")[0]) == pytest.approx(
        hours / 2, abs=0.1
    )
    assert "sft hours" not in report("nano", NOTHING), "a model so small takes minutes, most of them in Python"


def test_memory_on_processors_is_told_beside_the_machines(monkeypatch):
    monkeypatch.setattr(processor_needs, "cores", lambda: 2)

    def memory(name, gib):
        checks = report(name, Machine(0, 0.0, "", gib * 2**30))
        return checks["sft memory"], checks["grpo memory"]

    for check in memory("nano", 8):
        assert check.ok
        assert check.detail.endswith("this machine has 8.0")
    sft, grpo = memory("smol", 24)
    assert sft.ok
    assert "with rows of 1,024 (assumed) to 8,192 tokens at sft.micro_batch 2 on 2 cores, this machine has 24.0" in sft.detail
    assert grpo.ok
    assert "where 2 more processes sample, this machine has 24.0; for the longest grpo.micro_batch: 1" in grpo.detail
    assert not memory("smol", 4)[1].ok
    assert memory("smol", 5)[0].hint == (
        "sft.max_length: 768 or sft.max_length: 1536 at sft.micro_batch 1 or a machine of 15 GiB"
    )


@pytest.mark.parametrize(
    ("stage", "gib", "settings"), [("sft", 12, {}), ("sft", 5, {}), ("grpo", 12, {}), ("grpo", 20, {"grpo.kl": 0.1})]
)
def test_what_to_lower_is_enough(monkeypatch, stage, gib, settings):
    monkeypatch.setattr(processor_needs, "cores", lambda: 2)
    host = Machine(0, 0.0, "", gib * 2**30)
    check = report("smol", host, settings)[f"{stage} memory"]
    change = (check.hint or check.detail.partition("; for the longest ")[2]).partition(" or ")[0]
    key, _, value = change.partition(": ")
    lowered = report("smol", host, settings | {key: int(value)})[f"{stage} memory"]
    assert lowered.ok
    assert "for the longest" not in lowered.detail


def test_shares_of_a_model_fit_where_the_whole_does_not():
    assert report("paper-4b", machine(8, 80))["sft memory"].ok
    check = report("paper-4b", machine(8, 80), {"compute.ranks": 1})["sft memory"]
    assert "sft.max_length: 23552" in check.hint
    assert "compute.ranks: 2" in check.hint
    assert report("paper-4b", machine(8, 80), {"compute.ranks": 1, "sft.max_length": 23_552})["sft memory"].ok


def test_the_first_rank_loads_the_weights_whole_into_the_memory_of_its_machine():
    check = report("paper-4b", replace(machine(8, 80), host=16 * 2**30))["host memory"]
    assert not check.ok
    assert (
        check.detail == "30 GiB while the first of 8 ranks loads the weights, this machine has 16"
    )  # 4 billion in float32, twice
    assert report("paper-4b", machine(8, 80))["host memory"].ok  # another machine's is not known
    assert "host memory" not in report("small", machine(1, 40))


@pytest.mark.parametrize(
    ("name", "gpus", "gib"),
    [("small", 1, 40), ("paper-4b", 8, 80), ("paper-30b", 8, 96), ("tooltrain-7b", 8, 80), ("tooltrain-32b", 8, 80)],
)
def test_profiles_fit_on_the_machines_they_are_for(name, gpus, gib):
    checks = report(name, machine(gpus, gib))
    assert all(checks[row].ok for row in ("gpu", "sft memory", "grpo memory", "vllm memory"))
    assert not report(name, machine(gpus, 16))["grpo memory"].ok
    assert gpus == 1 or checks["host memory"].ok
    assert "grpo.ahead" not in checks["gpu"].detail


@pytest.mark.parametrize(
    ("name", "where", "check", "field", "words"),
    [
        ("small", machine(1, 24), "grpo memory", "detail", "grpo.tokens_per_pass 32,768 and rows of 16,384 tokens"),
        ("small", machine(1, 24), "grpo memory", "hint", "grpo.tokens_per_pass: 16384 and grpo.kl: 0"),
        ("paper-30b", machine(8, 80), "sft memory", "detail", "rows of 32,768 tokens"),
        ("paper-30b", machine(8, 80), "sft memory", "hint", "sft.lora: {rank: 16}"),
        ("paper-30b", machine(8, 80), "sft memory", "hint", "compute.ranks: 16 on a machine with 16 such GPUs"),
        ("paper-4b", machine(8, 80), "vllm memory", "detail", "15,000 tokens at once: 184 on all servers, of 256 of a step"),
        ("paper-4b", machine(16, 80), "gpu", "detail", "grpo.ahead: 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_names_its_params_and_what_would_fit(name, where, check, field, words):
    assert words in getattr(report(name, where)[check], field)


def test_servers_that_sleep_leave_their_gpus_to_training_and_share_them_with_its_weights_alone():
    def checks(*options):
        return report("paper-4b", machine(8, 80), {"compute.options": ["--max-model-len", "81920", *options]})

    half = ("--gpu-memory-utilization", "0.5")
    assert "40.0 GiB are free" in checks(*half)["grpo memory"].detail
    assert "76.3 GiB are free" in checks(*half, "--enable-sleep-mode")["grpo memory"].detail
    most = checks("--gpu-memory-utilization", "0.9", "--enable-sleep-mode")["vllm memory"]
    assert "beside 13.1 GiB of training" in most.detail
    assert most.hint == 'compute.options: [--gpu-memory-utilization, "0.8"]'


def test_rows_are_as_long_as_the_server_lets_them_become():
    longer = report("paper-4b", machine(8, 80), {"compute.options": ["--max-model-len", "100000"]})
    assert "rows of 86,016 tokens" in longer["grpo memory"].detail


def test_a_pass_of_many_tokens_counts_as_one_of_a_row_as_long_and_never_less_than_the_longest_row():
    def memory(tokens):
        return report("paper-4b", machine(8, 80), {"grpo.tokens_per_pass": tokens, "grpo.micro_batch": 1})["grpo memory"]

    alone = memory(None).detail.partition(" GiB")[0]
    assert [memory(tokens).detail.partition(" GiB")[0] for tokens in (1, 81_920)] == [alone, alone]
    assert not memory(200_000).ok
    assert memory(200_000).hint.startswith("grpo.tokens_per_pass: 81920 or ")


def test_a_server_must_hold_one_request_and_at_least_an_episode(checkout):
    def vllm(options):
        return report("paper-30b", machine(8, 80), {"grpo.engine": "trl", "compute.options": options})["vllm memory"]

    assert "--max-model-len" in vllm([]).hint  # 262,144 tokens, the model's own limit
    assert vllm(["--max-model-len", "81920"]).ok
    assert not vllm(["--max-model-len", "81920", "--gpu-memory-utilization", "0.7"]).ok
    assert vllm(["--max-model-len", "81920", "--gpu-memory-utilization", "0.7", "-tp", "2"]).ok
    assert "agent.max_context_tokens: 8192" in vllm(["--max-model-len=8192"]).hint


def verl(**settings):
    return report("paper-30b", replace(machine(8, 80), host=900 * 2**30), settings)


def test_verl_shares_a_model_out_over_the_gpus_of_all_machines():
    checks = verl()
    assert checks["gpu"].detail == "8 needed on each of 4 machines, 8 x 80 GiB"
    assert all(checks[name].ok for name in ("gpu", "grpo memory", "vllm memory", "grpo host memory"))
    assert "on each of 4 x 8 GPUs at 20,480 tokens a pass" in checks["grpo memory"].detail
    assert "holds 64 rollouts of 15,000 tokens at once: 512 on all 8, of 256 of a step" in checks["vllm memory"].detail
    assert "469 steps of 256 rollouts of 15,000 tokens on 32 x NVIDIA H100" in checks["grpo hours"].detail
    assert "grpo lengths" not in checks


def test_what_verl_has_no_room_for_names_its_options():
    one = verl(**{"compute.verl_options": ["trainer.nnodes=1", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=40960"]})
    assert one["grpo memory"].hint.startswith("compute.verl_options: [actor_rollout_ref.actor.ppo_max_token_len_per_gpu=")
    kept = "actor_rollout_ref.actor.fsdp_config"
    beside = [f"{kept}.optimizer_offload=false", f"{kept}.param_offload=false", "trainer.nnodes=1"]
    beside = verl(**{"compute.verl_options": [*beside, "actor_rollout_ref.rollout.gpu_memory_utilization=0.9"]})
    assert not beside["vllm memory"].ok
    assert "beside 42.7 GiB of training on each" in beside["vllm memory"].detail
    assert "gpu_memory_utilization=0.45" in beside["vllm memory"].hint
    short = verl(**{"compute.verl_options": ["data.max_response_length=1024"]})["grpo lengths"]
    assert (short.ok, short.detail.partition(",")[0]) == (False, "50")


def test_verl_and_its_cluster_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    checks = verl()
    assert "`make verl` makes its environment" in checks["verl"].hint
    assert checks["ray"].detail == "no address of a cluster of 4 machines"
    assert "`ray start --head`" in checks["ray"].hint
    assert "ray" not in verl(**{"compute.verl_options": ["trainer.nnodes=1"]})
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        head.listen()
        assert verl(**{"compute.ray_address": f"127.0.0.1:{head.getsockname()[1]}"})["ray"].ok
    assert not verl(**{"compute.ray_address": "127.0.0.1:9"})["ray"].ok


def test_another_machine_can_be_asked_for(run, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = run("doctor", "--profile", "paper-4b", "--gpus", 8, "--gpu-memory", 131, "--format", "json")
    found = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert all("of this machine" in found[name]["detail"] for name in ("cores", "disk"))
    assert found["grpo memory"]["ok"]
    assert f"{131 - 4e9 / 2**30:.1f} GiB are free" in found["grpo memory"]["detail"]
    assert "469 steps of 256 rollouts" in found["grpo hours"]["detail"]


@pytest.mark.parametrize("options", [["--gpus", 2], ["--gpus", 2, "--gpu-memory", 40], ["--profile", "nano", "--gpu-memory", 40]])
def test_half_a_machine_is_wrong_usage(run, checkout, options):
    assert run("doctor", *options).exit_code == 2


def test_a_teacher_is_looked_for_at_its_endpoint(checkout):
    def teacher(url):
        params = parse_params({"teacher": {"localizer": "model", "model": "m", "base_url": url}})
        return {check.name: check.ok for check in profile_checks(params, checkout, NOTHING)}

    with Endpoint(scripted({})) as endpoint:
        assert teacher(endpoint.url)["teacher endpoint"]
    assert not teacher("http://127.0.0.1:9/v1")["teacher endpoint"]
    assert {"vllm", "teacher"} <= teacher("").keys()
    assert "teacher endpoint" not in teacher("")
