"""Agentless: no agent, three questions: which files, which classes and functions, which places (arXiv 2407.01489, 3.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import islice

from fusesearch.agents.prompts import render
from fusesearch.code.modules import Outlines, outlines_of
from fusesearch.code.names import Named, placed, ranked, spans_of
from fusesearch.code.skeleton import numbered, skeleton
from fusesearch.code.tree import cut, source_files, tree_text
from fusesearch.core.schema import Answer, Instance, Location
from fusesearch.localizers.fenced import read_files, read_named
from fusesearch.localizers.prompting import AskingLocalizer, Interview, ask_until
from fusesearch.search.repository import Repository

MOST_FILES, TOP_FILES = 5, 3
"""Files that the first question asks for, and how many of these are shown as skeletons and code. As in its published runs."""
WINDOW = 10
"""Lines shown around each element."""
ATTEMPTS = 5
"""How often to ask until the answer names something that exists."""
MAX_NAMED = 60
_EMPTY_TREE = "(no source files)"

Found = tuple[Named, Location]
"""A class, function, variable or line as the model named it, and where it is."""


class AgentlessLocalizer(AskingLocalizer):
    """Agentless around any model. ``agent`` limits the issue, the context, the replies and the time of an episode."""

    name = "agentless"
    mode = "sequential"

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """A turn per question, at most ``3 * ATTEMPTS`` requests."""
        files = await asyncio.to_thread(lambda: source_files(repository.files()))
        outlines = outlines_of(repository)
        stages = _Stages(interview, outlines)
        suspicious = await stages.files(files)
        if not suspicious:
            interview.answer(Answer())
            return
        top = suspicious[:TOP_FILES]
        elements = await stages.elements(top)
        edits = await stages.edits(top, elements) if elements else []
        interview.answer(Answer(modify=ranked((location for _, location in edits or elements), suspicious)))


class _Stages:
    """The questions about one snapshot. Replies are checked against it."""

    def __init__(self, interview: Interview, outlines: Outlines) -> None:
        self.interview = interview
        self.outlines = outlines
        self.issue = interview.trajectory.issue

    async def files(self, files: Sequence[str]) -> list[str]:
        """Files to edit, the most likely first."""
        read = partial(read_files, most=MOST_FILES, files=files, known=frozenset(files))
        return await ask_until(self.interview, lambda chars: self._with_tree(files, chars), read, ATTEMPTS)

    async def elements(self, top: Sequence[str]) -> list[Found]:
        """Classes, functions and variables of the files that relate to the issue."""

        def prompt(chars: int) -> str:
            outlines = [outline for path in top if (outline := self.outlines.get(path))]
            blocks = [_block(outline.path, skeleton(outline.path, "\n".join(outline.lines))) for outline in outlines]
            return render(__package__, "elements", issue=self.issue, skeletons=_fitting(blocks, chars - len(self.issue)))

        return await ask_until(self.interview, prompt, lambda text: self._existing(text, top), ATTEMPTS)

    async def edits(self, top: Sequence[str], elements: Sequence[Found]) -> list[Found]:
        """Places to edit, the most certain first."""

        def prompt(chars: int) -> str:
            code = _fitting(self._code(top, elements), chars - len(self.issue))
            return render(__package__, "edits", issue=self.issue, code=code)

        return await ask_until(self.interview, prompt, lambda text: self._existing(text, top), ATTEMPTS)

    def _with_tree(self, files: Sequence[str], chars: int) -> str:
        tree = tree_text(files, max(chars - len(self.issue), 200)) or _EMPTY_TREE
        return render(__package__, "files", issue=self.issue, tree=tree, most=MOST_FILES)

    def _existing(self, text: str, top: Sequence[str]) -> list[Found]:
        """What the reply names in the files shown to the model."""
        known = frozenset(top)
        return list(islice(placed(read_named(text, 2 * MAX_NAMED, known), top, known, self.outlines), MAX_NAMED))

    def _code(self, top: Sequence[str], elements: Sequence[Found]) -> list[str]:
        """For each file, the lines of the elements named in it, with some lines around them."""
        blocks = []
        for path in top:
            outline = self.outlines.get(path)
            named = [item for item, _ in elements if item.path == path]
            if outline and (spans := [span for item in named if (span := spans_of(item, outline))]):
                blocks.append(_block(path, numbered(outline, spans, WINDOW)))
        return blocks


def _block(path: str, text: str) -> str:
    return f"### {path} ###\n{text}\n"


def _fitting(blocks: list[str], chars: int) -> str:
    """As many whole leading blocks as fit; the first one is cut if even that is too long."""
    chars = max(chars, 500)
    kept = list(blocks)
    while len(kept) > 1 and sum(map(len, kept)) + len(kept) > chars:
        kept.pop()
    omitted = len(blocks) - len(kept)
    notice = [f"({omitted} more files are not shown)"] if omitted else []
    return "\n".join([cut("\n".join(kept), chars, "of this file"), *notice])
