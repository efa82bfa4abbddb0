"""The parts of a rehearsal: a small model of the same kind, settings that stay, conversations replayed and lengthened."""

from pathlib import Path

import pytest

from fusesearch.agents.models.base import Message
from fusesearch.agents.parsing import format_calls
from fusesearch.cli.profiles import load_profile, names
from fusesearch.core.errors import DataError
from fusesearch.core.overrides import flat_params
from fusesearch.core.schema import Observation, ToolCall, Trajectory, Turn
from fusesearch.training.architectures import CONFIGS, Architecture
from tasks.rehearsal import CUTS, cut_down, lengthened, rehearse, replayed, small

ROOT = Path(__file__).parents[3]
CALLS = format_calls([("grep", {"pattern": "def a"}), ("glob", {"pattern": "*.py"})])
MESSAGES = [
    Message(role="system", content="Find code."),
    Message(role="user", content="a() fails"),
    Message(role="assistant", content=CALLS),
    Message(role="tool", content="/repo/a.py:1:def a(", tool_call_id="1"),
    Message(role="tool", content="/repo/a.py", tool_call_id="2"),
    Message(role="assistant", content="## Locations to Modify\n- /repo/a.py::a"),
]


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(ROOT / "experiments/nano/base")


@pytest.mark.parametrize("name", names(ROOT))
def test_lengths_and_settings_are_the_profiles_own(name):
    params = load_profile(name, ROOT)
    before, now = flat_params(params), flat_params(cut_down(params))
    changed = {key for key in now if before.get(key) != now[key]}
    allowed = {*CUTS, "mine.packages", "model.base"}
    allowed |= {"grpo.engine"} if params.grpo.engine == "verl" else set()
    assert changed <= allowed | {"grpo.rollouts", "grpo.micro_batch", "evaluate.rollouts", "compute.options"}
    assert {
        "sft.max_length",
        "agent.max_context_tokens",
        "agent.max_new_tokens",
        "grpo.group",
        "sft.micro_batch",
    } & changed == set()


@pytest.mark.parametrize("name", CONFIGS)
def test_the_small_model_is_of_the_same_kind(name):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    full, less = CONFIGS[name], small(CONFIGS[name], min(151_669, CONFIGS[name]["vocab_size"]))
    assert Architecture.of(less).parameters < 0.05 * Architecture.of(full).parameters
    for key in ("model_type", "max_position_embeddings", "tie_word_embeddings", "vocab_size"):
        assert less[key] == full[key]
    assert less["num_attention_heads"] / less["num_key_value_heads"] == full["num_attention_heads"] / full["num_key_value_heads"]
    assert small(full, 2048)["vocab_size"] == 2048
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**small(full, 2048)))
    assert sum(parameter.numel() for parameter in model.parameters()) == Architecture.of(small(full, 2048)).parameters


def test_a_conversation_has_the_same_tokens_turn_by_turn_and_as_a_whole(tokenizer):
    assert replayed(tokenizer, MESSAGES, []) > 20


def test_a_template_that_rewrites_earlier_messages_is_refused(tokenizer, monkeypatch):
    forgetful = tokenizer.chat_template.replace(
        "message.content + '<|im_end|>'", "(message.content if loop.last else '') + '<|im_end|>'"
    )
    monkeypatch.setattr(tokenizer, "chat_template", forgetful)
    with pytest.raises(DataError, match="prefix-preserving"):
        replayed(tokenizer, MESSAGES, [])


def test_a_template_that_drops_earlier_thinking_changes_no_tokens(tokenizer, monkeypatch):
    said = [
        row.model_copy(update={"content": f"<think>so</think>{row.content}"}) if row.role == "assistant" else row
        for row in MESSAGES
    ]
    kept = replayed(tokenizer, said, [])
    shorter = tokenizer.chat_template.replace(
        "message.content + '<|im_end|>'", "message.content.split('</think>')[-1] + '<|im_end|>'"
    )
    assert shorter != tokenizer.chat_template
    monkeypatch.setattr(tokenizer, "chat_template", shorter)
    assert replayed(tokenizer, said, []) == kept > replayed(tokenizer, MESSAGES, [])


def test_a_trajectory_is_lengthened_to_just_below_the_limit_with_its_largest_results_first():
    call = ToolCall(id="1", name="grep", arguments={"pattern": "a"})
    little, much = (Observation(call_id="1", output="found " * times) for times in (1, 3))
    trajectory = Trajectory(
        instance_id="i", repo="r", base_commit="c", localizer="l", system="s", issue="i", stop="answer",
        turns=[
            Turn(text="look", calls=[call], observations=[little]), Turn(text="read", calls=[call], observations=[much]),
            Turn(text="done"),
        ],
    )  # fmt: skip

    def length(row):
        return sum({"look": 10, "read": 30, "done": 10}[turn.text] for turn in row.turns)

    long = lengthened(trajectory, 125, length)
    assert [turn.text for turn in long.turns] == ["look", "read", "read", "look", "read", "done"]
    answer = trajectory.model_copy(update={"turns": trajectory.turns[2:]})
    assert lengthened(answer, 95, length) == answer


@pytest.mark.rare
def test_a_step_that_fails_is_named_with_its_reason_and_ends_the_rehearsal(tmp_path):
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    broken = tmp_path / "tokenizer"
    broken.mkdir()
    (broken / "tokenizer.json").write_text("{")
    (step,) = rehearse(load_profile("small", ROOT), broken, tmp_path, lambda name, doing: None)
    assert (step.name, step.ok) == ("model", False)
    assert step.error
    assert "\n" not in step.error


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        next(rehearse(load_profile("small", ROOT), tmp_path, tmp_path, lambda name, doing: None))
    assert not (tmp_path / "data").exists()
