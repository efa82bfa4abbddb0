"""`mcp`: its options, and its server in this process, asked by the SDK's own client."""

import json
import threading

import pytest
from mcp import Client
from mcp_types import ListRootsResult, Root

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_answer, format_calls
from fusesearch.cli.serving import service
from fusesearch.cli.serving.service import Service
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.ranker import models, workers
from fusesearch.localizers.searcher import Searcher, SearchOptions, choose
from tests.fakes.commands import failed

SHAPES = "class Square:\n    def area(self, side):\n        return side * side\n\n\ndef perimeter(side):\n    return 3 * side\n"
ISSUE = "perimeter(2) of a square gives 6\n\n    >>> perimeter(2)\n    6\n\nI expected 8.\n"
SCRIPT = [
    format_calls([("grep", {"pattern": "perimeter"}), ("read_file", {"path": "/repo/shapes.py"})]),
    format_answer(Answer(modify=[Location(path="shapes.py", function="perimeter")], related=[Location(path="README.md")])),
]
FOUND = {"path": "shapes.py", "function": "perimeter", "lines": [6, 7]}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "shapes.py").write_text(SHAPES)
    (folder / "README.md").write_text("Shapes.\n")
    return folder


def client(folder, script=None, **options):
    searcher = choose(SearchOptions()) if script is None else Searcher("fusesearch", ScriptedModel(script), Agent(), Tools())
    return Client(Service(folder, searcher).server(), **options)


def text(result):
    (content,) = result.content
    return content.text


async def test_coding_agents_see_two_tools_and_with_a_model_three(folder):
    for script, names in ((None, ["localize", "context"]), (SCRIPT, ["localize", "context", "ask"])):
        async with client(folder, script) as asking:
            tools = {tool.name: tool for tool in (await asking.list_tools()).tools}
            assert str(folder) in asking.instructions
        assert list(tools) == names
        assert all(tool.annotations.read_only_hint and not tool.annotations.open_world_hint for tool in tools.values())
        assert all(tool.title and tool.description for tool in tools.values())
        top = tools["localize"].input_schema["properties"].get("top")
        assert ("whole text of the issue" in json.dumps(tools["localize"].input_schema), top is None) == (
            True,
            script is not None,
        )


async def test_the_ranker_lists_as_many_places_as_asked_for(folder):
    async with client(folder) as asking:
        few, one, empty, number = [
            await asking.call_tool("localize", {"issue": ISSUE, "top": top}) for top in (3, 1, "", "1")
        ]  # some clients send every argument, and some models write numbers as text
        refused = [await asking.call_tool("localize", {"issue": ISSUE, "top": top}) for top in (0, 101, "three")]
    assert FOUND.items() <= few.structured_content["places"][0]["functions"][0].items()
    assert few.structured_content["folder"] == str(folder)
    assert (folder / few.structured_content["places"][0]["path"]).is_file()
    assert "shapes.py:6-7  perimeter" in text(few)
    assert len(empty.structured_content["places"]) >= len(one.structured_content["places"]) == 1
    assert number.structured_content["places"] == one.structured_content["places"]
    assert all(result.is_error and "top" in text(result) for result in refused)


async def test_filters_say_which_files_may_be_named(folder):
    every = {"path": "", "lang": "python", "since": "", "no_tests": "true"}
    async with client(folder) as asking:
        for tool in ("localize", "context"):
            found, refused = [await asking.call_tool(tool, {"issue": ISSUE, **more}) for more in (every, {"path": "web"})]
            assert "shapes.py:6-7  perimeter" in text(found)
            assert (refused.is_error, "path: no file here fits --path" in text(refused)) == (True, True)


async def test_a_model_searches_tells_its_turns_and_names_related_places_apart(folder):
    told = []

    async def hear(done, total, message):
        told.append((done, message))

    async with client(folder, SCRIPT) as asking:
        found = (await asking.call_tool("localize", {"issue": ISSUE}, progress_callback=hear)).structured_content
    assert found["places"][0]["functions"] == [FOUND]
    assert found["related"] == [{"path": "README.md", "functions": []}]
    assert (found["cost"]["turns"], found["cost"]["calls"], found["cost"]["efficiency"]) == (2, 2, 1.0)
    assert told == [(1, "turn 1: 2 calls"), (2, "turn 2: the answer")]


async def test_an_episode_without_an_answer_is_a_result_that_says_so(folder):
    async with client(folder, ["I do not know."]) as asking:
        result = await asking.call_tool("localize", {"issue": ISSUE})
    assert (result.is_error, result.structured_content["places"]) == (False, [])
    assert text(result).startswith("No answer: ")


async def test_a_question_is_answered_with_entries_and_text(folder):
    script = [format_calls([("grep", {"pattern": "perimeter"})]), "It does.\n\n## Answer\n- /repo/shapes.py::perimeter\n"]
    async with client(folder, script) as asking:
        result = await asking.call_tool("ask", {"question": "Which function multiplies by 3?"})
        empty = await asking.call_tool("ask", {"question": " "})
    assert result.structured_content["values"] == ["shapes.py::perimeter"]
    assert text(result).startswith("- shapes.py::perimeter\n")
    assert text(empty).endswith(": the question is empty")


