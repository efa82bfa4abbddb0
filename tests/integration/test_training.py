"""SFT and GRPO on a tiny random model: real TRL trainers, real tools, a real git repository."""

import json
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from fusesearch.agents.models.transformers import TransformersModel
from fusesearch.core.config import Base, Lora, RolloutSearch
from fusesearch.core.errors import DataError, InfrastructureError
from fusesearch.core.schema import Expected, Score, Tokens, Truth, Turn
from fusesearch.core.storage import read_instances, read_json, write_instances, write_jsonl
from fusesearch.training import gates, grpo, sft
from fusesearch.training.environment import Rollout, columns_of
from fusesearch.training.nano.base import train_base
from fusesearch.training.sft import fit, tell_apart, tokenize, train_sft
from fusesearch.training.trainer import load_student, save_checkpoint, settle, trainer_arguments
from tests.fakes.training import Killed, snapshots_in, stop_at
from tests.integration.conftest import ANSWER, SEARCH

ADAPTED = {"optimizer": "adamw", "lora": Lora(rank=4)}


def test_only_assistant_tokens_are_trained_and_drills_are_rows_beside_them(base, params, trajectory):
    _, tokenizer = load_student(base)
    rows, dropped = tokenize([trajectory], tokenizer, params)
    trained = tokenizer.decode([label for label in rows[0]["labels"] if label != -100])
    assert trained == SEARCH + "<|im_end|>" + ANSWER + "<|im_end|>"
    assert "guided" not in tokenizer.decode(rows[0]["input_ids"])
    with_drills = params.model_copy(update={"sft": params.sft.model_copy(update={"drills": 3, "max_length": 4096})})
    (_, *drills), dropped_too = tokenize([trajectory], tokenizer, with_drills)
    assert (len(rows), len(drills), dropped, dropped_too) == (1, 3, 0, 0)
    for row in drills:
        told = [token for token, label in zip(row["input_ids"], row["labels"], strict=True) if label == -100]
        assert tokenizer.decode(told).startswith("/repo/")
        assert tokenizer.decode([label for label in row["labels"] if label != -100]).count(" of /repo/") >= 1


def test_sft_learns_the_trajectory_and_says_what_it_was_trained_with(sft_run, base, params, trajectory):
    assert read_json(sft_run / "figures.json")["steps"] == 12
    assert [json.loads(line)["step"] for line in (sft_run / "out/log.jsonl").read_text().splitlines()] == [10]
    (row,), _ = tokenize([trajectory], load_student(base)[1], params)
    ids, labels = (torch.tensor([row[name]]) for name in ("input_ids", "labels"))
    before, after = (load_student(path)[0](ids, labels=labels).loss.item() for path in (base, sft_run / "out/checkpoint"))
    assert after < before - 1.5
    assert TransformersModel.load(sft_run / "out" / "checkpoint").name == "checkpoint"
    assert (sft_run / "out" / "checkpoint" / "fusesearch.json").is_file()


def test_small_steps_move_weights_that_come_in_bfloat16(tmp_path, params, base, trajectory):
    for part in load_student(base):
        (part.bfloat16() if isinstance(part, torch.nn.Module) else part).save_pretrained(tmp_path / "start")
    model, tokenizer = load_student(tmp_path / "start")
    rows, _ = tokenize([trajectory] * 4, tokenizer, params)
    section = params.sft.model_copy(update={"epochs": 4, "learning_rate": 1e-6, "optimizer": "adamw", "warmup_ratio": 0})
    fit(model, tokenizer, rows, section, params, tmp_path / "out", lambda row: None, bfloat16=True)
    before, after = (load_file(path / "model.safetensors") for path in (tmp_path / "start", tmp_path / "out" / "checkpoint"))
    moved = torch.cat([(after[name].float() != before[name].float()).flatten() for name in before if "proj" in name])
    assert moved.float().mean() > 0.9


