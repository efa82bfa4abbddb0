"""``python -m tests.trials.asking PACKAGE ...``: figures by family, and every wrong answer."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Trajectory
from fusesearch.localizers.answerers.wording import TEMPLATES
from fusesearch.localizers.searcher import Searcher, instance_of
from fusesearch.search.repository import Repository
from tests.trials.asking.truth import Package, Question, equal

WORDS = {
    "default": ("what does {parameter} of {name} default to?", "What is the default of `{parameter}` in `{name}`?",
                "what is the default value for the parameter {parameter} of {name}"),
    "value": ("what is the value of {name}?", "What is `{name}` set to?"),
    "exported": ("where is {name} defined?", "Where's `{name}` defined", "in which file is {name} defined"),
    "inherited": ("which definition of {method} runs for an instance of {name}?",
                  "`{name}` inherits `{method}`. Where is the method that it gets?"),
    "overrides": ("what overrides {name}.{method}?", "Which classes override the method `{method}` of `{name}`?",
                  "where is {name}.{method} overridden"),
    "subclasses": ("which classes inherit from {name}?", "subclasses of `{name}`"),
    "callers": ("who calls {name}?", "where is {name} called from?", "Which functions and methods call `{name}` directly?"),
}  # fmt: skip


def verdict(question: Question, trajectory: Trajectory, package: Package) -> str:
    """``right``, ``wrong``, ``unsure``, or ``unseen`` for an expression that cannot run again. Modules that cannot be imported do
    not count."""
    answer = trajectory.answer
    if trajectory.stop != "answer" or answer is None:
        return "unsure"
    values = [value.removeprefix("/repo/") for value in answer.values]
    if question.family in ("default", "value"):
        modules = {package.path_of(module): module for module in package.modules}
        place = re.search(r"^([\w./]+\.py):\d+", answer.text)
        module = modules.get(place[1], question.module) if place else question.module
        same = equal(values[0], question, module) if len(values) == 1 else False
        return "unseen" if same is None else "right" if same else "wrong"
    paths = set(map(package.path_of, package.modules))
    return "right" if {value for value in values if value.partition("::")[0] in paths} == question.entities else "wrong"


def main(names: list[str]) -> int:
    """Print what was found; the number of wrong answers. ``--each=20``: questions per family; ``--before``: of the script."""
    before = "--before" in names
    each = next((int(name.partition("=")[2]) for name in names if name.startswith("--each=")), 20)
    counts: dict[str, Counter[str]] = {}
    for name in (name for name in names if not name.startswith("--")):
        package = Package(name)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            shutil.copytree(package.folder, root / name, ignore=lambda at, files: [f for f in files if not _kept(Path(at) / f)])
            repository = Repository(root)
            for number, question in enumerate(package.questions(each)):
                words = TEMPLATES.get(question.family, ()) if before else WORDS[question.family]
                if not words:
                    continue
                text = words[number % len(words)].format(**question.names)
                searcher = Searcher("lexical-answers" if before else "code-answers", None, Agent(toolset="questions"), Tools())
                trajectory = asyncio.run(searcher.run(instance_of(name, text, "question"), repository))
                found = verdict(question, trajectory, package)
                counts.setdefault(question.family, Counter())[found] += 1
                if found != "right" and not before:
                    said = trajectory.answer.text if trajectory.answer else trajectory.error
                    print(f"{found}: {text}\n  says {said}\n  is   {question.entities or repr(question.value)}")
    for family, counted in counts.items():
        print(f"{family:<12}" + "".join(f"{word} {counted[word]:>4}  " for word in ("right", "unsure", "unseen", "wrong")))
    return sum(counted["wrong"] for counted in counts.values())


def _kept(path: Path) -> bool:
    return path.is_dir() or path.suffix in (".py", ".pyi")


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
