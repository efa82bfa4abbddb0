"""A search leaves the searched repository and the working directory as they were, and runs none of its files."""

import json
import sys
from pathlib import Path

import pytest

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.localizers.registry import LOCALIZERS, asks_model
from fusesearch.localizers.searcher import Searcher, instance_of
from fusesearch.search.repository import Repository
from tests.fakes.encoder import shared_encoder
from tests.fakes.git import committed, git
from tests.integration.installed import Copy, found_by_api, found_by_command, found_by_mcp, hostile

ISSUE = "`Box.seal` in box.py prints too long labels"
SOURCE = "class Box:\n    def seal(self):\n        return shorten('x' * 99)\n\n\ndef shorten(text):\n    return text[:9]\n"
NEEDS_MORE = ("oracle",)  # the truth
KEEPS = {
    "ranker": "index",
    "ranker-list": "index",
}


@pytest.mark.parametrize("name", [name for name in LOCALIZERS if name not in NEEDS_MORE])
async def test_a_search_writes_into_the_users_cache_alone(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    committed(tmp_path / "searched", {"box.py": SOURCE})
    reply = json.dumps({"code_info_list": [{"keyword": "shorten", "file_path": ""}]})
    if name == "locagent":
        reply = format_calls([("search_entity", {"terms": ["shorten"]})])
    agent = Agent(max_turns=3, options={"encoder": shared_encoder()})
    searcher = Searcher(name, ScriptedModel(lambda messages: reply) if asks_model(name) else None, agent, Tools())
    for working_directory in ("here", "searched"):
        monkeypatch.chdir(tmp_path / working_directory)
        done = await searcher.run(instance_of("box", ISSUE), Repository(tmp_path / "searched"))
        assert done.error is None
    assert list((tmp_path / "here").iterdir()) == []
    assert git(tmp_path / "searched", "status", "--porcelain", "--ignored") == ""
    kept = {path.name for path in (tmp_path / "cache/fusesearch").glob("*")}
    assert kept == ({KEEPS[name]} if name in KEEPS else set())


COPY = Copy(Path(sys.executable), str(Path(__file__).parents[2]))


@pytest.fixture(params=["script", "module"])
def command(request, tmp_path):
    """The command line as pip's script starts it, whatever script this environment has; or as a module."""
    if request.param == "module":
        return COPY.module
    script = tmp_path / "bin/fusesearch"
    script.parent.mkdir()
    script.write_text("import sys\nfrom fusesearch.cli import main\nsys.exit(main())\n")
    return [COPY.python, str(script)]


@pytest.fixture
def ran(tmp_path):
    return hostile(tmp_path / "tree")


def test_command_line_server_and_python_answer_and_run_nothing_of_the_folder(command, ran, tmp_path):
    assert found_by_command(COPY, command, tmp_path / "tree") == "perimeter"
    assert found_by_mcp(COPY, command, tmp_path / "tree") == "perimeter"
    if command == COPY.module:
        assert found_by_api(COPY, tmp_path / "tree") == "perimeter"
    assert not ran.exists()


def test_without_p_the_module_is_the_folders(ran, tmp_path):
    """What the docs warn of; the test above would pass if nothing in the folder could run."""
    done = COPY.run([COPY.python, "-m", "fusesearch", "--help"], tmp_path / "tree")
    assert done.returncode == 9
    assert "fusesearch" in ran.read_text().split()
