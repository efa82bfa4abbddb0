"""What a file of a repository is for, by its path alone: code, test, documentation, configuration or something else."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

FileKind = Literal["code", "test", "docs", "config", "other"]

_CODE = re.compile(
    r"pyi?|pyw|pyx|pxd|[mc]?jsx?|mjs|tsx?|java|go|rs|c|h|cc|cpp|cxx|hh|hpp|hxx|cs|rb|php|kts?|swift|scala|mm?|lua|p[lm]"
    r"|sh|bash|sql|r|jl|dart|exs?|[eh]rl|hs|clj|vue|svelte"
)
_DOCS = re.compile(r"md|rst|txt|adoc|asciidoc|tex|rdoc|org|textile")
_CONFIG = re.compile(r"toml|cfg|ini|ya?ml|json5?|lock|in|conf|properties|xml|gradle|cmake|mk|env")
_MANUALS = {"doc", "docs", "documentation"}
_NEWS = {"changelog", "changes", "news", "newsfragments", "whatsnew"}
_TEST_FOLDERS = {"tests", "__tests__", "testdata", "spec", "specs"}
_TEST_NAME = re.compile(r"test_.*|.*_(tests?|spec|unittest)|conftest|.*\.(test|spec)|.*[a-z](Test|Tests|IT|Spec)", re.DOTALL)
_TEST_PROJECT = re.compile(r".*\.(Unit|Integration)?Tests?", re.IGNORECASE | re.DOTALL)
_TEST_SOURCES = re.compile(r"test|[a-z]\w*Test")
_DOC_NAME = re.compile(r"(readme|licen[cs]e|changelog|changes|authors|contributors|contributing|news|history|notice|copying)\b.*")
_CONFIG_NAME = re.compile(
    r"(\..*|makefile|dockerfile|jenkinsfile|procfile|gemfile|cmakelists\.txt|requirements.*\.txt|setup\.py)"
)


def file_kind(path: str) -> FileKind:
    """The kind of a file. Tests are told by folder or name as the common frameworks have them."""
    file = PurePosixPath(path)
    folders = [folder.lower() for folder in file.parts[:-1]]
    suffix, name = file.suffix.lstrip(".").lower(), file.name.lower()
    code = bool(_CODE.fullmatch(suffix))
    if folders[:1] in (["test"], ["testing"], ["e2e"]) or _TEST_FOLDERS & set(folders) or _in_tests(file.parts[:-1]):
        return "test"
    if code and _TEST_NAME.fullmatch(file.stem):
        return "test"
    if _CONFIG_NAME.fullmatch(name):
        return "config"
    if _MANUALS & set(folders[:1]) or _DOCS.fullmatch(suffix):
        return "docs"
    if not code and (_NEWS & set(folders[:1]) or _DOC_NAME.fullmatch(name)):
        return "docs"
    return "code" if code else "config" if _CONFIG.fullmatch(suffix) else "other"


def _in_tests(folders: tuple[str, ...]) -> bool:
    """Sources of tests as Gradle and Maven (``src/jvmTest``) or a .NET solution (``Name.Tests``) lay them out."""
    sources = any(above == "src" and _TEST_SOURCES.fullmatch(folder) for above, folder in pairwise(folders))
    return sources or any(_TEST_PROJECT.fullmatch(folder) for folder in folders)


def is_code(path: str) -> bool:
    """Whether ``path`` is code that is neither a test nor documentation nor configuration."""
    return file_kind(path) == "code"
