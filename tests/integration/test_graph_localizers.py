"""LocAgent and OrcaLoca over snapshots of real git repositories, and what all systems that show code send of much of it."""

import json
from pathlib import Path

import pytest

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent, Tools
from fusesearch.search.repository import Repository
from tests.fakes.dialogue import localized
from tests.fakes.git import files_in, write

FILES = files_in(Path(__file__).parent / "parcel.txt")
ISSUE = "`Box.seal` prints labels that are too long: print_label should cut them, see parcel/labels.py"


@pytest.fixture
def run(tmp_path, repository):
    """An episode of a localizer on the issue."""
    return lambda name, script: localized(name, ScriptedModel(script), repository, ISSUE, caches=Caches(tmp_path))


async def test_locagent_searches_walks_reads_and_answers(run):
    script = [
        format_calls([("search_entity", {"terms": ["seal", "label"]})]),
        format_calls([
            ("traverse_graph", {"start": ["/repo/parcel/box.py::Box.seal"]}),
            ("retrieve_entity", {"entities": ["/repo/parcel/labels.py::print_label"]}),
        ]),
        "```\n/repo/parcel/labels.py\nfunction: print_label\nline: 6\n\nparcel/box.py\nclass: Box\nmethod: seal\n```",
    ]  # fmt: skip
    done = await run("locagent", script)
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


async def test_orcaloca_goes_from_names_over_scores_to_a_conclusion_or_to_what_it_kept(run):
    asked = []

    def model(messages):
        prompt = messages[-1].content
        asked.append(prompt)
        if '{"code_info_list"' in prompt:
            return json.dumps({"code_info_list": [{"keyword": "Box", "file_path": ""}]})
        if '{"scores"' in prompt:
            pieces = [line for line in prompt.split("\n") if line.startswith("Piece")]
            return json.dumps({"scores": [95 if ".seal" in line else 10 for line in pieces]})
        if '{"bug_locations"' in prompt:
            found = {"file_path": "/repo/parcel/labels.py", "class_name": "", "method_name": "shorten"}
            return json.dumps({"bug_locations": [found]})
        return json.dumps({"observation_feedback": f"step {len(asked)}", "potential_bug_locations": [], "new_search_actions": []})

    done = await run("orcaloca", model)
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
    kept = await run("orcaloca", lambda messages: json.dumps({"code_info_list": [{"keyword": "shorten", "file_path": ""}]}))
    assert kept.answer.functions == ["parcel/labels.py::shorten"]


BODY = "\n".join(f"        x{i} = {i} * value  # so that it is long" for i in range(120))
PARTS = "".join(f"    def part_{n}(self, value):\n{BODY}\n\n" for n in range(40))
SCORED = {
    "observation_feedback": "x" * 5000, "scores": [100] * 8,
    "new_search_actions": [{"action": "search_callable", "action_input": {"query_name": f"part_{n}"}} for n in range(20)],
}  # fmt: skip
LONG = {
    "agentless": lambda prompt, number: "```\nm1.py\n" + "\n".join(f"function: M.part_{n}" for n in range(0, 40, 3)) + "\n```",
    "cosil": lambda prompt, number: (
        f"get_code_of_class_function('m1.py', 'M', 'part_{number % 40}')" if "Call one function now" in prompt
        else "```\nTrue\n```" if "### Asked for ###" in prompt else "```\nm1.py\nm2.py\nfunction: M.part_3\n```"
    ),
    "locagent": lambda prompt, number: (
        format_calls([("retrieve_entity", {"entities": ["m1.py"]})]) if number < 3 else "```\nm1.py\n```"
    ),
    "orcaloca": lambda prompt, number: json.dumps(SCORED),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
async def test_requests_stay_below_the_context_and_say_what_is_not_shown(tmp_path, name):
    others = {f"m{number}.py": f"class N{number}:\n    def run(self, value):\n{BODY}\n" for number in range(2, 60)}
    tree = Repository(write(tmp_path / "tree", {"m1.py": f"class M:\n{PARTS}", **others}))
    sent = []

    def model(messages):
        sent.append("\n".join(message.content for message in messages))
        return LONG[name](messages[-1].content, len(sent))

    agent = Agent(max_context_tokens=6000, max_new_tokens=200, issue_chars=3000)
    options = {"tools": Tools(output_chars=6000), "caches": Caches(tmp_path)}
    done = await localized(name, ScriptedModel(model), tree, "M is too big. " * 1200, agent, **options)
    assert (done.error, done.stop in ("answer", "max_context")) == (None, True)
    assert 3 <= len(sent) < 40
    assert max(map(len, sent)) <= 6000 * 4 + (6000 if name == "locagent" else 0)  # the loop ends after what goes over
    shown = "\n".join([*sent, *(seen.output for turn in done.turns for seen in turn.observations)])
    assert "not shown" in shown or "outline" in shown
