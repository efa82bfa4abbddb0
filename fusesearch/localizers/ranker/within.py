"""Which files an answer may name: ``--path``, ``--lang``, ``--since`` and ``--no-tests``.

Nothing else changes: what is left stands in the order that it has without them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache

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
    tests: dict[str, Callable[[str], bool]] = {}
    if path:
        tests["path"] = lambda file: any(_fits(file, pattern) for pattern in patterns)
        patterns = [one.strip().replace(os.sep, "/").removeprefix("./").strip("/") for one in path.split(",")]
    if lang:
        tests["lang"] = lambda file: not languages.isdisjoint(_languages(file.rpartition("/")[2].rpartition(".")[2].lower()))
        languages = {one.strip().lower() for one in lang.split(",")}
    if since:
        tests["since"] = changed_since(repository, since).__contains__
    if no_tests:
        tests["no-tests"] = lambda file: not is_test(file)
    left = repository.files()
    for option, fits in tests.items():
        left = [file for file in left if fits(file)]
        if not left:
            raise OptionError(option, "no file here fits it" + " and the options before it" * (option != next(iter(tests))))
    if tests:
        repository.within = set(left).__contains__
    return repository


def _fits(path: str, pattern: str) -> bool:
    if pattern in ("", "."):
        return True
    names = (pattern, f"{pattern}/*", pattern.replace("**/", ""), *((f"*/{pattern}",) if "/" not in pattern else ()))
    return path == pattern or path.startswith(f"{pattern}/") or any(fnmatchcase(path, name) for name in names)


@lru_cache(maxsize=1000)
def _languages(suffix: str) -> set[str]:
    """The suffix and the names of its language; headers are of C and of C++."""
    path = f"a.{suffix}"
    reader = reader_of(path)
    return {suffix, language_of(path), reader.title.lower() if reader else "", *(("c++", "cpp") if suffix == "h" else ())}
