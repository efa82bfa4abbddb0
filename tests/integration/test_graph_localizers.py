"""LocAgent and OrcaLoca over snapshots of real git repositories, with scripted models behind the loop and behind real HTTP."""

import asyncio
import json

import pytest

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance
from fusesearch.localizers.base import Setup
from fusesearch.localizers.locagent import LocAgentLocalizer
from fusesearch.localizers.orcaloca import OrcaLocaLocalizer
from fusesearch.search.snapshots import SnapshotStore
from tests.fakes.git import committed

FILES = {
    "parcel/__init__.py": "from parcel.box import Box\n",
    "parcel/box.py": '''\
from parcel.labels import print_label


class Box:
    """Holds things."""

    def __init__(self, width):
        self.width = width

    def seal(self):
        return print_label(self.width)

    def open(self):
        raise ValueError("sealed")
''',
    "parcel/labels.py": "def print_label(width):\n    return shorten('x' * width)\n\n\ndef shorten(text):\n    return text[:9]\n",
    "tests/test_box.py": "def test_seal():\n    pass\n",
}
ISSUE = "`Box.seal` prints labels that are too long: print_label should cut them, see parcel/labels.py"
KINDS = {"locagent": LocAgentLocalizer, "orcaloca": OrcaLocaLocalizer}


@pytest.fixture
def big(tmp_path):
    parts = "".join(f"    def part_{n}(self):\n        return {'x' * 300!r}\n\n" for n in range(200))
    commit = committed(tmp_path / "big", {"big.py": f"class Big:\n{parts}"})
    return SnapshotStore(tmp_path / "snapshots").repository(tmp_path / "big", commit)


@pytest.fixture
def instance():
    return Instance(instance_id="parcel-1", repo="owner/parcel", base_commit="HEAD", problem_statement=ISSUE)


def localizer(name, model, tmp_path, **limits):
    return KINDS[name](Setup(model, Agent(**limits), caches=Caches(tmp_path)))


async def test_locagent_searches_walks_reads_and_answers(repository, instance, tmp_path):
    script = [
        format_calls([("search_entity", {"terms": ["seal", "label"]})]),
        format_calls([
            ("traverse_graph", {"start": ["/repo/parcel/box.py::Box.seal"]}),
            ("retrieve_entity", {"entities": ["/repo/parcel/labels.py::print_label"]}),
        ]),
        "```\n/repo/parcel/labels.py\nfunction: print_label\nline: 6\n\nparcel/box.py\nclass: Box\nmethod: seal\n```",
    ]  # fmt: skip
    done = await localizer("locagent", ScriptedModel(script), tmp_path).localize(instance, repository, seed=3)
    assert (done.error, done.stop, done.seed, done.localizer) == (None, "answer", 3, "locagent")
    assert done.answer.functions == ["parcel/labels.py::print_label", "parcel/labels.py::shorten", "parcel/box.py::Box.seal"]
    walk, code = done.turns[1].observations
    assert walk.output.split("\n") == [
        "/repo/parcel/box.py::Box.seal",
        "└── invokes ── /repo/parcel/labels.py::print_label",
        "    └── invokes ── /repo/parcel/labels.py::shorten",
    ]
    assert (code.entities, code.gain_turn) == (["parcel/labels.py:1", "parcel/labels.py:2"], 0.0)
    assert done.turns[0].observations[0].gain_turn == 1.0


async def test_orcaloca_goes_from_names_over_scores_to_a_conclusion(repository, instance, tmp_path):
    asked = []

    def model(messages):
        prompt = messages[-1].content
        asked.append(prompt)
        if '{"code_info_list"' in prompt:
            return json.dumps({"code_info_list": [{"keyword": "Box", "file_path": ""}]})
        if '{"scores"' in prompt:
            return json.dumps(
                {"scores": [95 if ".seal" in line else 10 for line in prompt.split("\n") if line.startswith("Piece")]}
            )
        if '{"bug_locations"' in prompt:
            return json.dumps(
                {"bug_locations": [{"file_path": "/repo/parcel/labels.py", "class_name": "", "method_name": "shorten"}]}
            )
        return json.dumps({"observation_feedback": f"step {len(asked)}", "potential_bug_locations": [], "new_search_actions": []})

    done = await localizer("orcaloca", ScriptedModel(model), tmp_path).localize(instance, repository)
    calls = [(call.name, call.arguments) for turn in done.turns for call in turn.calls]
    assert calls == [
        ("search_callable", {"query_name": "Box"}),
        ("search_method_in_class", {"class_name": "Box", "method_name": "seal", "file_path": "parcel/box.py"}),
        ("search_file_contents", {"file_name": "box.py", "directory_path": "parcel"}),
    ]
    assert (done.error, done.stop, done.mode) == (None, "answer", "sequential")
    assert done.answer.functions == ["parcel/labels.py::shorten"]
    assert "<results_kept>" in asked[-1]
    assert "step 2" in asked[-1]
    assert all(turn.usage.prompt_tokens for turn in done.turns)


async def test_orcaloca_falls_back_on_what_it_kept_when_the_conclusion_is_useless(repository, instance, tmp_path):
    def model(messages):
        return json.dumps({"code_info_list": [{"keyword": "shorten", "file_path": ""}]})

    done = await localizer("orcaloca", ScriptedModel(model), tmp_path).localize(instance, repository)
    assert done.answer.functions == ["parcel/labels.py::shorten"]


@pytest.mark.parametrize("name", KINDS)
async def test_prompts_stay_below_the_context_whatever_was_found(big, instance, tmp_path, name):
    longest = []

    def model(messages):
        longest.append(sum(len(message.content) for message in messages))
        if name == "locagent":
            return format_calls([("retrieve_entity", {"entities": ["big.py"]})]) if len(longest) < 3 else "```\nbig.py\n```"
        actions = [{"action": "search_callable", "action_input": {"query_name": f"part_{n}"}} for n in range(20)]
        return json.dumps({"observation_feedback": "x" * 5000, "new_search_actions": actions, "scores": [100] * 8})

    agent = Agent(max_context_tokens=8000, max_new_tokens=500)
    found = KINDS[name](Setup(ScriptedModel(model), agent, Tools(output_chars=6000), caches=Caches(tmp_path)))
    long_issue = instance.model_copy(update={"problem_statement": "Big is too big. " * 1200})
    done = await found.localize(long_issue, big)
    assert done.error is None
    assert done.stop in ("answer", "max_context")
    assert max(longest) <= 8000 * 4 + (6000 if name == "locagent" else 0)  # the loop ends after what goes over


async def test_episodes_at_once_on_one_snapshot_share_one_graph(repository, instance, tmp_path, monkeypatch):
    from fusesearch.code.graph import storing

    made = []
    real = storing.facts_of
    monkeypatch.setattr(storing, "facts_of", lambda path, source: made.append(path) or real(path, source))
    model = ScriptedModel([format_calls([("search_entity", {"terms": ["Box"]})]), "```\nparcel/box.py\n```"])
    runs = [localizer("locagent", model, tmp_path).localize(instance, repository) for _ in range(8)]
    done = await asyncio.gather(*runs)
    assert [one.stop for one in done] == ["answer"] * 8
    assert sorted(made) == sorted(FILES)
