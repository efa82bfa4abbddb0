"""The MCP server in this process: cheap, so that every way to ask can be tried."""

import asyncio
import os

import psutil
import pytest
from mcp import Client, MCPError
from mcp_types import ListRootsResult, Root

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.cli.serving.roots import Roots
from fusesearch.cli.serving.service import Service
from fusesearch.core.config import Agent, Tools
from fusesearch.localizers.ranker import models
from fusesearch.localizers.searcher import Searcher, SearchOptions, choose
from fusesearch.search.repository import Repository
from tests.fakes.waiting import until
from tests.integration.mcp_parts import CANARY, FOUND, ISSUE, SCRIPT, plant, text


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("tree"))


def service(*folders, script=None):
    searcher = choose(SearchOptions()) if script is None else Searcher("fusesearch", ScriptedModel(script), Agent(), Tools())
    return Service(Roots(folders), searcher, search=True)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("read_file", {"path": "../secret.txt"}),
        ("read_file", {"path": "/repo/../secret.txt"}),
        ("read_file", {"path": "{tree}/secret.txt"}),
        ("read_file", {"path": "/etc/passwd"}),
        ("read_file", {"path": "link.txt"}),
        ("read_file", {"path": "up/secret.txt"}),
        ("grep", {"pattern": "canary", "path": ".."}),
        ("grep", {"pattern": "canary", "path": "up", "output_mode": "content"}),
        ("grep", {"pattern": "canary", "path": "link.txt", "output_mode": "content"}),
        ("glob", {"pattern": "*", "path": "up"}),
        ("read_file", {"path": "secret.txt", "root": ".."}),
        ("read_file", {"path": "secret.txt", "root": "{tree}"}),
        ("read_file", {"path": "/etc/passwd", "root": "/"}),
        ("glob", {"pattern": "*", "root": "more"}),
        ("grep", {"pattern": "canary", "root": ["code"]}),
        ("localize", {"issue": CANARY, "root": "{tree}"}),
        ("localize", {"issue": CANARY, "root": "code", "repo": "{tree}"}),
    ],
)
async def test_nothing_a_client_sends_leads_out_of_the_roots(tree, name, given):
    told = {key: value.replace("{tree}", str(tree)) if isinstance(value, str) else value for key, value in given.items()}
    async with Client(service(tree / "code").server()) as client:
        result = await client.call_tool(name, told)
    assert result.is_error
    assert text(result).startswith("Error: ")
    assert CANARY not in text(result)
    assert "root:x:" not in text(result)


async def test_roots_that_the_client_declares_are_not_even_asked_for(tree):
    asked = []

    async def declare(context):
        asked.append(context)
        return ListRootsResult(roots=[Root(uri=f"file://{tree}")])

    async with Client(service(tree / "code").server(), mode="legacy", list_roots_callback=declare) as client:
        result = await client.call_tool("grep", {"pattern": "canary"})
        assert text(result).startswith("No matches")
    assert asked == []


async def test_several_roots_are_told_apart_by_name_and_one_must_be_named(tree):
    (tree / "more/code/only_here.py").write_text("x = 1\n")
    async with Client(service(tree / "code", tree / "more/code").server()) as client:
        offered = (await client.list_tools()).tools
        assert all(tool.input_schema["properties"]["root"]["enum"] == ["code", "code-2"] for tool in offered)
        assert all("root" in tool.input_schema["required"] for tool in offered)
        found = [text(await client.call_tool("glob", {"pattern": "only*", "root": root})) for root in ("code", "code-2")]
        assert found == ["No files match the root (only*)", "only_here.py"]
        unnamed = await client.call_tool("glob", {"pattern": "*.py"})
        assert (unnamed.is_error, text(unnamed)) == (True, "Error: root is missing; the roots are code, code-2")
        answer = await client.call_tool("localize", {"issue": ISSUE, "root": "code-2"})
        assert answer.structured_content["root"] == "code-2"


async def test_related_places_stand_apart_and_a_function_has_its_lines(tree):
    async with Client(service(tree / "code", script=SCRIPT).server()) as client:
        found = (await client.call_tool("localize", {"issue": ISSUE})).structured_content
    assert found["modify"] == [FOUND]
    assert found["related"] == [{"path": "README.md", "function": None, "lines": None}]
    assert (found["trajectory"]["turns"], found["trajectory"]["calls"], found["trajectory"]["efficiency"]) == (2, 2, 1.0)


