"""What ``fusesearch localize`` prints: the answer as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fusesearch.core.errors import InfrastructureError
from fusesearch.core.text import printable
from fusesearch.localizers.located import Fields, located
from fusesearch.localizers.ranker.paths import is_candidate
from fusesearch.localizers.registry import WITHOUT_MODEL
from fusesearch.search.repository import Repository

if TYPE_CHECKING:
    from fusesearch.core.schema import Context, Trajectory


SIGNATURE_CHARS = 110
LONGER = "llama-server: --ctx-size, llama-cpp-python: --n_ctx, vLLM: --max-model-len, Ollama: num_ctx"
ACT, LOOK = "Act on the first place", "Places to look at, best first"
"""The heading where the first file is likely enough to act on, and where it is not."""
PERCENT = "%: how likely the fix changes this file or function; it can change several"
TOO_LITTLE = "too little to go on, nothing that the issue names is here: name an error, a function or a file"
NO_CODE = "no code in this folder"


def raise_on_failure(trajectory: Trajectory) -> None:
    """Raise :class:`InfrastructureError` if the infrastructure failed and the episode has no answer."""
    if trajectory.error is not None:
        raise InfrastructureError(trajectory.error)


@dataclass(frozen=True)
class Report:
    """The fields of an answer with line spans where known, and what the search cost."""

    modify: list[Fields]
    related: list[Fields]
    cost: dict[str, Any]
    confidence: float | None = None
    places: Sequence[Fields] = ()
    empty: bool = False
    """Whether the ranker has no answer because the folder has no code."""

    @classmethod
    def of(cls, trajectory: Trajectory, repository: Repository) -> Report:
        """Report of a finished episode over ``repository``."""
        answer = trajectory.answer.model_dump(mode="json") if trajectory.answer else {}
        return cls.of_fields(answer, cost(trajectory), repository)

    @classmethod
    def of_fields(cls, answer: Fields, cost: dict[str, Any], repository: Repository) -> Report:
        """Report of the fields of an answer, without lines and signatures."""
        whole = located(answer, repository)
        empty = not whole["modify"] and cost["localizer"] == WITHOUT_MODEL and not has_code(repository)
        return cls(whole["modify"], whole["related"], cost, whole.get("confidence"), whole["places"], empty)

    def as_json(self) -> dict[str, Any]:
        """``outcome``, ``modify`` and ``related`` (path, function, lines), and ``trajectory`` (cost).

        ``outcome`` is ``answer``, ``no_code`` (in this folder), ``too_little`` (the issue names nothing that is here) or
        ``no_answer``. The ranker adds ``places``: files with their best functions. ``modify`` is the set with the highest
        expected F1.
        Localizers that can tell add ``confidence`` and, to locations, ``confidence`` and ``reasons``.
        """
        report: dict[str, Any] = {
            "outcome": "answer"
            if self.modify
            else "no_code"
            if self.empty
            else "too_little"
            if self._says_little
            else "no_answer",
            "places": self.places,
            "modify": self.modify,
            "related": self.related,
            "trajectory": self.cost,
        }
        if self.confidence is not None:
            report["confidence"] = self.confidence
        return report

    def as_text(self, seconds: float | None = None) -> str:
        """Ranked locations, then related context, then one line of cost. ``seconds`` replace those of the search alone."""
        if self.places:
            parts = _by_file(self.places)
        elif self.modify:
            parts = ["Locations to modify", *_rows(self.modify, ranked=True)]
        else:
            parts = [f"No answer: {NO_CODE if self.empty else TOO_LITTLE if self._says_little else ended(self.cost)}."]
        if self.related:
            parts += ["", "Related context", *_rows(self.related, ranked=False)]
        return "\n".join([*parts, "", _summary(self.cost, seconds)])

    @property
    def _says_little(self) -> bool:
        return self.cost["localizer"] == WITHOUT_MODEL and self.cost["stop"] == "no_answer"


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


def has_code(repository: Repository) -> bool:
    """Whether a folder has a file that a fix can modify."""
    return any(is_candidate(path, repository.is_visible) for path in repository.files())


def context_json(found: Context) -> dict[str, Any]:
    """``outcome`` (``answer`` or ``too_little``) and all of a context; for a name, lists of places instead of excerpts."""
    fields = {"outcome": "answer" if found.excerpts else "too_little", **found.model_dump(mode="json")}
    if not found.name:
        return fields
    kinds = {"definitions": "definition", "callers": "caller", "perhaps": "use", "callees": "callee", "tests": "test"}
    del fields["excerpts"]
    return fields | {
        key: [{"path": one.path, "lines": one.lines, "function": one.function} for one in found.excerpts if one.kind == kind]
        for key, kind in kinds.items()
    }


def context_text(found: Context, repository: Repository) -> str:
    """A context as text, or what would help where the issue says too little."""
    return found.text if found.excerpts else f"No answer: {TOO_LITTLE if has_code(repository) else NO_CODE}."


def cost(trajectory: Trajectory) -> dict[str, Any]:
    """What an episode cost (fields of :class:`fusesearch.core.schema.Score`), and which localizer and model ran it."""
    from fusesearch.evaluation.costs import tool_statistics

    about = {name: getattr(trajectory, name) for name in ("localizer", "model", "mode", "stop")}
    return about | tool_statistics(trajectory)


def _rows(locations: Sequence[Fields], *, ranked: bool) -> list[str]:
    """A line per location, followed by its reasons if there are any."""
    places = [printable(f"{location['path']}{_span(location)}") for location in locations]
    width = max(map(len, places), default=0)
    lines: list[str] = []
    for index, (place, location) in enumerate(zip(places, locations, strict=True)):
        rank = f"{index + 1}." if ranked else ""
        lines.append(f"{rank:>4} {place:<{width}}  {printable(location['function'] or '')}".rstrip())
        if reasons := location.get("reasons"):
            lines.append(f"       {printable('; '.join(reasons))}")
    return lines


def _span(location: Fields) -> str:
    return f":{location['lines'][0]}-{location['lines'][1]}" if location["lines"] else ""


def _by_file(places: Sequence[Fields]) -> list[str]:
    """One heading, then the files, best first: each with its reasons, then its best functions."""
    lines = [f"{ACT if places[0]['likely'] else LOOK} ({PERCENT})"]
    for rank, place in enumerate(places, 1):
        lines.append(f"{rank:>3}. {place['confidence']:>4.0%}  {printable(place['path'])}{_because(place['reasons'])}")
        for one in place["functions"]:
            where = printable(f"{one['path']}{_span(one)}  {one['function']}")
            lines.append(f"     {one.get('confidence') or 0:>4.0%}    {where}{_because(one.get('reasons', ()))}")
            if head := one.get("signature"):
                lines.append(f"{'':13}  {printable(head)[:SIGNATURE_CHARS]}")
    return lines


def _because(reasons: Sequence[str]) -> str:
    return f"  ({printable('; '.join(reasons))})" if reasons else ""


def _summary(cost: dict[str, Any], seconds: float | None) -> str:
    seconds = cost["seconds"] if seconds is None else seconds
    if not cost["calls"] and not cost["tokens_billed"]:  # nobody searched
        return f"{seconds:.1f} s"
    turns, calls = (f"{cost[key]} {key[: -1 if cost[key] == 1 else None]}" for key in ("turns", "calls"))
    model = f" ({cost['model']})" if cost["model"] else ""
    return f"{turns}, {calls}, e {cost['efficiency']:.2f}, {seconds:.1f} s, {cost['tokens_billed']:,} tokens{model}"
