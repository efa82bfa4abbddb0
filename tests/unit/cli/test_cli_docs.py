"""The generated pages are fresh, and the written ones name what exists."""

import re
from pathlib import Path

import pytest
import typer

from flows.__main__ import app as checkout
from flows.cli import docs
from fusesearch.core.schema import Score
from fusesearch.evaluation.metrics import METRICS
from tests.fakes.commands import app

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("page", "text"), [(docs.CLI_PAGE, docs.cli_page), (docs.EVALUATION_PAGE, docs.evaluation_page)])
def test_generated_pages_are_fresh(page, text):
    assert (ROOT / page).read_text() == text(), "run: python -m flows.cli.docs"


def test_every_field_of_a_score_is_explained():
    assert all(field.description for field in Score.model_fields.values())
    assert all(row.words for row in METRICS.values())


PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_modules_named_in_the_pages_exist(page):
    text = (ROOT / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    modules = re.findall(
        r"`((?:fusesearch/(?:agents|cli|code|core|data|evaluation|localizers|reporting|search|training)|tasks|flows|experiments|tests|docs|dashboards)/[\w./]*)`",
        text,
    )
    missing = [
        name
        for name in [*((ROOT / page).parent / link for link in links), *(ROOT / name for name in modules)]
        if not name.exists()
    ]
    assert missing == []


def test_tests_named_in_the_threat_model_exist():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs/threat-model.md").read_text()))
    written = {name for path in (ROOT / "tests").rglob("*.py") for name in re.findall(r"def (test_\w+)", path.read_text())}
    assert named
    assert named <= written


WRITTEN = [page for page in PAGES if page != str(docs.CLI_PAGE)]


def code_of(page):
    """Fenced blocks and code between backticks, with continued lines joined."""
    text = (ROOT / page).read_text().replace("\\\n", " ")
    fence = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
    lines = [line for block in fence.findall(text) for line in block.splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", fence.sub("", text))


@pytest.mark.parametrize("page", [*WRITTEN, "experiments/README.md"])
def test_commands_options_and_targets_named_in_the_pages_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for code in code_of(page):
        assert set(re.findall(r"(?:^|\s)make ([a-z-]+)", code)) <= targets, code
        for start, commands in (("fusesearch", app), ("python -m flows", checkout)):
            for words in re.findall(rf"(?:^|(?<!from)\s){start} ([a-z][a-z-]*(?:\s[^|;#]*)?)(?=[|;#]|$)", code):
                assert unknown_words(words.split(), commands) == [], code


def unknown_words(words, commands=app):
    """The command that is none, or the options that it has not."""
    command = typer.main.get_command(commands)
    while hasattr(command, "commands") and words:
        name, *words = words
        if name not in command.commands:
            return [name]
        command = command.commands[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return [word for word in words if word.startswith("--") and word not in known]


def test_unknown_commands_and_options_in_the_pages_are_found():
    assert unknown_words(["experiment", "start"], checkout) == ["start"]
    assert unknown_words(["localize", "--repo", ".", "--isue", "-"]) == ["--isue"]
