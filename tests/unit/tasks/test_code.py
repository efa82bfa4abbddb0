"""What DVC sees of the code: which modules count, and which changes of them."""

from pathlib import Path

import pytest

from fusesearch.core.config import Params, load_params
from fusesearch.core.overrides import override
from tasks import code
from tasks.stages import STAGES

ROOT = Path(__file__).parents[3]

SOURCES = {
    "tasks/a/main.py": "import sys\n\n\ndef run():\n    from tasks.b import used\n\n    call('-m', 'tasks.c.worker')\n",
    "tasks/b/used.py": "if TYPE_CHECKING:\n    from tasks.b import one\n",
    "tasks/b/one.py": "",
    "tasks/c/worker.py": "load('tasks.b.one:chosen_by_params')\n",
    "tasks/c/prompts/first.md": "Find it.",
    "tasks/d/prompt.md": "",
    **{f"tasks/{name}/__init__.py": "" for name in "abc"},
}


@pytest.fixture
def tree(tmp_path):
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_code_is_what_a_module_imports_when_it_runs_and_what_lies_beside_it(tree):
    found = {path.relative_to(tree).as_posix() for path in code.code_of(["tasks.a.main"], tree)}
    modules = {name for name in found if not name.endswith("__init__.py")}
    assert modules == {"tasks/a/main.py", "tasks/b/used.py", "tasks/c/worker.py", "tasks/c/prompts/first.md"}


WRITTEN = b'''"""A module."""


def total(prices):
    """The sum."""
    return sum(prices)
'''
SAME = [
    WRITTEN.replace(b"The sum.", b"What they come to."),
    WRITTEN.replace(b'    """The sum."""\n', b"    # added up\n"),
    WRITTEN.replace(b"sum(prices)", b"sum(\n        prices\n    )"),
    WRITTEN.replace(b"def total", b'"""What follows adds."""\n\n\ndef total'),
]


def test_words_and_layout_change_no_digest_and_anything_else_does():
    known = code.read(WRITTEN).digest
    assert {code.read(source).digest for source in SAME} == {known}
    for old, new in [(b"sum(prices)", b"max(prices)"), (b"total", b"sums"), (b"return", b"yield"), (b"sum(prices)", b"sum('a')")]:
        assert code.read(WRITTEN.replace(old, new)).digest != known


def test_a_prompt_counts_by_its_bytes(tree):
    prompt = tree / "tasks/c/prompts/first.md"
    before = code.digest_of(prompt)
    prompt.write_text("Find it. ")
    assert code.digest_of(prompt) != before


DECIDES = {
    "mine": ["data/patches.py", "search/git.py", "data/sources/synthetic/worker.py"],
    "filter": ["core/presets.py"],
    "synthesize": ["agents/models/openai_compatible.py", "agents/prompts/system_nano.md"],
    "select": ["search/gain.py"],
    "sft": ["agents/parsing.py"],
    "evaluate": ["localizers/bm25.py"],
    "report": ["evaluation/metrics.py"],
}


def listed(stage, params):
    return {line.partition("  ")[2].strip() for line in code.code_text(STAGES[stage], params).splitlines()}


def test_code_that_decides_a_stage_is_known_and_that_of_other_languages_where_the_data_have_them(monkeypatch):
    monkeypatch.chdir(ROOT)
    params = load_params()
    for stage, names in DECIDES.items():
        assert {f"fusesearch/{name}" for name in names} <= listed(stage, params), stage
    for stage in STAGES:
        assert not [name for name in listed(stage, params) if name.startswith(code.OTHER_LANGUAGES)], stage
    git = override(params, {"mine.source": "git"}, "test")
    assert f"{code.OTHER_LANGUAGES}languages.py" in listed("filter", git)
    assert not any("localizers/ranker/" in file for stage in STAGES for file in listed(stage, params))
    ranked = override(params, {"agent.pre_search": "ranker"}, "test")
    assert "fusesearch/localizers/ranker/features.py" in listed("synthesize", ranked) - listed("synthesize", params)


def test_only_files_that_changed_are_written(monkeypatch, tree):
    monkeypatch.chdir(tree)
    code.write_code(Params(), ["split"])
    before = code.code_file("split").stat().st_mtime_ns
    code.write_code(Params(), ["split"])
    assert code.code_file("split").stat().st_mtime_ns == before
