"""``fusesearch localizers``: a line for each system."""

import json

import pytest

from fusesearch.localizers.registry import LOCALIZERS


def test_every_localizer_is_listed_with_what_it_needs(run):
    listed = run("localizers")
    assert listed.exit_code == 0
    rows = {line.split()[0]: line.split()[1] for line in listed.stdout.splitlines() if line.split()[1:2] in (["asked"], ["none"])}
    assert rows == {name: "asked" if entry.asks_model else "none" for name, entry in LOCALIZERS.items()}
    found = json.loads(run("localizers", "--format", "json").stdout)
    assert found["cosil"] == {
        "asks_model": True, "issues": True, "questions": False, "bound": False, "summary": LOCALIZERS["cosil"].summary,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["random", "oracle"])
@pytest.mark.parametrize("command", [("localize", "perimeter gives 6"), ("ask", "who calls perimeter?")])
def test_bounds_are_for_measuring_alone(run, repo, name, command):
    refused = run(*command, "--repo", repo, "--localizer", name)
    assert refused.exit_code == 2
    assert "only evaluate" in " ".join(refused.stderr.split())


def test_localizers_of_questions_answer_no_issue(run, repo):
    refused = run("localize", "perimeter gives 6", "--repo", repo, "--localizer", "lexical-answers")
    assert refused.exit_code == 2
    assert "fusesearch ask" in refused.stderr


@pytest.mark.parametrize(("command", "most"), [("localize", 45), ("ask", 45), ("mcp", 60), ("evaluate", 60), ("compare", 60)])
def test_a_page_of_help_fits_a_screen(run, command, most):
    shown = run(command, "--help").stdout
    assert len(shown.splitlines()) <= most
    assert "--calls-per-turn" not in shown


def test_help_all_has_every_option_and_the_next_page_of_help_is_short_again(run):
    whole = run("localize", "--help-all")
    assert whole.exit_code == 0
    assert {"--calls-per-turn", "--pre-search", "--settings", "--top"} <= set(whole.stdout.split())
    assert "--calls-per-turn" not in run("localize", "--help").stdout
    assert "localizers" in whole.stdout
