"""One scripted conversation gives the same trajectory in synthesis, GRPO, trees, evaluation and ``localize``, byte for byte."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.agents.prompts import render_system
from fusesearch.core.config import RolloutSearch, parse_params
from fusesearch.core.schema import Instance, Trajectory, Truth
from fusesearch.core.storage import Journal, write_json
from fusesearch.evaluation.harness import evaluate
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.search.repository import Repository
from fusesearch.training import synthesis
from fusesearch.training.rollouts import Episodes
from tests.fakes.commands import app
from tests.fakes.git import write

DISCOUNT, PYTHON, UNCLOSED = ("grep", {"pattern": "discount"}), ("glob", {"pattern": "**/*.py"}), ("grep", {"pattern": "("})
OUT, OVER = ("read_file", {"path": "/repo/../etc/passwd"}), ("grep", {"pattern": "over the limit of calls"})
SCRIPT = [
    format_calls([DISCOUNT, DISCOUNT, PYTHON, UNCLOSED, ("fly", {}), OUT, OVER]),
    f"Now read it.\n<tool_call>\n{{broken\n</tool_call>\n{format_calls([('read_file', {'path': '/repo/shop/cart.py'})])}",
    format_calls([("grep", {"pattern": "def total", "output_mode": "content"})]),
    "Found.\n\n## Locations to Modify\n- /repo/shop/cart.py::Cart.total\n\n## Related Context\n- /repo/shop/other.py\n",
]
SHOP = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return self.sum  # no discount\n", "shop/other.py": "x = 1\n",
}  # fmt: skip
ISSUE = "`Cart.total` ignores the discount.\n"
OF_THE_CALLER = {"instance_id", "repo", "base_commit", "seed", "guidance", "seconds"}
"""Fields that say whose episode it is, when it ran and with which seed."""


@pytest.fixture(params=["full", "nano"])
def params(request):
    return parse_params({
        "agent": {"prompt": request.param, "max_turns": 5, "max_calls_per_turn": 6},
        "tools": {"line_chars": 40, "grep_lines": 5},
        "teacher": {"model": "scripted", "base_url": "http://localhost:1/v1"},
        "synthesize": {"per_instance": 1}, "grpo": {"prompts_per_step": 1, "group": 2},
    })  # fmt: skip


@pytest.fixture
def instance(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tree", SHOP)
    truth = Truth(files=["shop/cart.py"], functions=["shop/cart.py::Cart.total"])
    return Instance(instance_id="shop-1", repo="o/shop", base_commit="c", problem_statement=ISSUE, truth=truth)


class Recording(ScriptedModel):
    """The script, and every request it got, without the teacher's guidance."""

    def __init__(self, *_, **__):
        super().__init__(SCRIPT)
        self.requests: set[str] = set()
        self.plain_system: str | None = None

    async def complete(self, messages, tools, sampling):
        if self.plain_system is not None:
            messages = [messages[0].model_copy(update={"content": self.plain_system}), *messages[1:]]
        self.requests.add(json.dumps([[message.model_dump(mode="json") for message in messages], tools], indent=1))
        return await super().complete(messages, tools, sampling)


def synthesized(instance, params):
    with Journal(Path("journal.jsonl"), key="key") as journal:
        candidates = synthesis.draw([instance], params.synthesize, params.seed)
        (made,) = synthesis.synthesize(candidates, params, lambda _: Repository("tree"), journal)
    guided, plain = render_system(params.agent, made.guidance), render_system(params.agent)
    assert made.system == guided != plain
    return made.model_copy(update={"system": plain})


def rolled_out(instance, params, policy):
    episodes = Episodes(params, params.grpo, {instance.instance_id: instance}, lambda _: Repository("tree"), eos=0)
    group = params.grpo.group
    return asyncio.run(episodes._episodes([instance.instance_id] * group, 0, policy, None, range(group)))[0]


def grown(instance, params, policy):
    """The only line of a tree with one simulation and one child."""
    section = params.grpo.model_copy(update={"search": RolloutSearch(kind="mcts", simulations=1, children=1)})
    episodes = Episodes(params, section, {instance.instance_id: instance}, lambda _: Repository("tree"), eos=0)
    ids = [instance.instance_id] * section.group
    found, padding = asyncio.run(episodes._episodes(ids, 0, policy, None, range(section.group)))[0]
    assert padding.error
    return found


def evaluated(instance, params, tmp_path, model):
    localizer = make_localizer("fusesearch", Setup(model, params.agent, params.tools))
    run = evaluate(localizer, [instance], lambda _: Repository("tree"), journal=tmp_path / "scores.journal")
    return asyncio.run(run).trajectories[0]


def localized(params, tmp_path):
    write_json(tmp_path / "served/fusesearch.json", {"tools": params.tools.model_dump(), "agent": params.agent.model_dump()})
    (tmp_path / "issue.md").write_text(ISSUE)
    asked = "localize --repo tree --issue issue.md --save out.json --model scripted --base-url http://localhost:1/v1"
    limits = f"--settings served --max-turns {params.agent.max_turns}"
    result = CliRunner().invoke(app, [*asked.split(), *limits.split()])
    assert result.exit_code == 0, result.output
    return Trajectory.model_validate_json((tmp_path / "out.json").read_text())


def bytes_of(trajectory):
    row = trajectory.model_dump(mode="json", exclude=OF_THE_CALLER)
    for turn in row["turns"]:
        turn["seconds_tools"] = turn["usage"]["seconds"] = 0
        for seen in turn["observations"]:
            seen["seconds"] = 0
    return json.dumps(row, indent=1)


def test_one_conversation_is_the_same_trajectory_in_every_use(instance, params, tmp_path, monkeypatch):
    teacher, policy, evaluated_model, served = models = [Recording() for _ in range(4)]
    teacher.plain_system = render_system(params.agent)
    monkeypatch.setattr("fusesearch.training.synthesis.OpenAICompatibleModel", lambda *_, **__: teacher)
    first = synthesized(instance, params)
    monkeypatch.setattr("fusesearch.agents.models.openai_compatible.OpenAICompatibleModel", lambda *_, **__: served)
    others = [
        *rolled_out(instance, params, policy),
        grown(instance, params, policy),
        evaluated(instance, params, tmp_path, evaluated_model),
        localized(params, tmp_path),
    ]
    assert (first.stop, first.error, len(first.turns)) == ("answer", None, 4)
    assert [bool(seen.error) for seen in first.turns[0].observations] == [False, False, False, True, True, True, True]
    for other in others:
        assert bytes_of(other) == bytes_of(first)
    assert len(teacher.requests) == 4
    for model in models:
        assert model.requests == teacher.requests
