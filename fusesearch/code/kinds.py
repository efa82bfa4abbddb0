"""The kind of a file, by its path alone: code, test, documentation, configuration or something else."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal, NamedTuple

FileKind = Literal["code", "test", "docs", "config", "other"]

_CODE = re.compile(
    r"pyi?|pyw|pyx|pxd|[mc]?jsx?|mjs|tsx?|java|go|rs|c|h|cc|cpp|cxx|hh|hpp|hxx|cs|rb|php|kts?|swift|scala|sc|mm?|lua|p[lm]"
    r"|sh|bash|sql|r|jl|dart|exs?|[eh]rl|hs|clj|vue|svelte"
    r"|zig|nim|groovy|cr|fsx?|vb|mli?|elm|sol|proto|graphql|tf|nix|gd|coffee|cuh?|f90|ps1|cljs"
)
_DOCS = re.compile(r"md|rst|txt|adoc|asciidoc|tex|rdoc|org|textile")
_CONFIG = re.compile(r"toml|cfg|ini|ya?ml|json5?|lock|in|conf|properties|xml|gradle|cmake|mk|env")
_MANUALS = {"doc", "docs", "documentation"}
_NEWS = {"changelog", "changes", "news", "newsfragments", "whatsnew"}
_FOREIGN_FOLDERS = {
    "vendor", "vendored", "_vendor", "third_party", "third-party", "thirdparty", "3rdparty", "external", "extern", "deps",
    "node_modules", "bower_components", "site-packages", "dist", "build", "generated", "__generated__", "gen",
}  # fmt: skip
_FOREIGN_NAME = re.compile(
    r".*[.-]min\.[cm]?js|.*\.bundle\.js|.*_pb2(_grpc)?\.pyi?|.*\.pb\.(go|cc|h)|.*\.g(enerated)?\.[a-z]+|.*_generated\.\w+",
    re.DOTALL,
)
_TEST_FOLDERS = {"tests", "__tests__", "testdata"}
_TOP_TEST_FOLDERS = {"test", "testing", "e2e"}
_COMMAND_FOLDERS = {"command", "commands", "cmd"}
_TEST_NAME = re.compile(
    r"tests?|test_.*|.*_(tests?|spec|unittest)|conftest|(spec|rails)_helper|.*\.(test|spec)|.*[a-z](Test|Tests|IT)", re.DOTALL
)
_SPEC_NAME = re.compile(r".*[a-z]Spec", re.DOTALL)
_SPECIFIED = re.compile(r"[cm]?[jt]sx?|coffee|php|scala|groovy")
"""Suffixes where a file ``NameSpec`` is a test wherever it lies; others mean a specification (``ConnectionSpec.kt``)."""
_TEST_PROJECT = re.compile(r".*\.(Unit|Integration)?Tests?(\..*)?", re.IGNORECASE | re.DOTALL)
_TESTS_OF = re.compile(r"[A-Z]\w*[a-z0-9]Tests")
_TEST_SOURCES = re.compile(r"test|[a-z]\w*Test")
_DOC_NAME = re.compile(r"(readme|licen[cs]e|changelog|changes|authors|contributors|contributing|news|history|notice|copying)\b.*")
_CONFIG_NAME = re.compile(
    r"(\..*|makefile|dockerfile|jenkinsfile|procfile|gemfile|cmakelists\.txt|requirements.*\.txt|setup\.py)"
)


def file_kind(path: str) -> FileKind:
    """The kind of a file."""
    file = _parts_of(path)
    if _is_test(file):
        return "test"
    suffix, name, top = file.suffix, file.name.lower(), file.folders[0].lower() if file.folders else ""
    if _CONFIG_NAME.fullmatch(name):
        return "config"
    if top in _MANUALS or _DOCS.fullmatch(suffix):
        return "docs"
    code = bool(_CODE.fullmatch(suffix))
    if not code and (top in _NEWS or _DOC_NAME.fullmatch(name)):
        return "docs"
    return "code" if code else "config" if _CONFIG.fullmatch(suffix) else "other"


def is_test(path: str) -> bool:
    """Whether a file or folder contains tests, by the folders and names that common frameworks use."""
    return _is_test(_parts_of(path))


class _Parts(NamedTuple):
    """The folders of a path, and the name, stem and suffix of its file, this in lower case and without its dot."""

    folders: list[str]
    name: str
    stem: str
    suffix: str


def _parts_of(path: str) -> _Parts:
    """As :class:`PurePosixPath` has them, which takes five times as long: a large tree has 100,000 paths."""
    *folders, name = [part for part in path.split("/") if part and part != "."] or [""]
    if path.startswith("/") and name:
        folders.insert(0, "/")
    stem, _, suffix = name.rpartition(".")
    return _Parts(folders, name, stem, suffix.lower()) if stem and suffix else _Parts(folders, name, name, "")


def _is_test(file: _Parts) -> bool:
    folders = [folder.lower() for folder in (file.folders if file.suffix else [*file.folders, file.name])]  # it may be a folder
    if not _TEST_FOLDERS.isdisjoint(folders) or (folders and folders[0] in _TOP_TEST_FOLDERS) or _in_tests(file.folders):
        return True
    if not _CODE.fullmatch(file.suffix):
        return False
    if folders[:1] == ["spec"]:  # RSpec's and Jasmine's folder; deeper, or as `specs`, it often holds specifications
        return True
    if file.stem == "test" and folders and folders[-1] in _COMMAND_FOLDERS:  # a command called "test"
        return False
    return bool(_TEST_NAME.fullmatch(file.stem) or (_SPECIFIED.fullmatch(file.suffix) and _SPEC_NAME.fullmatch(file.stem)))


def _in_tests(folders: list[str]) -> bool:
    """Whether folders are test sources of Gradle or Maven (``src/jvmTest``), or a test project of .NET (``Name.Tests``,
    ``UnitTests``) or Xcode (``NameTests``)."""
    sources = any(above == "src" and _TEST_SOURCES.fullmatch(folder) for above, folder in pairwise(folders))
    return sources or any(
        ("." in folder and _TEST_PROJECT.fullmatch(folder)) or _TESTS_OF.fullmatch(folder) for folder in folders
    )


def is_foreign(path: str) -> bool:
    """Whether a file is vendored or generated, as far as its path says: what a project's own issues are about last of all."""
    file = _parts_of(path.lower())
    return not _FOREIGN_FOLDERS.isdisjoint(file.folders) or _FOREIGN_NAME.fullmatch(file.name) is not None


def is_code(path: str) -> bool:
    """Whether ``path`` is code, not a test, documentation or configuration."""
    suffix = path.rpartition(".")[2].lower()
    return _CODE.fullmatch(suffix) is not None and file_kind(path) == "code"  # the suffix tells most files that are not code
