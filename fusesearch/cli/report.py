"""What ``fusesearch localize`` prints: the answer as text or JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fusesearch.cli.screen import PLAIN, Screen, shortened, wrapped
from fusesearch.core.errors import FusesearchError, InfrastructureError
from fusesearch.core.text import printable
from fusesearch.localizers.located import Fields, located
from fusesearch.localizers.ranker.paths import is_candidate
from fusesearch.localizers.registry import WITHOUT_MODEL
from fusesearch.search.repository import Repository

if TYPE_CHECKING:
    from fusesearch.core.schema import Context, Trajectory
    from fusesearch.localizers.ranker.building import Progress


LEAST_SHARE = 0.01
LONGER = "llama-server: --ctx-size, llama-cpp-python: --n_ctx, vLLM: --max-model-len, Ollama: num_ctx"
TOO_LITTLE = "too little to go on, nothing that the issue names is here: name an error, a function or a file"
NO_CODE = "no code in this folder"
NOT_CHECKED_OUT = "nothing of this repository is checked out, `git checkout` does it"
SEARCH = "A search, not the answer to an issue: places that fit the words, best first, without a percentage."


def raise_on_failure(trajectory: Trajectory) -> None:
    """Raise :class:`InfrastructureError` if the infrastructure failed and the episode has no answer."""
    if trajectory.error is not None:
        raise InfrastructureError(trajectory.error)


SCHEMA = 1
"""Version of the JSON of an answer: it rises when a field goes or means something else, not when one is added."""


@dataclass(frozen=True)
class Report:
    """Files with their functions, best first, what else was read, and what the search cost."""

    places: list[Fields]
    related: list[Fields]
    cost: dict[str, Any]
    confidence: float | None = None
    kind: str | None = None
    """``search`` where the text was no issue."""
    empty: str = ""
    """Why the folder has no code, if that is why the ranker has no answer."""
    progress: Progress | None = None
    """That of the ranker's index: what the answer could not take into account."""

    @classmethod
    def of(cls, trajectory: Trajectory, repository: Repository) -> Report:
        """Report of a finished episode over ``repository``."""
        answer = trajectory.answer.model_dump(mode="json") if trajectory.answer else {}
        return cls.of_fields(answer, cost(trajectory), repository)

    @classmethod
    def of_fields(cls, answer: Fields, cost: dict[str, Any], repository: Repository) -> Report:
        """Report of the fields of an answer, without lines and signatures."""
        whole = located(answer, repository)
        empty = "" if whole["modify"] or cost["localizer"] != WITHOUT_MODEL else without_code(repository)
        places = whole["places"] or by_file(whole["modify"])
        places = [place | ({"unread": lines} if (lines := _unread(place, repository)) else {}) for place in places]
        return cls(places, by_file(whole["related"]), cost, whole.get("confidence"), answer.get("kind"), empty)

    def as_json(self) -> dict[str, Any]:
        """``schema``, ``outcome``, ``places``, ``related``, ``cost`` and, where it is known, ``confidence``.

        ``outcome`` is ``answer``, ``no_code`` (in this folder), ``too_little`` (the issue names nothing that is here) or
        ``no_answer``. A place is a file: ``path`` and ``functions`` (``path``, ``function``, ``lines``, ``signature``), best
        first. Localizers that can tell add ``confidence`` (0 to 1: that a fix modifies it) and ``reasons`` to both, and
        ``likely`` (enough to act on) to files. A file without functions has ``unread``, the lines of it that could not be
        parsed, if there are any. ``kind`` is ``search`` where the text was no issue: then nothing has a confidence.
        The ranker adds ``history`` (commits that counted, 0 if it is off) and, over MCP, ``unindexed`` while files are missing.
        """
        searched = self.cost["calls"] or self.cost["tokens_billed"]
        report: dict[str, Any] = {
            "schema": SCHEMA,
            "outcome": self._outcome,
            "places": self.places,
            "related": self.related,
            "cost": self.cost if searched else {name: self.cost[name] for name in ("localizer", "stop", "seconds")},
        }
        for name in ("kind", "confidence"):
            if getattr(self, name) is not None:
                report[name] = getattr(self, name)
        return report | (self.progress.fields() if self.progress else {})

    def as_text(self, seconds: float | None = None, screen: Screen = PLAIN) -> str:
        """Ranked locations, then related context, then one line of cost. ``seconds`` replace those of the search alone."""
        if self.places:
            heading = SEARCH if self.kind == "search" else _heading(self.places)
            parts = [*wrapped(heading, screen), "", *_by_file(self.places, screen)]
        else:
            why = self.empty or (TOO_LITTLE if self._says_little else ended(self.cost))
            parts = wrapped(f"No answer: {why}.", screen)
        if self.related:
            parts += ["", "Related context", "", *_by_file(self.related, screen)]
        notes = self.progress.notes() if self.progress else []
        for place in self.places:
            lines = ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in place.get("unread", [])[:5])
            notes += [f"{place['path']}:{lines} cannot be parsed; functions there are not known."] if lines else []
        shown = [line for note in notes for line in wrapped(note, screen)]
        return "\n".join([*parts, "", *shown, _summary(self.cost, seconds)])

    @property
    def _outcome(self) -> str:
        if self.places:
            return "answer"
        return "no_code" if self.empty else "too_little" if self._says_little else "no_answer"

    @property
    def _says_little(self) -> bool:
        return self.cost["localizer"] == WITHOUT_MODEL and self.cost["stop"] == "no_answer"


