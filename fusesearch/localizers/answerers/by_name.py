"""Where a name is defined and who calls it, in other languages than Python: by the name alone, from the ranker's index.

One definition of the name is an answer: a function, a class, else a line that declares it
(:mod:`fusesearch.localizers.answerers.declared`). A class and its constructors are one definition; a declaration whose
definition follows does not count. A call of the name may be one of something else that has it, so callers are candidates.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

from fusesearch.code.plain import RUBY, callable_name
from fusesearch.localizers.answerers import declared
from fusesearch.localizers.answerers.asked import Asked
from fusesearch.localizers.answerers.certain import Finding, lines_of
from fusesearch.localizers.answerers.copied import without_copies
from fusesearch.localizers.answerers.named import Named
from fusesearch.localizers.answerers.operators import is_operator, parts
from fusesearch.localizers.ranker.facts import words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.search.repository import Repository


def by_name(asked: Asked, repository: Repository, folder: Path | None) -> Finding | None:
    """The finding in files of other languages than Python; None if none of them defines or calls the name.

    ``folder`` is where the index lies. Tests are not searched.
    """
    name = asked.names.get("name", "").rpartition("::")[2]
    owner, last = parts(name)
    if not words_of(last) and not is_operator(last):  # such as `_`, or a question about code without a name
        return None
    with Index(repository, folder) as index:
        tree = Named(index, owner, last)
        found = tree.found()
        if owner and found and not found[0].path.endswith(RUBY):
            last = callable_name(found[0].path, f"{owner}.{last}")
        tree = Named(index, "", last) if last != tree.last else tree
        searched = asked.kind == "callers" and not is_operator(last)
        if searched and (calling := list(chain(*without_copies(list(tree.calling()), index)))):
            return Finding.listed(f"These call something named `{last}`, by its name alone; tests are not searched:", calling)
        other = [] if found or not owner else Named(index, "", last).found()
        prototypes = [] if found or other else list(tree.declared_by(declared.prototyping))
        if not found:
            found = [one for one in other if _is_in(owner.rpartition(".")[2], one.path, index.source(one.path))]
            found = [one for one in found if one.function == last] or found  # of a package, not of a class in it
        found, copies = without_copies(found, index)
    if other and not found:
        return Finding.listed(f"`{name}` is not defined here. `{last}` is:", other)
    if prototypes:
        return Finding.listed(f"`{name}` has no definition here, perhaps a macro's. It is declared:", prototypes)
    if not found:
        return None
    lines = [*lines_of(found), *(f"{line}  (a copy that a program wrote)" for line in lines_of(copies))]
    if asked.kind == "exported" and len(found) == 1:
        return Finding(True, "", [f"{found[0].path}::{found[0].function}"], lines)
    said = {
        "exported": f"`{name}` has {len(found)} definitions:",
        "callers": f"Uses of operators are not searched. `{name}` is defined here:"
        if is_operator(last)
        else f"Nothing calls `{name}` by its name, except perhaps tests, which are not searched. It is defined here:",
    }.get(asked.kind, f"This question has answers in Python alone. `{name}` is defined here:")
    return Finding(False, said, [], lines, [*found, *copies])


def _is_in(space: str, path: str, source: str) -> bool:
    """Whether a file is of a package, namespace, module or crate: by its name, its folder's name, or what it says."""
    *_, folder, name = ["", *path.lower().replace("-", "_").split("/")]
    says = rf"^[ \t]*(?:namespace|package|module|defmodule|pub mod|mod)[ \t]+(?:[\w.\\:]*[.\\:])?{re.escape(space)}\b"
    crate = f"/{space.lower()}/src/" in f"/{path.lower().replace('-', '_')}" and path.endswith(".rs")
    return crate or space.lower() in (folder, name.partition(".")[0]) or re.search(says, source, re.MULTILINE) is not None
