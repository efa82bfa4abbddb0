"""``fusesearch localizers``: a line for each system."""

import json

import pytest

from fusesearch.localizers.registry import LOCALIZERS


def test_every_localizer_is_listed_with_what_it_needs(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")  # no name is cut
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
    refused = run(
        "localize", "perimeter gives 6", "--repo", repo, "--localizer", "rag", "--model", "m", "--base-url", "http://h/v1"
    )
    assert refused.exit_code == 2
    assert "fusesearch ask" in refused.stderr