def test_passes_compute_in_bfloat16_on_a_gpu_whose_params_say_so(tmp_path, params, monkeypatch):
    def bfloat16(dtype, asked=None):
        given = params.model_copy(update={"model": params.model.model_copy(update={"dtype": dtype})})
        return bool(trainer_arguments(tmp_path, params.sft, given, asked)["bf16"])

    assert (bfloat16("bfloat16"), bfloat16("float32", True)) == (False, True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (bfloat16("bfloat16"), bfloat16("float32")) == (True, False)


@pytest.mark.parametrize("changes", [{}, pytest.param(ADAPTED, marks=pytest.mark.rare, id="adapters")])
def test_killed_training_goes_on_from_its_last_step(tmp_path, params, sft_run, changes):
    def run(name, on_log):
        return train_sft(given, sft_run / "t.jsonl", tmp_path / name, on_log=on_log)["steps"]

    given = params.model_copy(update={"sft": params.sft.model_copy(update=changes)})
    whole = sft_run / "out"
    if changes:
        whole = tmp_path / "whole"
        run("whole", lambda row: None)
    with pytest.raises(Killed):
        run("cut", stop_at(10))
    assert run("cut", lambda row: None) == 12
    weights = [(out / "checkpoint" / "model.safetensors").read_bytes() for out in (whole, tmp_path / "cut")]
    assert weights[0] == weights[1]


def test_a_base_is_trained_from_scratch_on_episodes_and_drills(tmp_path, params, instances, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fusesearch.training.nano.base.SHAPE", {"hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64})
    train = params.sft.model_copy(update={"epochs": 1, "drills": 5, "max_length": 900})
    recipe = Base(episodes_per_instance=2, train=train)
    found = read_instances(instances)
    figures = train_base(params, recipe, found, snapshots_in(tmp_path), tmp_path / "out", lambda row: None)
    assert figures["sequences"] == len(found) * 2 + 5
    assert 0 < figures["trained_tokens"] < figures["tokens"]  # what a drill lists first cannot be foreseen
    model, _ = load_student(tmp_path / "out" / "checkpoint")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_grpo_makes_steps_with_the_projects_rollouts(tmp_path, reinforce):
    rows = reinforce(renamed=1.0, scale_rewards="none")
    assert [row["step"] for row in rows] == [1, 2]
    assert {"reward", "kl", "f1", "efficiency", "calls_per_turn"} <= set(rows[0])
    assert (tmp_path / "out" / "checkpoint" / "model.safetensors").is_file()


def test_grpo_ends_where_no_rollout_of_a_step_could_run(reinforce, monkeypatch):
    async def missing(*_):
        raise InfrastructureError("ripgrep is missing")

    monkeypatch.setattr(TransformersModel, "complete", missing)
    with pytest.raises(InfrastructureError, match=r"all \d+ rollouts of a step errored, first: ripgrep is missing; repair"):
        reinforce()


def test_grpo_ends_before_its_first_step_where_there_is_little_to_gain(tmp_path, reinforce, monkeypatch):
    sampled = []
    monkeypatch.setattr(gates, "headroom", lambda scores, size: sampled.append(len(scores)) or {"headroom": 0.02})
    for _ in range(2):
        with pytest.raises(DataError, match=r"RL headroom is 2\.0 points of F1 \(best of 2 samples minus their mean\), below gr"):
            reinforce(min_headroom=5)
    assert sampled == [6]  # kept, as for a run that resumes
    assert len(reinforce(min_headroom=1, scale_rewards="f1_first", loss_type="dapo")) == 2


def test_grpo_takes_issues_and_questions_together(params, instances, reinforce):
    issue = read_instances(instances)[0]
    expected = Expected(family="default", kind="value", values=["2"])
    asked = {"instance_id": "q", "problem_statement": "What is 4 % 2?", "truth": Truth(files=["a.py"], expected=expected)}
    question = issue.model_copy(update=asked)
    write_instances(instances, [issue, question])
    both = params.model_copy(update={"agent": params.agent.model_copy(update={"toolset": "both"})})
    (row,) = reinforce(given=both, steps=1)
    assert {"f1", "answer_score"} <= set(row)
    assert row["errored"] == 0


def test_grpo_trains_on_trees(tmp_path, reinforce):
    search = RolloutSearch(kind="mcts", simulations=3, self_critique="distil", expansion="lazy")
    (row,) = reinforce(search=search, steps=1)
    assert 0 < row["tree_turns_trained"] <= row["tree_turns"]
    tree = json.loads(min((tmp_path / "out/checkpoint/trees").glob("*.json")).read_text())
    assert "fails" in tree["issue"]
    assert tree["nodes"][0]["visits"] == 3
    assert any(node["trained"] and node["reward"] is not None for node in tree["nodes"])


def test_the_mean_over_the_last_steps_is_saved_also_by_a_run_that_was_killed(tmp_path, reinforce, monkeypatch):
    def run(name, averaged, on_log):
        reinforce(name, on_log=on_log, steps=3, averaged=averaged, learning_rate=0.05, prompts_per_step=1)
        return load_file(tmp_path / name / "checkpoint" / "model.safetensors")

    monkeypatch.setattr(grpo, "rollout_reward", lambda score, **_: [float(n % 2) for n in range(len(score))])
    with pytest.raises(Killed):
        run("cut", 2 / 3, stop_at(3))
    saved = tmp_path / "cut" / "trainer"
    assert {path.name for path in saved.glob("*-*")} == {"checkpoint-2", "average-2.safetensors", "average-3.safetensors"}
    second = load_file(saved / "checkpoint-2" / "model.safetensors")
    third, mean = run("last", 0.0, lambda row: None), run("cut", 2 / 3, lambda row: None)
    assert any(not torch.equal(second[name], third[name]) for name in mean)
    for name, found in mean.items():
        torch.testing.assert_close(found, (second[name] + third[name]) / 2)
    assert not saved.exists()


