"""``routing``: the ranker answers alone where it is sure; elsewhere a model reads its first files and chooses."""

from __future__ import annotations

from pydantic import Field

from fusesearch.agents.parsing import format_answer
from fusesearch.agents.prompts import render
from fusesearch.code.modules import Outlines, outlines_of
from fusesearch.code.names import match_path, placed, ranked
from fusesearch.code.skeleton import numbered
from fusesearch.code.tree import cut
from fusesearch.core.config import Section
from fusesearch.core.schema import Answer, Instance, Location, Turn
from fusesearch.core.stopping import in_thread
from fusesearch.core.text import printable
from fusesearch.localizers.fenced import read_named, read_paths
from fusesearch.localizers.prompting import AskingLocalizer, Interview, ask_until
from fusesearch.localizers.ranker import ranking_of
from fusesearch.localizers.ranker.answer import Ranking
from fusesearch.search.repository import Repository

MAX_NAMED = 20


class Settings(Section):
    """Settings of routing."""

    files: int = Field(5, ge=1, description="files that the model reads")
    functions: int = Field(3, ge=1, description="functions that it sees of each, the most probable ones")
    head: int = Field(60, ge=1, description="lines that it sees of a file without probable functions")
    window: int = Field(5, ge=0, description="lines around each function")
    attempts: int = Field(2, ge=1, description="how often to ask until the answer names something that was shown")


class RoutingLocalizer(AskingLocalizer):
    """One request at most times, none where the ranker is sure: then the trajectory has no ``model`` and no tokens."""

    name = "routing"
    settings = Settings()

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """Only an answer of the ranker alone has a ``confidence``."""
        ranking = await in_thread(ranking_of, instance.problem_statement, repository, self.caches.index)
        own = ranking.best()
        if own.confidence is None or own.confidence >= self.agent.sure:
            interview.trajectory.model = ""
            interview.trajectory.turns.append(Turn(text=format_answer(own)))
            interview.answer(own)
        else:
            chosen = await self._chosen(interview, ranking, outlines_of(repository))
            interview.answer(Answer(modify=chosen or own.modify))

    async def _chosen(self, interview: Interview, ranking: Ranking, outlines: Outlines) -> list[Location]:
        """What the model names in the files that it was shown; empty if that is nothing."""
        paths = [one.candidate.path for one in ranking.files[: self.settings.files]]

        def prompt(chars: int) -> str:
            issue = interview.trajectory.issue[: chars // 2]
            code = "\n".join(self._block(path, ranking, outlines, (chars - len(issue)) // len(paths)) for path in paths)
            return render(__package__, "choose", issue=issue, code=code)

        def read(text: str) -> list[Location]:
            files = (match_path(name, paths, paths) for name in read_paths(text, MAX_NAMED, paths))
            found = placed(read_named(text, MAX_NAMED, paths), paths, paths, outlines)
            return ranked((location for _, location in found), filter(None, files))

        return await ask_until(interview, prompt, read, self.settings.attempts)

    def _block(self, path: str, ranking: Ranking, outlines: Outlines, chars: int) -> str:
        """A file's probable functions, or its first lines. Every line of it has a number, so none can pass for a heading."""
        outline = outlines.get(path)
        inside = [one.candidate.span for one in ranking.functions if one.candidate.path == path]
        shown = [(span.start, span.end) for span in inside if span][: self.settings.functions] or [(1, self.settings.head)]
        text = numbered(outline, shown, self.settings.window) if outline else "(not readable)"
        return f"### {printable(path)} ###\n{cut(text, chars, 'of this file')}\n"
