"""Which files an answer may name: ``--path``, ``--lang``, ``--since`` and ``--no-tests``.

Nothing else changes: what is left stands in the order that it has without them.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from fusesearch.code.kinds import is_test
from fusesearch.code.reader import language_of, reader_of
from fusesearch.core.errors import OptionError
from fusesearch.localizers.ranker.history import changed_since
from fusesearch.search.repository import Repository

FILTERS = ("path", "lang", "since", "no_tests")


def within(
    repository: Repository,
    path: str | None = None,
    lang: str | None = None,
    since: str | None = None,
    no_tests: bool | None = None,
) -> Repository:
    """The repository, whose answers name only files that fit all that is given; several of a kind stand between commas.

    ``path``: a folder, a file or a glob, whose ``*`` matches ``/`` too; without a slash, a name at any depth.
    ``lang``: a language or a suffix.
    ``since``: a revision or a date (:func:`~fusesearch.localizers.ranker.history.changed_since`).

    Raises :class:`OptionError` where no file fits.
    """
    given = {"path": path, "lang": lang, "since": since, "no-tests": no_tests}
    patterns = [one.strip().replace(os.sep, "/").removeprefix("./").strip("/") for one in (path or "").split(",")]
    languages = {one.strip().lower() for one in (lang or "").split(",")}
    changed = changed_since(repository, since) if since else ()

    def allowed(file: str) -> bool:
        fits = any(_fits(file, pattern) for pattern in patterns) and (not lang or not languages.isdisjoint(_languages(file)))
        return fits and (not since or file in changed) and not (no_tests and is_test(file))

    if wanted := " ".join(f"--{name}" for name, value in given.items() if value):
        left = set(filter(allowed, repository.files()))
        if not left:
            raise OptionError(next(name for name, value in given.items() if value), f"no file here fits {wanted}")
        repository.within = left.__contains__
    return repository


def _fits(path: str, pattern: str) -> bool:
    if pattern in ("", "."):
        return True
    names = (pattern, f"{pattern}/*", pattern.replace("**/", ""), *((f"*/{pattern}",) if "/" not in pattern else ()))
    return path == pattern or path.startswith(f"{pattern}/") or any(fnmatchcase(path, name) for name in names)


def _languages(file: str) -> set[str]:
    """The suffix and the names of its language; headers are of C and of C++."""
    suffix, reader = file.rpartition("/")[2].rpartition(".")[2].lower(), reader_of(file)
    return {suffix, language_of(file), reader.title.lower() if reader else "", *(("c++", "cpp") if suffix == "h" else ())}
