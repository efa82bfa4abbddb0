"""A main agent over a scripted endpoint: real HTTP, real git, real commands.

``FUSESEARCH_MINI`` may name the program of a real mini-swe-agent; without it a stand-in with its command line is asked.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from experiments.downstream import running
from experiments.downstream.__main__ import app
from experiments.downstream.attempts import read_attempts
from fusesearch.core.schema import Instance
from fusesearch.core.storage import write_jsonl
from fusesearch.evaluation.published.patches import Fault
from tests.fakes import main_agent
from tests.fakes.endpoint import Endpoint
from tests.fakes.git import committed, git

SOURCES = {
    "pkg/__init__.py": "",
    "pkg/shapes.py": "def area(side):\n    return side * side\n\n\ndef perimeter(side):\n    return 3 * side\n",
    "run.sh": "#!/bin/sh\n",
    **dict.fromkeys(("tasks.py", "fusesearch.py", "typing_extensions.py"), "raise SystemExit(9)\n"),  # nobody imports them
}
ISSUE = "perimeter of a square is wrong: `perimeter(2)` gives 6"
FIX = "sed -i 's/3 [*] side/4 * side/' pkg/shapes.py"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@pytest.fixture
def agent(tmp_path):
    if "FUSESEARCH_MINI" in os.environ:
        return os.environ["FUSESEARCH_MINI"]
    program = tmp_path / "mini"
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, main_agent.__file__])} "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Two issues on one repository, in a folder where the commands work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    commit = committed(tmp_path / "work", SOURCES)
    git(tmp_path, "clone", "-q", "--bare", "work", "repos/o__shapes.git")
    names = ("o__shapes-1", "o__shapes-2")
    write_jsonl(
        tmp_path / "issues.jsonl",
        [Instance(instance_id=name, repo="o/shapes", base_commit=commit, problem_statement=f"{ISSUE} {name}") for name in names],
    )
    return tmp_path


def commands(*steps):
    """An endpoint's answers: a call of the shell a turn, the last one again and again."""

    def answer(request):
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        function = {"name": "bash", "arguments": json.dumps({"command": steps[min(turn, len(steps) - 1)]})}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{turn}", "type": "function", "function": function}]}

    return answer


def words_of(endpoint, agent, configuration="none", *more):
    words = ["--configuration", configuration, "--instances", "issues.jsonl", "--repos", "repos"]
    return [*words, "--model", "m", "--base-url", endpoint.url, "--agent", str(agent), *more]


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)


def attempts(configuration="none"):
    return read_attempts(Path("downstream"))[configuration]


def sleeping(seconds):
    return [row for row in psutil.process_iter(["cmdline"]) if row.info["cmdline"] == ["sleep", str(seconds)]]


def issue_of(request):
    return request["messages"][1]["content"]


@pytest.mark.usefixtures("project")
def test_the_patch_is_what_changed_and_both_kinds_of_tokens_are_counted(agent):
    with Endpoint(commands(FIX, SUBMIT)) as endpoint:
        done = run(*words_of(endpoint, agent))
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in Path("downstream/none/predictions.jsonl").read_text().splitlines()]
    assert [(row["instance_id"], row["model_name_or_path"]) for row in rows] == [
        ("o__shapes-1", "m+none"),
        ("o__shapes-2", "m+none"),
    ]
    assert "+    return 4 * side" in rows[0]["model_patch"]
    first = attempts()[0]
    assert (first.end, first.fault, first.main.requests, first.questions) == ("Submitted", None, 2, 0)
    assert first.main.tokens > 0
    assert first.localizer.tokens == 0
    assert not list(Path("downstream").rglob("shapes.py"))


@pytest.mark.usefixtures("project")
def test_before_it_starts_the_agent_sees_the_localizer_s_answer(agent):
    with Endpoint(commands(SUBMIT)) as endpoint:
        assert run(*words_of(endpoint, agent, "pre-search")).exit_code == 0
        assert re.search(r"1\. +\d+%  pkg/shapes\.py", issue_of(endpoint.asked[0]).partition(ISSUE)[2])
    first = attempts("pre-search")[0]
    assert (first.questions, first.fault) == (1, Fault.EMPTY)
    assert first.localizer.seconds > 0


@pytest.mark.usefixtures("project")
def test_a_sub_agent_is_a_command_that_can_be_asked_again(agent):
    asked = "localize 'perimeter of a square' && localize area of a square"
    with Endpoint(commands(asked, FIX, SUBMIT)) as endpoint:
        assert run(*words_of(endpoint, agent, "sub-agent", "--command-seconds", 120)).exit_code == 0
        assert "localize TEXT" in issue_of(endpoint.asked[0])
        assert re.search(r"1\. +\d+%  pkg/shapes\.py", endpoint.asked[1]["messages"][-1]["content"])
    assert [row.questions for row in attempts("sub-agent")] == [2, 2]


