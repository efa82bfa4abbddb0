"""Paths by their names: copies, what a fix can modify, and families of languages."""

from __future__ import annotations

import re
from collections.abc import Callable

from fusesearch.code.kinds import is_code, is_test
from fusesearch.code.spans import is_python

_INSTALLED = re.compile(r"(?:.*/)?(?:node_modules|bower_components|site-packages|build/lib)/.*", re.DOTALL)
_BUILT = re.compile(r"(?:.*/)?dist/.*|.*[.-](?:min|bundle)\.[cm]?js", re.DOTALL)
_SUPPORT = re.compile(r"test_?(?:utils?|helpers?|tools?|support|client|server|runner|base|cases?)\.py")

_FAMILIES = (
    "py pyi pyw pyx pxd", "js jsx mjs cjs ts tsx mts cts vue svelte", "c h cc cpp cxx hh hpp hxx m mm", "java kt kts scala sc",
)  # fmt: skip
_FAMILY = {suffix: family for family in _FAMILIES for suffix in family.split()}


def is_copy(path: str) -> bool:
    """Whether a package manager or a build put a file where it is; a folder ``dist`` of Python can be a project's own."""
    return bool(_INSTALLED.fullmatch(path) or (not is_python(path) and _BUILT.fullmatch(path)))


def is_candidate(path: str, exists: Callable[[str], bool]) -> bool:
    """Whether a fix can modify a file: code, or a module such as ``test_utils.py`` inside a package."""
    if is_code(path):
        return True
    folder, _, name = path.rpartition("/")
    package = f"{folder}/__init__.py"
    return _SUPPORT.fullmatch(name) is not None and not is_test(package) and exists(package)


def family(path: str) -> str:
    """Suffixes of the languages whose code can call that of a file, blank-separated."""
    suffix = path.rpartition(".")[2].lower()
    return _FAMILY.get(suffix, suffix)