async def test_a_question_is_answered_with_entries_and_text(tree):
    script = [format_calls([("grep", {"pattern": "perimeter"})]), "It does.\n\n## Answer\n- /repo/shapes.py::perimeter\n"]
    async with Client(service(tree / "code", script=script).server()) as client:
        result = await client.call_tool("ask", {"question": "Which function multiplies by 3?"})
        empty = await client.call_tool("ask", {"question": " "})
    assert result.structured_content["values"] == ["shapes.py::perimeter"]
    assert text(result).startswith("- shapes.py::perimeter\n")
    assert text(empty) == "Error: the question is empty"


async def test_a_damaged_model_file_is_an_error_of_one_line(tree, tmp_path, monkeypatch):
    (tmp_path / "models.json").write_text("{")
    monkeypatch.setenv("FUSESEARCH_RANKER", str(tmp_path / "models.json"))
    models.cache_clear()
    async with Client(service(tree / "code").server()) as client:
        result = await client.call_tool("localize", {"issue": ISSUE})
    assert result.is_error
    assert text(result).startswith(f"Error: {tmp_path}/models.json holds no models")


async def test_an_episode_without_an_answer_is_a_result_that_says_so(tree):
    async with Client(service(tree / "code", script=["I do not know."]).server()) as client:
        result = await client.call_tool("localize", {"issue": ISSUE})
    assert not result.is_error
    assert result.structured_content["modify"] == []
    assert text(result).startswith("No answer: ")


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("localize", {}, "issue is missing; use localize(issue, top?, root?)"),
        ("localize", {"isue": "x", "top": 3}, "unknown argument isue; use localize(issue, top?, root?)"),
        ("localize", {"issue": 5}, "issue must be a string"),
        ("localize", {"issue": " \n"}, "the issue is empty"),
        ("grep", {}, "use grep(pattern, path?"),
        ("grep", {"pattern": "("}, "unclosed group"),
        ("read_file", {"path": "shape.py"}, "close: shapes.py"),
    ],
)
async def test_a_call_that_cannot_be_is_an_error_that_teaches(tree, name, given, words):
    async with Client(service(tree / "code").server()) as client:
        result = await client.call_tool(name, given)
    assert result.is_error
    assert words in text(result)
    assert len(text(result).splitlines()) == 1


async def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(tree):
    async with Client(service(tree / "code").server()) as client:
        with pytest.raises(MCPError, match="the tools are localize, context, grep, glob, read_file"):
            await client.call_tool("bash", {"command": "ls"})


async def test_the_next_call_sees_changes_on_disk(tree):
    async with Client(service(tree / "code").server()) as client:
        before = text(await client.call_tool("grep", {"pattern": "fresh", "glob": "*.txt"}))
        (tree / "code/notes.txt").write_text("fresh\n")
        after = text(await client.call_tool("grep", {"pattern": "fresh", "glob": "*.txt"}))
    (tree / "code/notes.txt").unlink()
    assert before.startswith("No matches")
    assert after == "notes.txt"


async def test_a_cancelled_tool_call_leaves_no_ripgrep_running(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(Repository, "walks", lambda *_: [["--", "./pipe"]])
    async with Client(service(tmp_path).server(), mode="legacy") as client:
        asking = asyncio.create_task(client.call_tool("grep", {"pattern": "x"}))
        await until(lambda: running("rg"))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: not running("rg"))
    assert not running("rg")


def running(name):
    return [child for child in psutil.Process().children(recursive=True) if child.name() == name and child.is_running()]


async def test_the_ranker_lists_as_many_places_as_asked_for_and_a_model_takes_no_top(tree):
    async with Client(service(tree / "code").server()) as client:
        (schema,) = [tool.input_schema for tool in (await client.list_tools()).tools if tool.name == "localize"]
        assert schema["properties"]["top"]["maximum"] == 100
        few, one = [await client.call_tool("localize", {"issue": ISSUE, "top": top}) for top in (3, 1)]
        assert len(few.structured_content["modify"]) >= len(one.structured_content["modify"]) == 1
        for top in (1.0, "1"):  # clients with one kind of number, and models that write numbers as text
            same = await client.call_tool("localize", {"issue": ISSUE, "top": top})
            assert same.structured_content["modify"] == one.structured_content["modify"]
        for top in (0, 101, 1.5, "1.5", "three", "9" * 5000, True, [1]):
            refused = await client.call_tool("localize", {"issue": ISSUE, "top": top})
            assert text(refused) == "Error: localize: top must be a number from 1 to 100"
    async with Client(service(tree / "code", script=SCRIPT).server()) as client:
        (schema,) = [tool.input_schema for tool in (await client.list_tools()).tools if tool.name == "localize"]
        assert "top" not in schema["properties"]
        assert "unknown argument top" in text(await client.call_tool("localize", {"issue": ISSUE, "top": 3}))


