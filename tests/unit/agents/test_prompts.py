"""What models are told, in each profile and mode."""

import pytest

from fusesearch.agents.prompts import render_hermes_tools, render_issue, render_notice, render_system
from fusesearch.core.config import Agent

FULL, NANO = Agent(), Agent(prompt="nano")


def test_the_full_prompt_tells_tools_root_budget_and_answer_format():
    system = render_system(FULL)
    needed = ["`grep`", "`glob`", "`read_file`", "`/repo`", "at most 12 turns", "## Locations to Modify", "## Related Context"]
    assert [text for text in needed if text not in system] == []
    assert "$" not in system


def test_the_nano_prompt_is_one_short_line_without_notices():
    assert len(render_system(NANO)) < 80
    assert render_notice(NANO, 3) == render_notice(NANO, 1) == ""


@pytest.mark.parametrize("agent", [FULL, NANO])
def test_guidance_is_the_only_difference_between_teacher_and_student(agent):
    assert render_system(agent, 5) == render_system(agent) + "\nMake about 5 tool calls in every turn that searches."


def test_sequential_mode_asks_for_one_call_per_turn():
    assert "one call per turn" in render_system(Agent(mode="sequential"))
    assert "one call per turn" not in render_system(FULL)


def test_a_long_issue_is_cut_with_a_notice_and_can_always_be_encoded():
    agent = Agent(issue_chars=100)
    assert render_issue(agent, " x" * 10) == ("x " * 10).strip()
    assert render_issue(agent, "y" * 130) == "y" * 100 + "\n[... the issue goes on; 30 more characters are not shown]"
    render_issue(agent, "\ud800").encode()


def test_dollar_signs_in_schemas_are_left_alone():
    tool = {"type": "function", "function": {"name": "grep", "description": "^a$b"}}
    assert '"^a$b"' in render_hermes_tools([tool])
