"""What to read within a budget of tokens: for a text such as an issue, or for a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fusesearch.code.kinds import is_code, is_test
from fusesearch.code.naming import read_name, unwrapped
from fusesearch.core.caches import Caches
from fusesearch.core.errors import DataError, OptionError
from fusesearch.core.schema import Context
from fusesearch.localizers.ranker import answer_in, models
from fusesearch.localizers.ranker.answer import as_answer
from fusesearch.localizers.ranker.building import Progress
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.name_context import about_name
from fusesearch.localizers.ranker.text_context import about_text
from fusesearch.localizers.ranker.within import within
from fusesearch.search.repository import Repository

TOKENS, LEAST_TOKENS, MOST_TOKENS = 4000, 100, 100_000


def context(repo: str | Path, text: str, tokens: int = TOKENS, impact: bool = False, **filters: Any) -> Context:
    """What to read in the directory ``repo`` for ``text``, in at most ``tokens`` tokens, as on the command line.

    ``text`` is that of an issue, or a name as :func:`name_in` reads it; ``impact`` is what a change of the name may concern.
    ``context(...).text`` is for a prompt, ``excerpts`` have the parts. ``filters`` are those of
    :func:`~fusesearch.localizers.ranker.within.within`. Nothing in the directory is changed or run.

    Raises:
        DataError: the text is empty, nothing has the name, or ``tokens`` is out of bounds.
        OptionError: no file fits the filters, or ``impact`` of what is no name.
        RepositoryError: the directory cannot be read.
    """
    return context_of(text, within(Repository(Path(repo)), **filters), tokens, impact=impact)


def context_of(
    text: str, repository: Repository, tokens: int = TOKENS, folder: Path | None = None, on_progress: Progress | None = None,
    impact: bool = False,
) -> Context:  # fmt: skip
    """:func:`context` of a repository; ``folder`` is where the index lies, by default in the user's caches."""
    if not text.strip():
        raise DataError("the issue is empty")
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise DataError(f"tokens must be a number from {LEAST_TOKENS} to {MOST_TOKENS}")
    named = name_in(text)
    if impact and not named:
        raise OptionError("impact", "give a name, such as Cart.total: an issue has none")
    if named is None:
        models()  # raises before an index is made
    with Index(repository, folder or Caches().index, on_progress) as index:
        if named is not None:
            return about_name(*named, index, tokens, impact)
        ranking, fields = answer_in(text, index)
        places = as_answer(fields).places
        return about_text(text, index, tokens, ranking, places) if places else Context(budget=tokens)


def name_in(text: str) -> tuple[str, str] | None:
    """The path, empty if there is none, and the dotted name of a text that is one name and nothing else.

    Such as ``cart``, ``Cart.total``, ``Cart::total``, ``Cart#total``, ``shop.cart.Cart`` and ``shop/cart.py::Cart.total``.
    """
    text = unwrapped(text).removesuffix("()")
    path, _, name = text.partition("::")
    if not (is_code(path) or ("." in path and is_test(path))):
        path, name = "", text
    found = read_name(name, path) if any(map(str.isalpha, name)) else None
    return (path, found[0]) if found and not found[1] else None
