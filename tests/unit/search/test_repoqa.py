"""RepoQA-Agent's five tools on a confined tree."""

import pytest

from fusesearch.agents.loop import run_episode
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance
from fusesearch.localizers.episodes import make_episode, spec_named
from fusesearch.search.repoqa import REPOQA
from fusesearch.search.repository import Repository
from fusesearch.search.tools import Toolbox
from tests.fakes.git import write


@pytest.fixture
def repository(tmp_path):
    lines = "".join(f"line {n}\n" for n in range(1, 301))
    files = {"setup.py": "a (b)\n", "pkg/a.py": lines, "pkg/inner/a.py": "x = a (b)\ny = a (b)\n", "../secret.py": "a (b)\n"}
    root = write(tmp_path / "tree", files)
    (root / "pkg" / "link").symlink_to(tmp_path)
    return Repository(root)


async def call(repository, name, **arguments):
    return await Toolbox(repository, Tools(), tools=REPOQA).call(name, arguments)


async def test_a_folder_is_listed_without_those_inside_it(repository):
    assert (await call(repository, "list_files_in_folder", folder="/repo")).output == "/repo/pkg\n/repo/setup.py"
    assert (await call(repository, "list_files_in_folder", folder="/repo/pkg")).output == "/repo/pkg/a.py\n/repo/pkg/inner"


async def test_a_file_is_read_in_pieces_of_100_lines(repository):
    result = await call(repository, "review_file", file="/repo/pkg/a.py", start_line=11, end_line=300)
    assert result.output.startswith("11\tline 11\n")
    assert result.output.endswith("110\tline 110\n(lines 11-110 of 300)")
    assert result.entities[0] == "pkg/a.py:11"


async def test_files_are_found_by_their_exact_name(repository):
    found = await call(repository, "search_file_in_folder", file_name="a.py", folder="/repo")
    assert found.output == "/repo/pkg/a.py\n/repo/pkg/inner/a.py"
    assert "Nothing" in (await call(repository, "search_file_in_folder", file_name="A.py", folder="/repo")).output


async def test_a_symbol_is_plain_text_and_shows_lines_a_keyword_only_counts(repository):
    shown = await call(repository, "search_symbol_in_file", symbol="a (b)", file="/repo/pkg/inner/a.py")
    assert shown.output == "/repo/pkg/inner/a.py:1:x = a (b)\n/repo/pkg/inner/a.py:2:y = a (b)"
    counted = await call(repository, "search_keyword_in_folder", keyword="a (b)", folder="/repo")
    assert counted.output == "/repo/pkg/inner/a.py:2\n/repo/setup.py:1"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_files_in_folder", {"folder": "/repo/../"}),
        ("list_files_in_folder", {"folder": "/repo/pkg/link"}),
        ("list_files_in_folder", {"folder": "/repo/setup.py"}),
        ("review_file", {"file": "/repo/pkg/link/secret.py", "start_line": 1, "end_line": 2}),
        ("search_file_in_folder", {"file_name": "secret.py", "folder": "/repo/pkg/link"}),
        ("search_symbol_in_file", {"symbol": "a", "file": "/repo/pkg"}),
        ("search_keyword_in_folder", {"keyword": "a", "folder": "/etc"}),
        ("grep", {"pattern": "a"}),
    ],
)
async def test_nothing_outside_can_be_reached_and_errors_teach(repository, name, arguments):
    result = await call(repository, name, **arguments)
    assert result.error
    assert "secret" not in result.output.replace("secret.py", "")


async def test_the_environment_runs_one_call_a_turn_whatever_the_params_say(repository):
    instance = Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement="Where is x?")
    listing = ("list_files_in_folder", {"folder": "/repo"})
    model = ScriptedModel([format_calls([listing, listing]), "## Answer\n- /repo/pkg/inner/a.py::x\n"])
    agent = Agent(toolset="repoqa", mode="parallel")
    trajectory = await run_episode(make_episode(instance, repository, model, agent, Tools(), Sampling(), localizer="x"))
    assert trajectory.mode == "sequential"
    assert [bool(seen.error) for seen in trajectory.turns[0].observations] == [False, True]
    assert trajectory.answer.values == ["/repo/pkg/inner/a.py::x"]
    assert trajectory.stop == "answer"
    assert list(REPOQA) == [tool["function"]["name"] for tool in spec_named("repoqa").instruct(agent, "?", None).tools]