async def test_coding_agents_see_two_tools_unless_all_are_asked_for(tree):
    offered = Service(Roots([tree / "code"]), choose(SearchOptions()))
    async with Client(offered.server()) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["localize", "context"]
        assert "grep" not in client.instructions
        assert str(tree / "code") in client.instructions
        with pytest.raises(MCPError, match=r"the tools are localize, context$"):
            await client.call_tool("grep", {"pattern": "x"})


async def test_context_returns_what_to_read_within_its_budget(tree):
    async with Client(service(tree / "code").server()) as client:
        found = await client.call_tool("context", {"issue": ISSUE, "tokens": 200})
        assert text(found).startswith("## shapes.py:6-7  perimeter (")
        assert "def perimeter(side):\n    return 3 * side" in text(found)
        assert len(text(found).encode()) <= 800
        assert found.structured_content is None
        little = await client.call_tool("context", {"issue": "it is broken"})
        assert (little.is_error, text(little)[:33]) == (False, "No answer: too little to go on, n")
        for tokens in (200.0, "200"):
            same = await client.call_tool("context", {"issue": ISSUE, "tokens": tokens})
            assert text(same) == text(found)
        for tokens in (99, 100_001, "2e2", 200.5, True):
            refused = await client.call_tool("context", {"issue": ISSUE, "tokens": tokens})
            assert text(refused) == "Error: context: tokens must be a number from 100 to 100000"
        assert "use context(issue, tokens?, root?)" in text(await client.call_tool("context", {"issue": ISSUE, "top": 3}))


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("read_file", {"path": "{root}/shapes.py", "end_line": 1}, "class Square:"),
        ("read_file", {"path": "file://{root}/shapes.py", "end_line": 1}, "class Square:"),
        ("read_file", {"path": "{root}/../code/shapes.py", "end_line": 1}, "class Square:"),
        ("read_file", {"path": "inner\\deep.py"}, "def deep"),
        ("grep", {"pattern": "def deep", "path": "{root}/inner"}, "inner/deep.py"),
        ("grep", {"pattern": "def deep", "path": "{root}"}, "inner/deep.py"),
        ("grep", {"pattern": "def deep", "glob": "{root}/inner/*.py"}, "inner/deep.py"),
        ("glob", {"pattern": "{root}/inner/*.py"}, "inner/deep.py"),
        ("glob", {"pattern": "*.py", "path": "{root}/inner"}, "inner/deep.py"),
        ("grep", {"pattern": "def deep", "path": "", "glob": "", "output_mode": "", "root": ""}, "inner/deep.py"),
        ("glob", {"pattern": "deep*", "path": "", "root": ""}, "inner/deep.py"),
    ],
)
async def test_paths_of_the_machine_and_empty_strings_are_taken_and_paths_come_back_relative(tmp_path, name, given, found):
    root = plant(tmp_path) / "code"
    (root / "inner").mkdir()
    (root / "inner/deep.py").write_text("def deep():\n    return '/repo/inner/deep.py'\n")
    told = {key: value.replace("{root}", str(root)) if isinstance(value, str) else value for key, value in given.items()}
    async with Client(service(root).server()) as client:
        result = await client.call_tool(name, told)
    assert not result.is_error, text(result)
    assert found in text(result)
    assert "/repo/shapes" not in text(result)
    assert not text(result).startswith("/repo")


async def test_the_text_of_a_file_stays_as_it_is(tmp_path):
    (tmp_path / "deep.py").write_text("/repo/x\nx = '/repo/y'\n")
    async with Client(service(tmp_path).server()) as client:
        found = text(await client.call_tool("grep", {"pattern": "repo", "output_mode": "content"}))
        read = text(await client.call_tool("read_file", {"path": "deep.py"}))
    assert found == "deep.py:1:/repo/x\ndeep.py:2:x = '/repo/y'"
    assert "/repo/x" in read


async def test_localize_takes_empty_strings_for_what_may_be_left_out_and_names_the_folder(tree):
    async with Client(service(tree / "code").server()) as client:
        found = await client.call_tool("localize", {"issue": ISSUE, "top": "", "root": ""})
    assert found.structured_content["folder"] == str(tree / "code")
    assert (tree / "code" / found.structured_content["places"][0]["path"]).is_file()
