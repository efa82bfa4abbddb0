"""What models are told, in each profile and mode."""

import pytest

from fusesearch.agents.prompts import render_hermes_tools, render_issue, render_notice, render_system
from fusesearch.core.config import Agent

FULL, NANO = Agent(), Agent(prompt="nano")


def test_the_full_prompt_tells_tools_root_budget_and_answer_format_and_the_nano_one_is_a_short_line_without_notices():
    system = render_system(FULL)
    needed = ["`grep`", "`glob`", "`read_file`", "`/repo`", "at most 12 turns", "## Locations to Modify", "## Related Context"]
    assert [text for text in needed if text not in system] == []
    assert "$" not in system
    assert '"^a$b"' in render_hermes_tools([{"type": "function", "function": {"name": "grep", "description": "^a$b"}}])
    assert "one call per turn" in render_system(Agent(mode="sequential"))
    assert "one call per turn" not in system
    assert len(render_system(NANO)) < 80
    assert render_notice(NANO, 3) == render_notice(NANO, 1) == ""


@pytest.mark.parametrize("agent", [FULL, NANO])
def test_guidance_is_the_only_difference_between_teacher_and_student(agent):
    assert render_system(agent, 5) == render_system(agent) + "\nMake about 5 tool calls in every turn that searches."


def test_a_long_issue_is_cut_with_a_notice_and_can_always_be_encoded():
    agent = Agent(issue_chars=100)
    assert render_issue(agent, " x" * 10) == ("x " * 10).strip()
    assert render_issue(agent, "y" * 130) == "y" * 100 + "\n[... the issue goes on; 30 more characters are not shown]"
    render_issue(agent, "\ud800").encode()
