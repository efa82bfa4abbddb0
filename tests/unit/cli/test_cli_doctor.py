"""`doctor`: what is here, what is missing, and what a profile needs."""

import json
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from fusesearch.cli import checks, needs
from fusesearch.cli.needs import PROFILE, Machine, Place, teacher, vllm, weights
from fusesearch.cli.profiles import load_profile, names
from fusesearch.core.config import parse_params
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.overrides import override
from fusesearch.core.schema import Trajectory, Turn, Usage
from fusesearch.core.storage import write_json, write_jsonl
from tests.fakes.checkout import checked_out
from tests.fakes.endpoint import Endpoint, scripted

ROOT = Path(__file__).parents[3]
NOTHING = Machine(0, 0.0, "")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(1e12))
    monkeypatch.setattr(checks, "cores", lambda: 2)
    monkeypatch.setattr(checks, "gpus", lambda: ())
    monkeypatch.setattr(needs, "gpus", lambda: ())
    return checked_out(tmp_path, monkeypatch)


def base(folder, **files):
    (folder / "no/base").mkdir(parents=True)
    for name, text in {"config.json": "{}", "tokenizer.json": "{}", **files}.items():
        (folder / "no/base" / name).write_text(text)


def test_the_core_of_this_environment_works_and_json_lists_every_check(run, checkout):
    result = run("doctor", "--format", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["ok"]) == (0, True)
    assert sorted(check["name"] for check in report["checks"]) == sorted([
        "python", "ripgrep", "git", "[models]", "[train]", "[evaluate]", "[pipeline]", "[mining]", "[gpu]",
        "gpu", "disk", "cores",
    ])  # fmt: skip


@pytest.mark.parametrize("name", ["git", "ripgrep"])
def test_without_a_program_of_the_core_the_core_does_not_work(run, checkout, monkeypatch, name):
    """A ripgrep of the search path does not count: searches do not use it."""

    def absent():
        raise InfrastructureError("ripgrep is missing")

    found = shutil.which
    if name == "git":
        monkeypatch.setattr(checks.shutil, "which", lambda name: None if name == "git" else found(name))
    else:
        monkeypatch.setattr(checks, "binary", absent)
    result = run("doctor")
    assert result.exit_code == 1
    assert f"Missing: {name}." in result.stdout


def test_a_profile_tells_what_is_missing_here(run, checkout):
    result = run("doctor", "--profile", "big")
    assert result.exit_code == 1
    for words in (
        "the weights of org/big are not on this machine", "org/big: no tokenizer on this machine", "its sizes are not known",
        "nothing answers at http://127.0.0.1:9/v1",
    ):  # fmt: skip
        assert words in result.stdout
    (checkout / "params.yaml").write_text("profile: big\nteacher: {model: m, base_url: http://127.0.0.1:7/v1}\n")
    changed = run("doctor", "--profile", "big").stdout  # the current profile, as its user has it
    assert "nothing answers at http://127.0.0.1:7/v1" in changed
    assert "org/big" not in changed


def test_a_profile_that_can_run_here_is_exit_code_0(run, checkout):
    base(checkout, **{"model.safetensors": "", "chat_template.jinja": "{{ tools }}"})
    result = run("doctor", "--profile", "nano")
    assert result.exit_code == 0, result.output
    assert "grpo.min_headroom, 0 points of F1" in result.output
    write_json(checkout / "artifacts/grpo/metrics.json", {"headroom": 0.031, "flat": 0.4, "f1_per_call": -0.005})
    assert "3.1 points of F1, best of 8 samples minus their mean; 40% of" in run("doctor", "--profile", "nano").output


def test_a_full_disk_and_one_core_are_missing(checkout, monkeypatch):
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(7e9))
    monkeypatch.setattr(checks, "cores", lambda: 1)
    found = {check.name: check for check in needs.disk(Place(parse_params({}), checkout, NOTHING))}
    assert (found["disk"].ok, found["disk"].hint) == (False, "free some space: 8 GB are needed")
    assert not found["cores"].ok