async def test_a_word_or_a_question_is_a_search_and_nothing_is_refused_for_being_short(folder):
    async with client(folder) as asking:
        for words in ("perimeter", "how is the perimeter computed"):
            found = await asking.call_tool("localize", {"issue": words})
            assert (found.is_error, text(found)[:8], "%" in text(found)) == (False, "A search", False)
            place = found.structured_content["places"][0]
            assert (found.structured_content["kind"], place["path"], "confidence" in place) == ("search", "shapes.py", False)
        read = await asking.call_tool("context", {"issue": "how is the perimeter computed"})
    assert "def perimeter(side):\n    return 3 * side" in text(read)


async def test_context_returns_what_to_read_within_its_budget(folder):
    async with client(folder) as asking:
        found = await asking.call_tool("context", {"issue": ISSUE, "tokens": 200})
        little = await asking.call_tool("context", {"issue": "it is broken", "tokens": ""})
        refused = await asking.call_tool("context", {"issue": ISSUE, "tokens": 99})
        impact = await asking.call_tool("context", {"issue": "perimeter", "impact": True})
    assert "def perimeter(side):\n    return 3 * side" in text(found)
    assert len(text(found).encode()) <= 800
    assert found.structured_content is None
    assert (little.is_error, text(little)[:33]) == (False, "No answer: too little to go on, n")
    assert refused.is_error
    assert "100" in text(refused)
    assert text(impact).startswith("## shapes.py:6-7  perimeter\ndef perimeter(side)")


async def test_a_first_index_tells_its_progress_and_an_answer_that_cannot_wait_says_what_is_missing(folder, monkeypatch):
    go_on, told, real = threading.Event(), [], workers.analyse
    monkeypatch.setattr(workers, "analyse", lambda path, text: ("slow" in path and go_on.wait(60)) or real(path, text))
    monkeypatch.setattr(service, "PATIENCE", 2)
    (folder / "slow.py").write_text("def slow():\n    pass\n")

    async def hear(*news):
        told.append(news)

    async with client(folder) as asking:
        for tool in ("localize", "context"):
            result = await asking.call_tool(tool, {"issue": ISSUE}, progress_callback=hear)
            said = {**(result.structured_content or {}), **(result.meta or {})}
            assert said["unindexed"] == {"files": 1, "of": 2, "folders": ["slow.py"]}
            assert "perimeter" in result.content[0].text
            assert "1 of 2 files are not yet indexed, most of them in slow.py. Indexing goes on" in result.content[-1].text
        missing = await asking.call_tool("context", {"issue": "slow"})
        assert missing.is_error
        assert "1 of 2 files are not yet indexed" in text(missing)
        assert told == [(1, 2, "indexing: 1 of 2 files")], "the second waits no more"
        go_on.set()
        result = await asking.call_tool("localize", {"issue": "slow() in slow.py fails"})
    assert result.structured_content["places"][0]["path"] == "slow.py"
    assert "unindexed" not in result.structured_content


async def test_a_call_that_cannot_be_is_an_error_that_teaches(folder, tmp_path, monkeypatch):
    async with client(folder) as asking:
        for given, words in (({}, "issue"), ({"issue": 5}, "valid string"), ({"issue": " \n"}, "the issue is empty")):
            result = await asking.call_tool("localize", given)
            assert result.is_error
            assert words in text(result)
        (tmp_path / "models.json").write_text("{")
        monkeypatch.setenv("FUSESEARCH_RANKER", str(tmp_path / "models.json"))
        models.cache_clear()
        damaged = text(await asking.call_tool("localize", {"issue": ISSUE}))
    models.cache_clear()
    assert f"{tmp_path}/models.json holds no models" in damaged
    assert len(damaged.splitlines()) == 1


async def test_no_other_folder_is_served_whatever_a_client_says(folder, tmp_path):
    (tmp_path / "secret.py").write_text("def canary():\n    pass\n")
    asked = []

    async def declare(context):
        asked.append(context)
        return ListRootsResult(roots=[Root(uri=f"file://{tmp_path}")])

    async with client(folder, mode="legacy", list_roots_callback=declare) as asking:
        for more in ({}, {"root": str(tmp_path)}, {"repo": ".."}):
            result = await asking.call_tool("localize", {"issue": "canary() in secret.py fails", **more})
            assert "secret.py:" not in text(result)
            assert result.structured_content["folder"] == str(folder)
    assert asked == []


async def test_the_folder_is_seen_as_it_is_now_and_not_through_a_link_that_replaced_it(folder, tmp_path):
    async with client(folder) as asking:
        assert "fresh.py" not in text(await asking.call_tool("localize", {"issue": "freshly() in fresh.py fails"}))
        (folder / "fresh.py").write_text("def freshly():\n    pass\n")
        assert "fresh.py" in text(await asking.call_tool("localize", {"issue": "freshly() in fresh.py fails"}))
        folder.rename(tmp_path / "other")
        assert (await asking.call_tool("localize", {"issue": ISSUE})).is_error
        folder.symlink_to(tmp_path / "other")
        assert "no longer the folder" in text(await asking.call_tool("localize", {"issue": ISSUE}))


def test_options_that_do_not_fit_are_usage_errors_and_an_invalid_root_or_checkpoint_one_line(run, tmp_path):
    for options in ("", "--root . --transport sse", "--root . --model m --checkpoint c", "--root . --root docs"):
        assert run("mcp", *options.split()).exit_code == 2
    for options in (["--root", tmp_path / "nowhere"], ["--root", tmp_path, "--checkpoint", tmp_path]):
        failed(run("mcp", *options))
