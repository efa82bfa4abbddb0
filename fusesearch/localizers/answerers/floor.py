"""The floor: ``closed-book`` asks a model alone, ``prior`` knows only other questions, ``grep-once`` looks once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from fusesearch.agents.answers import format_values, parse_values
from fusesearch.agents.loop import run_episode
from fusesearch.agents.prompts import render_issue, render_system
from fusesearch.agents.recording import Instructions
from fusesearch.core.errors import ConfigError, RepositoryError
from fusesearch.core.schema import Answer, Expected, Instance, Trajectory
from fusesearch.core.storage import read_instances
from fusesearch.localizers.answerers.grep_once import grep_once
from fusesearch.localizers.answerers.wording import read_back
from fusesearch.localizers.base import BaseLocalizer, Setup
from fusesearch.localizers.direct import DirectLocalizer
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository


class ClosedBookLocalizer(BaseLocalizer):
    """One request, without tools and without the repository."""

    name = "closed-book"

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """The model's answer; a message with calls ends the episode without one."""
        agent = self.agent.model_copy(update={"max_turns": 1})
        episode = make_episode(
            instance, repository, self.model, agent, self.tools, self.sampling.seeded(seed),
            localizer=self.name, on_event=self.on_event,
        )  # fmt: skip
        system = render_system(agent, task="closed")
        instructions = Instructions(system, render_issue(agent, instance.problem_statement), [], parse_values)
        return await run_episode(replace(episode, agent=agent, instructions=instructions))


class PriorLocalizer(DirectLocalizer):
    """The commonest answer to the training questions about the same parameter or method, else of the same kind."""

    name = "prior"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._training = setup.training

    @cached_property
    def _prior(self) -> Prior:
        if self._training is None:
            raise ConfigError("prior counts the answers of other questions: name their file as `training`")
        return Prior(row.truth.expected for row in read_instances(self._training) if row.truth and row.truth.expected)

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The commonest answer. Raises :class:`ConfigError` without a file of questions."""
        values = self._prior.answer(instance.problem_statement)
        return Answer(values=values, text="\n".join(values))


class GrepOnceLocalizer(DirectLocalizer):
    """One search and no model."""

    name = "grep-once"

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The answer, empty for a question in other words than mined ones have."""
        texts: dict[str, str] = {}
        for path in repository.files():
            if path.endswith(".py"):
                with suppress(RepositoryError):
                    texts[path] = repository.read_text(path)
        return parse_values(format_values(grep_once(instance.problem_statement, texts)))


class Prior:
    """Counts of answers by kind of question and by name."""

    def __init__(self, known: Iterable[Expected]) -> None:
        self._counts: dict[tuple[str, str], Counter[tuple[str, ...]]] = {}
        for expected in known:
            kind = "inherited" if expected.family == "overrides" and expected.kind == "entity" else expected.family
            for subject in ("", expected.subject):
                self._counts.setdefault((kind, subject), Counter())[tuple(expected.values)] += 1

    def answer(self, text: str) -> list[str]:
        """The values that are most often right for such a question."""
        if (read := read_back(text)) is None:
            return []
        kind, names = read
        subject = names.get("parameter") or names.get("method") or names.get("name", "").rpartition(".")[2]
        found = self._counts.get((kind, subject)) or self._counts.get((kind, ""))
        return list(found.most_common(1)[0][0]) if found else []
