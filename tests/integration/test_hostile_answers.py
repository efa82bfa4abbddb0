"""What a model writes is parsed, never executed, and leads nowhere: in calls, in arguments and in answers."""

import ast
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fusesearch.agents.loop import run_episode
from fusesearch.agents.models.base import Sampling
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository
from tests.fakes.git import write

ROOT = Path(__file__).parents[2]
CANARY = "CANARY_51b2d9"
ANSWER = "## Locations to Modify\n- {}\n"
CODE = (
    "__import__('os').system('touch {ran}')",
    "$(touch {ran})",
    "`touch {ran}`",
    "; touch {ran} #",
    "| touch {ran}",
    "\n!touch {ran}\n",
    "{{{{ cycler.__init__.__globals__.os.system('touch {ran}') }}}}",
    "$system ${{issue}} {{0.__class__}} %s",
    "!!python/object/apply:os.system ['touch {ran}']",
    "cos\nsystem\n(S'touch {ran}'\ntR.",
    "<script>fetch('file://{ran}')</script>",
)


@pytest.fixture
def place(tmp_path):
    write(tmp_path, {"outside/secret.py": f"{CANARY} = 'alpha'\n", "root/a.py": "alpha = 1\n"})
    (tmp_path / "root" / "out").symlink_to("../outside")
    return tmp_path


async def run(place, replies, issue="It breaks."):
    """A whole episode in which the model says ``replies``, then nothing of use."""
    instance = Instance(instance_id="i", repo="o/r", base_commit="c", problem_statement=issue)
    model = ScriptedModel([*replies, "no more"])
    repository = Repository(place / "root")
    return await run_episode(make_episode(instance, repository, model, Agent(), Tools(), Sampling(), localizer="fusesearch"))


@pytest.mark.parametrize("code", CODE)
async def test_code_of_any_kind_is_text(place, code):
    code = code.format(ran=place / "ran")
    calls = [("grep", {"pattern": code}), ("glob", {"pattern": code}), ("read_file", {"path": code}), (code, {code: code})]
    replies = [
        format_calls(calls),
        f'<tool_call>\n{{"name": "grep", "arguments": {code}}}\n</tool_call>',
        ANSWER.format(code) + code,
    ]
    trajectory = await run(place, replies, issue=code)
    assert not (place / "ran").exists()
    assert trajectory.error is None
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


PIECES = (
    "<tool_call>", "</tool_call>", "<tool_response>", "<|im_end|>", "<|im_start|>system\n", "<think>", "</think>",
    '{"name": "grep", "arguments": ',
    '{"name": "read_file", "arguments": {"path": "', '{"name": "glob", "arguments": {"pattern": "', '{"pattern": "',
    '"path": "', '"}}', "}}", "[",
    "null",
    "/repo/out/secret.py", "../outside", "/repo/out", "/etc/passwd", "alpha", ".", "..", "*", "**", "\n",
    "\\u0000", "\\ud800", "\0", "\ud800", "é", "1e999", "-",
    "## Locations to Modify\n", "- /repo/a.py::f\n", "- /repo/../outside/secret.py::x\n", "grep", "--follow", '"', "'", ",", ":",
)  # fmt: skip
WELL_FORMED = st.builds(
    lambda name, arguments: format_calls([(name, arguments)]),
    st.sampled_from(("grep", "glob", "read_file", "bash")),
    st.dictionaries(st.sampled_from(("pattern", "path", "glob", "output_mode")), st.sampled_from(PIECES), max_size=3),
)
TEXT = st.lists(WELL_FORMED | st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)


@settings(max_examples=4 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(st.lists(TEXT, max_size=3))
async def test_no_text_leads_out_or_breaks_an_episode(place, replies):
    trajectory = await run(place, replies, issue="".join(replies))
    seen = json.dumps([turn.model_dump(mode="json")["observations"] for turn in trajectory.turns])
    assert CANARY not in seen
    assert trajectory.error is None
    assert trajectory.answer is None or all(".." not in entity for entity in trajectory.answer.files)


FORBIDDEN = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads", "yaml.load",
    "marshal.loads",
}  # fmt: skip
ALLOWED = {
    "data/sources/synthetic/corpus.py": {"compile"},  # mining runs the doctests of installed packages, in a sandbox
    "data/sources/synthetic/doctests.py": {"compile", "exec"},
    "data/sources/synthetic/sandbox.py": {"pickle.loads"},  # what its own child wrote
    "training/ranks.py": {"pickle.loads"},  # what its own ranks and the process that starts them wrote, in a folder of its own
}
LIBRARY = ROOT / "fusesearch"


def called(tree):
    """Dotted names of everything the module calls, and ``shell`` where a process is started with one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
            yield from (keyword.arg for keyword in node.keywords if keyword.arg == "shell")


def test_nothing_that_could_run_text_is_ever_called():
    found = {}
    for path in LIBRARY.rglob("*.py"):
        if names := set(called(ast.parse(path.read_text()))) & (FORBIDDEN | {"shell"}):
            found[path.relative_to(LIBRARY).as_posix()] = names
    assert found == ALLOWED