@pytest.mark.parametrize(("prompt", "files", "detail"), [
    ("full", {"tokenizer_config.json": "{}"}, "its tokenizer has no chat template"),
    ("full", {"chat_template.jinja": "{{ messages }}"}, "its chat template shows no tools"),
    ("full", {"chat_template.jinja": "{{ tools }}"}, ""),
    ("nano", {"tokenizer_config.json": '{"chat_template": "x"}'}, ""),
])  # fmt: skip
def test_a_chat_template_has_to_show_the_tools_that_the_prompt_leaves_to_it(checkout, prompt, files, detail):
    base(checkout, **files)
    params = parse_params({"agent": {"prompt": prompt}, "model": {"base": "no/base"}})
    _, check = weights(Place(params, checkout, NOTHING))
    assert check.ok == (not detail)
    assert check.detail == (f"no/base: {detail}" if detail else "no/base")


def test_a_profile_with_rollouts_by_vllm_needs_it(checkout):
    def found(params):
        return [(check.name, check.ok) for check in vllm(Place(parse_params(params), checkout, NOTHING))]

    wanted = {"grpo": {"rollouts": "vllm"}}
    assert found({}) == []
    assert found(wanted) == [("vllm", False)]
    (checkout / ".venv-vllm/bin").mkdir(parents=True)
    (checkout / ".venv-vllm/bin/python").touch()
    assert found(wanted) == [("vllm", True)]


def test_a_teacher_is_looked_for_where_it_is(checkout):
    def found(url):
        params = parse_params({"teacher": {"model": "m", "base_url": url}})
        return {check.name: check.ok for check in teacher(Place(params, checkout, NOTHING))}

    with Endpoint(scripted({})) as endpoint:
        assert found(endpoint.url) == {"teacher endpoint": True}
    assert found("http://127.0.0.1:9/v1") == {"teacher endpoint": False}
    assert found("") == {}


@pytest.mark.parametrize(("status", "names"), [(401, ["teacher endpoint", "teacher key"]), (404, ["teacher endpoint"])])
def test_a_key_is_asked_for_where_the_endpoint_wants_one(checkout, monkeypatch, status, names):
    monkeypatch.setattr(needs, "status_of", lambda url: status)
    params = parse_params({"teacher": {"model": "m", "base_url": "http://host/v1"}})
    assert [check.name for check in teacher(Place(params, checkout, NOTHING))] == names


def test_hours_are_of_the_length_of_selected_trajectories_where_these_params_made_them(checkout):
    def hours(**agent):
        params = parse_params({"model": {"base": str(ROOT / "experiments/nano/base")}, "agent": agent})
        found = {check.name: check.detail for check in needs.hardware(Place(params, checkout, NOTHING))}
        return found["sft hours"].partition(" of ")[2]

    assert hours() == "15,000 tokens, assumed, on 2 cores"
    turns = [Turn(text="answer", usage=Usage(prompt_tokens=900, completion_tokens=100))]
    long = Trajectory(instance_id="i", localizer="lexical", system="", issue="", turns=turns)
    write_jsonl(checkout / needs.SELECTED, [long] * 50)
    sections = parse_params({}).model_dump(mode="json", include={"agent", "tools", "teacher"})
    (checkout / "dvc.lock").write_text(json.dumps({"stages": {"synthesize": {"params": {"params.yaml": sections}}}}))
    assert hours() == "1,000 tokens, the mean of 20 selected, on 2 cores"
    assert "assumed" in hours(max_turns=3)