def by_file(locations: Sequence[Fields]) -> list[Fields]:
    """Locations as places: each file once, in the order of its first location, with its functions."""
    files: dict[str, Fields] = {}
    for one in locations:
        place = files.setdefault(one["path"], {"path": one["path"], "functions": []})
        if one["function"] is None:
            place |= {name: one[name] for name in ("confidence", "reasons") if one.get(name) is not None}
        else:
            place["functions"].append(one)
    return list(files.values())


def _unread(place: Fields, repository: Repository) -> list[tuple[int, int]]:
    """First and last line of each part of a file without functions that could not be parsed."""
    if place["functions"]:
        return []
    from fusesearch.code.functions import unclosed_lines
    from fusesearch.code.reader import reader_of
    from fusesearch.code.spans import is_python

    path = place["path"]
    try:
        source = repository.read_text(path)
    except FusesearchError:  # the file went away
        return []
    reader = None if is_python(path) else reader_of(path, source)
    syntax = reader.syntax(source) if reader else None
    return sorted(set(unclosed_lines(source) if is_python(path) else syntax.unread if syntax else ()))


def answer_json(trajectory: Trajectory) -> dict[str, Any]:
    """The answer of a question: its ``outcome``, its ``values``, its whole ``text``, and ``trajectory`` (cost).

    ``outcome`` is ``answer`` or ``no_answer``.
    """
    from fusesearch.core.schema import Answer

    answer = trajectory.answer or Answer()
    return {
        "outcome": "answer" if trajectory.stop == "answer" else "no_answer",
        "values": answer.values,
        "text": answer.text,
        "trajectory": cost(trajectory),
    }


def answer_text(trajectory: Trajectory, seconds: float | None = None) -> str:
    """The answer of a question as its model wrote it, then one line of cost; see :meth:`Report.as_text`."""
    known = cost(trajectory)
    from fusesearch.core.schema import Answer

    none = "the last message has none" if known["stop"] == "no_answer" else ended(known)
    answer = trajectory.answer or Answer()
    text = answer.text or f"No answer: {none}."
    return "\n".join([*map(printable, text.split("\n")), "", _summary(known, seconds)])


def ended(known: dict[str, Any]) -> str:
    """How an episode of this cost ended, in words, with what to do where the model's server may be the reason."""
    from fusesearch.reporting.episodes.page import STOPS

    if known["stop"] == "max_context" and not known["turns"]:
        return f"not even the issue fits the model's context: shorten it, or start the server with a longer one ({LONGER})"
    if known["stop"] == "no_answer" and known["model"] and known["localizer"].startswith("fusesearch") and not known["calls"]:
        return f"{STOPS['no_answer']}, and none has a call: `fusesearch doctor --endpoint` says whether a served model makes any"
    return STOPS[known["stop"]]