@pytest.mark.usefixtures("project")
def test_tokens_of_a_localizer_that_asks_a_model_are_its_own(agent):
    def answer(request):
        if request["model"] == "small":
            return {"role": "assistant", "content": "## Locations to modify\n- /repo/pkg/shapes.py::perimeter\n"}
        return commands(SUBMIT)(request)

    with Endpoint(answer) as endpoint:
        more = ("--localizer-model", "small", "--localizer-base-url", endpoint.url, "--max-instances", 1)
        assert run(*words_of(endpoint, agent, "pre-search", *more)).exit_code == 0
        assert [request["model"] for request in endpoint.asked] == ["small", "m"]
    (only,) = attempts("pre-search")
    assert (only.main.requests, only.localizer.requests) == (1, 1)
    assert only.localizer.tokens > 0


@pytest.mark.usefixtures("project")
def test_whatever_it_does_to_git_the_patch_is_the_difference(agent):
    history = "git add -A; git commit -qm x; rm -rf .git; git init -q; git init -q inner; touch inner/a.py"
    spoil = f"{FIX}; {history}; chmod -x run.sh; echo new > added.py"
    with Endpoint(commands(spoil, SUBMIT)) as endpoint:
        run(*words_of(endpoint, agent, "none", "--max-instances", 1))
    (only,) = attempts()
    assert "+    return 4 * side" in only.patch
    assert "added.py" in only.patch
    assert only.fault is None


@pytest.mark.usefixtures("project")
def test_a_huge_patch_is_counted_and_left_out(agent):
    with Endpoint(commands("yes spam | head -c 3000000 > pkg/area.py", SUBMIT)) as endpoint:
        shown = run(*words_of(endpoint, agent, "none", "--max-instances", 1)).output
    assert attempts()[0].fault is Fault.HUGE
    assert json.loads(Path("downstream/none/predictions.jsonl").read_text())["model_patch"] == ""
    assert str(Fault.HUGE) in shown


@pytest.mark.usefixtures("project")
def test_an_agent_that_never_ends_is_stopped_with_all_it_started(agent, monkeypatch):
    monkeypatch.setattr(running, "GRACE", 30.0 if "FUSESEARCH_MINI" in os.environ else 1.0)
    with Endpoint(commands("(setsid sleep 987 &) ; sleep 987")) as endpoint:
        limits = ("--max-seconds", 3, "--command-seconds", 1, "--max-instances", 1)
        assert run(*words_of(endpoint, agent, "none", *limits)).exit_code == 0
        assert endpoint.asked
    (only,) = attempts()
    assert (only.end, only.fault) == ("TimeExceeded", Fault.EMPTY)
    assert not sleeping(987)


@pytest.mark.usefixtures("project")
def test_an_agent_at_its_most_turns_ends_with_what_it_has(agent):
    with Endpoint(commands(FIX, "true", SUBMIT)) as endpoint:
        run(*words_of(endpoint, agent, "none", "--max-turns", 2, "--max-instances", 1))
    (only,) = attempts()
    assert (only.end, only.fault) == ("LimitsExceeded", None)


@pytest.mark.usefixtures("project")
def test_an_endpoint_that_dies_is_no_outcome_and_the_run_goes_on_later(agent):
    def dies(request):
        if "o__shapes-2" in issue_of(request):
            raise ValueError("gone")
        return commands(FIX, SUBMIT)(request)

    with Endpoint(dies) as endpoint:
        words = words_of(endpoint, agent)
        done = run(*words)
        assert done.exit_code == 1
        assert "o__shapes-2" in done.output
        assert [row.instance_id for row in attempts()] == ["o__shapes-1"]
        endpoint._answer, before = commands(FIX, SUBMIT), len(endpoint.asked)
        assert run(*words).exit_code == 0
        assert len(endpoint.asked) == before + 2
    assert [row.instance_id for row in attempts()] == ["o__shapes-1", "o__shapes-2"]


def test_a_killed_run_goes_on_and_leaves_nothing_running(agent, project):
    with Endpoint(commands(FIX, "sleep 876", SUBMIT)) as endpoint:
        words = words_of(endpoint, agent)
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        first = subprocess.Popen([sys.executable, "-m", "experiments.downstream", *words], cwd=project, env=environment)
        while not sleeping(876):
            assert first.poll() is None
            time.sleep(0.1)
        first.send_signal(signal.SIGKILL)
        first.wait()
        endpoint._answer = commands(FIX, SUBMIT)
        assert run(*words).exit_code == 0
    assert [row.main.requests for row in attempts()] == [2, 2]
    assert not sleeping(876)


@pytest.mark.usefixtures("project")
def test_other_settings_in_the_same_folder_are_refused_and_reports_are_read(agent):
    with Endpoint(commands(FIX, SUBMIT)) as endpoint:
        run(*words_of(endpoint, agent))
        refused = run(*words_of(endpoint, agent, "none", "--max-turns", 3))
    assert refused.exit_code == 1
    assert "other settings" in refused.output
    Path("report.json").write_text(json.dumps({"resolved_ids": ["o__shapes-2"]}))
    shown = run("--report", "none=report.json").output
    assert "50.0" in shown