def test_observations_between_turns_are_masked(trajectory):
    first = Tokens(prompt_ids=[1, 2], completion_ids=[3, 9], logprobs=[-0.1, -0.2])
    second = Tokens(prompt_ids=[1, 2, 3, 9, 5, 6], completion_ids=[7, 9], logprobs=[-0.3, -0.4])
    episode = trajectory.model_copy(update={"turns": [Turn(text="a", tokens=first), Turn(text="b", tokens=second)]})
    assert columns_of([Rollout.of(episode, Score(instance_id="i", localizer="x", reward=0.5), 9)]) == {
        "prompt_ids": [[1, 2]],
        "completion_ids": [[3, 9, 5, 6, 7, 9]],
        "logprobs": [[-0.1, -0.2, 0.0, 0.0, -0.3, -0.4]],
        "env_mask": [[1, 1, 0, 0, 1, 1]],
        "score": [0.5],
    }


def test_adapters_train_beside_frozen_weights_and_the_checkpoint_has_them_merged(tmp_path, params, base, trajectory, monkeypatch):
    trainers = []
    monkeypatch.setattr(sft, "save_checkpoint", lambda trainer, out: trainers.append(trainer) or save_checkpoint(trainer, out))
    write_jsonl(tmp_path / "t.jsonl", [trajectory] * 8)
    given = params.model_copy(update={"sft": params.sft.model_copy(update=ADAPTED)})
    train_sft(given, tmp_path / "t.jsonl", tmp_path / "out", on_log=lambda row: None)
    before, after = (load_file(path / "model.safetensors") for path in (base, tmp_path / "out" / "checkpoint"))
    (trained,) = (trainer.model for trainer in trainers)
    assert all(name.count("lora_") for name, parameter in trained.named_parameters() if parameter.requires_grad)
    state = {name.removeprefix("base_model.model.").replace(".base_layer", ""): it for name, it in trained.state_dict().items()}
    assert all(torch.equal(state[name], value) for name, value in before.items())  # adapters have names of their own
    assert {name for name in before if not torch.equal(before[name], after[name])} == {name for name in before if "proj" in name}
    merged, _ = load_student(tmp_path / "out" / "checkpoint")
    ids = torch.arange(9)[None]
    torch.testing.assert_close(merged(ids).logits, trained(ids).logits)
    assert not torch.allclose(merged(ids).logits, load_student(base)[0](ids).logits, atol=1e-3)
    assert json.loads((tmp_path / "out/checkpoint/config.json").read_text())["tie_word_embeddings"]


def test_tokens_that_pretraining_never_reached_get_rows_of_their_own(base):
    model, tokenizer = load_student(base)
    assert tokenizer.add_tokens(["<call>", "</call>", "<dead>", "<apart>"]) == 4
    call, close, dead, apart = (tokenizer.convert_tokens_to_ids(text) for text in ("<call>", "</call>", "<dead>", "<apart>"))
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    rows = model.get_output_embeddings().weight.data
    rows[[call, close, dead]] = rows[dead] + torch.tensor([[1e-6], [0.0], [0.0]])
    before = rows.clone()
    tell_apart(model, tokenizer, {-100, call, close, apart, tokenizer.eos_token_id})
    assert [token for token in range(len(rows)) if not torch.equal(rows[token], before[token])] == [call, close]
    for token in (call, close):
        assert rows[token].norm().item() == pytest.approx(before.norm(dim=1).mean().item(), rel=0.02)
        assert (rows @ rows[token]).argmax() == token
    assert model.get_input_embeddings().weight.data_ptr() == rows.data_ptr()


def test_the_reference_of_adapters_is_the_model_without_them(reinforce, monkeypatch):
    monkeypatch.setattr(grpo, "rollout_reward", lambda score, **_: [float(n % 2) for n in range(len(score))])
    rows = reinforce(**ADAPTED, steps=3, learning_rate=0.05, temperature=1.0)
    assert rows[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert rows[-1]["kl"] > 1e-4


def test_a_process_trains_on_one_gpu_and_says_so(caplog):
    arguments = SimpleNamespace(n_gpu=4, _n_gpu=4, device=torch.device("cuda", 0), fsdp_plugin_args=None)
    assert settle(arguments)._n_gpu == 1
    assert "training takes one of this machine's 4 GPUs" in caplog.text