def without_code(repository: Repository) -> str:
    """Why a folder has no file that a fix can modify; empty if it has one."""
    if any(is_candidate(path, repository.is_visible) for path in repository.files()):
        return ""
    cloned = repository.in_git and os.path.exists(repository.root / ".git/packed-refs")
    return NOT_CHECKED_OUT if cloned and os.listdir(repository.root) == [".git"] else NO_CODE


def context_json(found: Context) -> dict[str, Any]:
    """``outcome`` (``answer`` or ``too_little``) and all of a context; for a name, lists of places instead of excerpts."""
    fields = {"outcome": "answer" if found.excerpts else "too_little", **found.model_dump(mode="json")}
    if not found.name:
        return fields
    kinds = {"definitions": "definition", "callers": "caller", "perhaps": "use", "callees": "callee", "tests": "test"}
    kinds |= {"impact": "impact"} if found.run or any(one.kind == "impact" for one in found.excerpts) else {}
    del fields["excerpts"]
    return fields | {
        key: [{"path": one.path, "lines": one.lines, "function": one.function} for one in found.excerpts if one.kind == kind]
        for key, kind in kinds.items()
    }


def context_text(found: Context, repository: Repository) -> str:
    """A context as text, or what would help where the issue says too little."""
    return found.text if found.excerpts else f"No answer: {without_code(repository) or TOO_LITTLE}."


def cost(trajectory: Trajectory) -> dict[str, Any]:
    """What an episode cost (fields of :class:`fusesearch.core.schema.Score`), and which localizer and model ran it."""
    from fusesearch.evaluation.costs import tool_statistics

    about = {name: getattr(trajectory, name) for name in ("localizer", "model", "mode", "stop")}
    return about | tool_statistics(trajectory)


def _heading(places: Sequence[Fields]) -> str:
    """What the list is, whether its first file is worth acting on, and what a percentage says."""
    if places[0].get("confidence") is None:
        return "Locations to modify"
    act = ", the first likely enough to act on" if places[0]["likely"] else ""
    return f"Best first{act}. %: the chance that the fix modifies the file, or the function; they need not add up."


def _by_file(places: Sequence[Fields], screen: Screen) -> list[str]:
    """Each file with its reasons, then its best functions with theirs and their signatures; a line begins with its place."""
    lines: list[str] = []
    for place in places:
        lines += _row("", printable(place["path"]), "", place, screen)
        for one in place["functions"]:
            span = f":{one['lines'][0]}-{one['lines'][1]}" if one["lines"] else ""
            lines += _row("  ", printable(f"{one['path']}{span}"), printable(one["function"]), one, screen)
    return lines


def _row(indent: str, where: str, name: str, one: Fields, screen: Screen) -> list[str]:
    """A place with its percentage, which a narrow screen has below it; then what speaks for it, and its head."""
    sure = one.get("confidence")
    share = "" if sure is None else f"{sure:.0%}" if sure >= LEAST_SHARE else f"<{LEAST_SHARE:.0%}"
    about = "  ".join(filter(None, [name, share]))
    fits = len(f"{indent}{where}  {about}") <= (screen.width or sys.maxsize)
    first = f"{indent}{screen.styled(where, bold=True)}"
    lines = [f"{first}  {about}".rstrip()] if fits else [first, f"{indent}    {about}"]
    inner = f"{indent}    "
    for text in (printable("; ".join(one.get("reasons") or ())), shortened(printable(one.get("signature") or ""), screen, inner)):
        lines += [screen.styled(line, dim=True) for line in wrapped(text, screen, inner)]
    return lines


def _summary(cost: dict[str, Any], seconds: float | None) -> str:
    seconds = cost["seconds"] if seconds is None else seconds
    if not cost["calls"] and not cost["tokens_billed"]:  # nobody searched
        return f"{seconds:.1f} s"
    turns, calls = (f"{cost[key]} {key[: -1 if cost[key] == 1 else None]}" for key in ("turns", "calls"))
    model = f" ({cost['model']})" if cost["model"] else ""
    return f"{turns}, {calls}, e {cost['efficiency']:.2f}, {seconds:.1f} s, {cost['tokens_billed']:,} tokens{model}"