def test_another_machine_can_be_asked_for_but_not_half_of_one(run, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = run("doctor", "--profile", "paper-4b", "--gpus", 8, "--gpu-memory", 131, "--format", "json")
    found = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert all("of this machine" in found[name]["detail"] for name in ("cores", "disk"))
    assert found["grpo memory"]["ok"]
    assert f"{131 - 4e9 / 2**30:.1f} GiB are free" in found["grpo memory"]["detail"]
    for options in (["--gpus", 2], ["--gpus", 2, "--gpu-memory", 40], ["--profile", "nano", "--gpu-memory", 40]):
        assert run("doctor", *options).exit_code == 2


def machine(gpus, gib):
    return Machine(gpus, gib * 2**30, "NVIDIA H100 80GB HBM3")


def report(name, where, settings=None, root=ROOT):
    """The checks of a committed profile with other settings, by name."""
    place = Place(override(load_profile(name, ROOT), settings or {}, "test"), root, where)
    return {check.name: check for each in PROFILE for check in each(place)}


@pytest.mark.parametrize("name", names(ROOT))
def test_every_committed_profile_loads_and_says_what_it_needs(name):
    params = load_profile(name, ROOT)
    assert params.profile == name
    found = report(name, machine(8, 80))
    assert {"gpu", "disk", "base checkpoint", "tokenizer"} <= set(found)
    if params.model.dtype != "float32":
        served = {"vllm memory"} if params.grpo.engine == "trl" else set()  # veRL's servers are its own
        assert {"sft memory", "grpo memory", "sft hours", "grpo hours"} | served <= set(found)


@pytest.mark.parametrize(
    ("name", "gpus", "gib"),
    [
        ("small", 1, 40),
        ("one-4b", 1, 48),
        ("paper-4b", 8, 80),
        ("paper-30b", 8, 96),
        ("tooltrain-7b", 8, 80),
        ("tooltrain-32b", 8, 80),
    ],
)
def test_profiles_fit_on_the_machines_they_are_for(name, gpus, gib):
    found = report(name, machine(gpus, gib))
    assert all(found[row].ok for row in ("gpu", "sft memory", "grpo memory"))
    assert "vllm memory" not in found or found["vllm memory"].ok
    assert not report(name, machine(gpus, 16))["grpo memory"].ok


def test_what_does_not_fit_names_what_would_and_that_is_enough():
    alone = {"compute.ranks": 1}
    check = report("paper-4b", machine(8, 80), alone)["sft memory"]
    assert "for 32,768 tokens at once" in check.detail
    fits = int(check.hint.partition(" tokens at once fit: change sft.max_length")[0].replace(",", ""))
    assert report("paper-4b", machine(8, 80), alone | {"sft.max_length": fits})["sft memory"].ok
    assert report("paper-4b", machine(8, 80), {"compute.ranks": 2})["sft memory"].ok


def test_a_server_must_hold_one_request_and_at_least_an_episode():
    def server(*options):
        return report("paper-30b", machine(8, 80), {"grpo.engine": "trl", "compute.options": options})["vllm memory"]

    assert '--max-model-len, "81920"' in server().hint  # 262,144 tokens, the model's own limit
    assert server("--max-model-len", "81920").ok
    assert not server("--max-model-len", "81920", "--gpu-memory-utilization", "0.7").ok
    assert server("--max-model-len", "81920", "--gpu-memory-utilization", "0.7", "-tp", "2").ok
    assert "agent.max_context_tokens: 8192" in server("--max-model-len=8192").hint
    assert "40.0 GiB are free" in report("paper-4b", machine(8, 80), {"compute.options": [
        "--max-model-len", "81920", "--gpu-memory-utilization", "0.5"
    ]})["grpo memory"].detail  # fmt: skip


def verl(*options):
    settings = {"compute.verl_options": list(options)} if options else {}
    return report("paper-30b", machine(8, 80), settings)


def test_verl_shares_a_model_out_over_the_gpus_of_several_machines_and_names_its_options():
    found = verl()
    assert found["gpu"].detail == "8 needed on each of 4 machines, 8 x 80 GiB"
    assert (
        "469 steps of 256 rollouts, beside their sampling, of 15,000 tokens, assumed, on 32 x NVIDIA H100"
        in found["grpo hours"].detail
    )
    assert all(found[name].ok for name in ("gpu", "grpo memory"))
    assert "on each of 32 GPUs for 20,480 tokens at once" in found["grpo memory"].detail
    one = verl("trainer.nnodes=1", f"{needs.VERL_TOKENS}=40960")
    assert f"change {needs.VERL_TOKENS}, trainer.nnodes" in one["grpo memory"].hint


def test_verl_and_its_cluster_are_looked_for(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    checks = verl()
    assert "`make verl` makes its environment" in checks["verl"].hint
    assert checks["ray"].detail == "no address of a cluster of 4 machines"
    assert "`ray start --head`" in checks["ray"].hint
    assert "ray" not in verl("trainer.nnodes=1")
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    assert verl()["ray"].ok
