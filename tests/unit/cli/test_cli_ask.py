"""`ask`: what is refused before a model is asked."""

import pytest

import fusesearch
from fusesearch.core.errors import OptionError


@pytest.mark.parametrize("localizer", [(), ("--localizer", "fusesearch"), ("--localizer", "rag")])
def test_without_a_model_one_line_says_what_to_use_instead(run, repo, localizer):
    refused = run("ask", "--repo", repo, "who calls perimeter?", *localizer)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "model" in refused.stderr


def test_python_says_the_same(repo):
    with pytest.raises(OptionError, match=r"a question needs a model or a checkpoint; .*`fusesearch context NAME`"):
        fusesearch.ask(repo, "who calls perimeter?")


def test_wrong_use_is_one_line(run, repo):
    model = ("--model", "m", "--base-url", "http://localhost:1/v1")
    assert "the question is empty" in run("ask", "--repo", repo, " ", *model).stderr
    assert run("ask", "--repo", repo, "x", "--tools", "grep").exit_code == 2
    assert "needs the address" in run("ask", "--repo", repo, "x", "--model", "m").stderr
    wrong = run("ask", "--repo", repo, "x", *model, "--localizer", "cosil")
    assert (wrong.exit_code, "answers no questions" in wrong.stderr) == (2, True)
