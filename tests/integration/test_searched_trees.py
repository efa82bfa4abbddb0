"""A search leaves the searched repository and the working directory as they were: what it keeps lies in the user's cache."""

import json

import pytest

from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.localizers.registry import LOCALIZERS, asks_model
from fusesearch.localizers.searcher import Searcher, instance_of
from fusesearch.search.repository import Repository
from tests.fakes.encoder import shared_encoder
from tests.fakes.git import committed, git

ISSUE = "`Box.seal` in box.py prints too long labels"
SOURCE = "class Box:\n    def seal(self):\n        return shorten('x' * 99)\n\n\ndef shorten(text):\n    return text[:9]\n"
NEEDS_MORE = ("oracle", "prior")  # the truth, other questions
KEEPS = {
    "ranker": "index",
    "code-answers": "index",
    "ranker-list": "index",
    "routing": "index",
    "locagent": "graphs",
    "orcaloca": "graphs",
    "swerank": "vectors",
    "swerank-embed": "vectors",
}


@pytest.mark.parametrize("name", [name for name in LOCALIZERS if name not in NEEDS_MORE])
async def test_a_search_writes_into_the_users_cache_alone(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    committed(tmp_path / "searched", {"box.py": SOURCE})
    reply = json.dumps({"code_info_list": [{"keyword": "shorten", "file_path": ""}]})
    if name == "locagent":
        reply = format_calls([("search_entity", {"terms": ["shorten"]})])
    agent = Agent(max_turns=3, encoder=shared_encoder())
    searcher = Searcher(name, ScriptedModel(lambda messages: reply) if asks_model(name) else None, agent, Tools())
    for working_directory in ("here", "searched"):
        monkeypatch.chdir(tmp_path / working_directory)
        done = await searcher.run(instance_of("box", ISSUE), Repository(tmp_path / "searched"))
        assert done.error is None
    assert list((tmp_path / "here").iterdir()) == []
    assert git(tmp_path / "searched", "status", "--porcelain", "--ignored") == ""
    kept = {path.name for path in (tmp_path / "cache/fusesearch").glob("*")}
    assert kept == ({KEEPS[name]} if name in KEEPS else set())
