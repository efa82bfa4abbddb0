"""Answers with the lines and signatures of functions, from the files as they are on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fusesearch.code.heads import signature
from fusesearch.code.spans import is_python
from fusesearch.core.errors import FusesearchError
from fusesearch.search.repository import Repository

if TYPE_CHECKING:
    from fusesearch.core.schema import Answer

Fields = dict[str, Any]


def with_lines(answer: Answer, repository: Repository) -> Answer:
    """The answer with the lines of every function that is found in the files, and signatures of places."""
    return type(answer).model_validate(located(answer.model_dump(), repository))


def located(answer: Fields, repository: Repository) -> Fields:
    """As :func:`with_lines`, for the fields of an answer; without what an answer may not name."""
    spans: dict[str, dict[str, tuple[int, int]]] = {}
    known = {(one["path"], one["function"]): one["lines"] for place in answer.get("places", ()) for one in place["functions"]}

    def signed(place: Fields) -> Fields:
        try:
            lines = repository.read_text(place["path"]).split("\n")
        except FusesearchError:  # the file went away
            return place
        return place | {
            "functions": [
                _placed(one, one["lines"], signature(lines, *one["lines"])) if one["lines"] else one for one in place["functions"]
            ]
        }

    def found(one: Fields) -> Fields:
        path, function = one["path"], one["function"]
        if function is None or one["lines"]:
            return one
        if lines := known.get((path, function)):  # of the index: nothing has to be parsed again
            return _placed(one, lines)
        from fusesearch.code.names import qualified
        from fusesearch.code.naming import spelled

        if path not in spans:
            spans[path] = _spans(repository, path)
        own = spans[path]
        name = function if function in own else qualified(spelled(function, own, path), own)
        if name in own and not is_python(path):
            return _placed(one | {"function": name}, own[name])
        return _placed(one, own.get(function))

    parts = {"modify": found, "related": found, "places": signed}
    return answer | {
        name: [shown(one) for one in answer.get(name, ()) if repository.allowed(one["path"])] for name, shown in parts.items()
    }


def _placed(one: Fields, lines: tuple[int, int] | None, head: str = "") -> Fields:
    """A location with its lines and, if it is known, its signature, in the order of the fields of :class:`Location`."""
    rest = {name: value for name, value in one.items() if name not in ("lines", "signature")}
    first = {name: rest.pop(name) for name in ("path", "function")}
    return {**first, "lines": lines, **({"signature": head} if head else {}), **rest}


def _spans(repository: Repository, path: str) -> dict[str, tuple[int, int]]:
    from fusesearch.code.functions import function_spans

    try:
        return {span.name: (span.start, span.end) for span in function_spans(repository.read_text(path), path)}
    except FusesearchError:  # the model named a file that does not exist
        return {}
