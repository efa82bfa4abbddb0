"""``code-answers``: what ``ask`` uses without a model. It reads the code, and answers only what that settles.

Where the code leaves several places, they are the candidates; a question of no known kind gets passages by the ranker. Neither is
an answer, and their text says so first.
"""

from __future__ import annotations

from fusesearch.core.schema import Answer, Instance, Location
from fusesearch.localizers.answerers.asked import FORMS, read
from fusesearch.localizers.answerers.beside import beside
from fusesearch.localizers.answerers.by_name import by_name
from fusesearch.localizers.answerers.certain import find
from fusesearch.localizers.direct import DirectLocalizer
from fusesearch.search.repository import Repository

PASSAGES = 5
NO_FORM = "These are passages that share words with the question, not an answer."
NO_WORDS = "Nothing here shares enough words with the question."
KNOWN = "Without a model, these questions about Python code have answers; in other languages, the first and callers by name:"


class CodeAnswerer(DirectLocalizer):
    """The answer that the syntax settles, else candidates or passages."""

    name = "code-answers"

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """What the code says about the question."""
        asked = read(instance.problem_statement)
        finding = find(asked, repository) if asked else None
        if asked and finding and not finding.certain and not finding.candidates:
            finding = by_name(asked, repository, self.caches.index) or finding
        elif asked and finding:
            finding = beside(asked, finding, repository, self.caches.index)
        if finding is None or (asked and asked.bare and not finding.certain and not finding.candidates):
            return self._passages(instance.problem_statement, repository)
        if finding.certain:
            return Answer(values=finding.values, text=finding.text())
        return Answer(outcome="candidates", related=finding.candidates, text=finding.text())

    def _passages(self, question: str, repository: Repository) -> Answer:
        from fusesearch.localizers.ranker import ranking_of
        from fusesearch.localizers.ranker.places import FEW_FILES, for_people

        ranking = ranking_of(question, repository, self.caches.index, least=FEW_FILES)
        places = for_people(ranking, question, PASSAGES).places
        related = [one for place in places for one in place.functions or [Location(path=place.path)]]
        lines = [f"{_span(one)}  {one.function or ''}".rstrip() for one in related]
        forms = [KNOWN, *(f"  {form}" for form in FORMS.values())]
        text = "\n".join([NO_FORM if related else NO_WORDS, *lines, "", *forms])
        return Answer(outcome="passages", related=related, text=text)


def _span(location: Location) -> str:
    return f"{location.path}:{location.lines[0]}-{location.lines[1]}" if location.lines else location.path
