"""From a patch to what it modifies: the files, functions and lines a localizer should name.

The rules, the same for gold patches of every source:

- **files**: every file of ``base_commit`` the patch touches, also tests, hidden files and those that an ignore file matches
  (the tools find them, too: :class:`~fusesearch.search.repository.Repository`): changed, deleted, renamed (under its old
  name), binary, or its mode alone. A link that becomes a file, or a file a link, is changed.
- **submodules**: those that the patch moves, adds or removes. They are no files.
- **functions**: a function counts if the patch changes or removes one of its lines, or if its text differs afterwards
  because lines were added inside it, at its end, or as a decorator. Signature, decorators and docstring belong to the
  function. Comments and blank lines are ignored, so a patch that changes only comments modifies no function. Lines added
  between functions belong to none. A function whose text is unchanged does not count, even inside a hunk.
- **unread**: files with a change in lines that no reading of the source could parse, outside the functions found.
- **lines**: old lines that are changed or removed. A file that only gains lines has none.
- **added_files**: new files, not counting renamed ones. **added_functions**: qualified names that are new in the file; a
  second definition of a known name, such as a property's setter, does not count.

Function spans come from the syntax trees before and after the patch: from ``ast`` for Python (by indentation, if either
version does not parse: :mod:`fusesearch.code.functions`), from tree-sitter for the languages of :mod:`fusesearch.code.other`.
Other files have truth at file level and lines only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fusesearch.code.sides import Side, both_sides
from fusesearch.code.spans import FunctionSpan
from fusesearch.core.schema import Truth
from fusesearch.data.applying import Edit, Patched, Reader, apply_patch, submodules_apart
from fusesearch.data.patches import FileChange, parse_patch
from fusesearch.search.git import Git


def truth_from_patch(patch: str, read: Reader) -> Truth:
    """What ``patch`` modifies; ``read`` returns the text of a file before the patch, or ``None`` if it does not exist.

    Raises :class:`DataError` when the patch is malformed, changes a missing file, adds an existing one, or does not apply;
    the message names the hunk.
    """
    return truth_from_changes(parse_patch(patch), read)


def truth_from_changes(changes: Iterable[FileChange], read: Reader) -> Truth:
    """Like :func:`truth_from_patch`, for a parsed patch."""
    changes = submodules_apart(changes, read)
    truth = Truth(submodules=[name for change in changes if change.submodule for name in (change.old, change.new) if name])
    for file in apply_patch(changes, read):
        _add_file(truth, file)
    unique = {name: list(dict.fromkeys(value)) if isinstance(value, list) else value for name, value in truth}
    for added, known in (("added_files", {*truth.files}), ("added_functions", {*truth.functions})):
        unique[added] = [name for name in unique[added] if name not in known]  # put where the patch removes one of that name
    return Truth.model_validate(unique)


def truth_in_git(git_dir: Path, base: str, patch: str) -> Truth:
    """What ``patch`` modifies at commit ``base`` of a git repository, bare or not.

    Raises :class:`RepositoryError` for a folder that is not a repository or a missing commit; otherwise like
    :func:`truth_from_patch`.
    """
    with Git(git_dir) as git:
        git.resolve(base)
        return truth_from_patch(patch, lambda path: git.read(base, path))


def _add_file(truth: Truth, file: Patched) -> None:
    """Add what the patch does to one file to ``truth``."""
    before, after = both_sides(file.old or file.new, file.new or file.old, file.before, file.after)
    known = {span.name for span in before.spans}
    if file.old:
        truth.files.append(file.old)
        if lines := [(edit.start + 1, edit.start + len(edit.removed)) for edit in file.edits if edit.removed]:
            truth.lines[file.old] = lines
        truth.functions += [f"{file.old}::{name}" for name in _modified(before, after, file.edits)]
        truth.unread += [file.old] if _unknown(before, list(_code_edits(file.edits, before, after))) else []
    elif file.new:
        truth.added_files.append(file.new)
    truth.added_functions += [f"{file.new}::{span.name}" for span in after.spans if span.name not in known]


def _unknown(before: Side, edits: list[Edit]) -> bool:
    """Whether an edit lies in lines that could not be parsed, outside every function."""
    for edit in edits:
        first, last = edit.start + 1, edit.start + max(1, len(edit.removed))
        unread = any(first <= end and start <= last for start, end in before.unread)
        if unread and not any(span.start <= last and first <= span.end for span in before.spans):
            return True
    return False


def _modified(before: Side, after: Side, edits: list[Edit]) -> list[str]:
    """Names of the modified functions by the rules above, in file order."""
    surviving = Counter((span.name, after.text(span)) for span in after.spans)
    named = {span.name for span in after.spans}
    edits = list(_code_edits(edits, before, after))
    modified = []
    for span in before.spans:
        key = (span.name, before.text(span))
        survives = surviving[key] > 0
        surviving[key] -= survives
        touching = _touching(span, edits)
        rewritten = not survives and (bool(touching) or (span.name in named and _beside(span, before.code, edits)))
        if rewritten or any(edit.removed for edit in touching):
            modified.append(span.name)
    return modified


def _code_edits(edits: list[Edit], before: Side, after: Side) -> Iterator[Edit]:
    """The edits that change more than comments and trailing blanks."""
    shift = 0
    for edit in edits:
        first, last = edit.start + shift, edit.start + shift + len(edit.added)
        shift += len(edit.added) - len(edit.removed)
        removed = before.code[edit.start : edit.start + len(edit.removed)]
        if [*filter(None, removed)] != [*filter(None, after.code[first:last])]:
            yield edit


def _touching(span: FunctionSpan, edits: list[Edit]) -> list[Edit]:
    """Edits that remove lines of the function or add lines inside it; ``edits`` are sorted and disjoint."""
    first = bisect_left(edits, span.start, key=lambda edit: edit.start + len(edit.removed))
    end = bisect_left(edits, span.end, key=lambda edit: edit.start)
    return edits[first:end]


def _beside(span: FunctionSpan, code: list[str], edits: list[Edit]) -> bool:
    """Whether an edit borders on the function, but for comments and blank lines.

    A text that differs without one is only read otherwise: a change elsewhere can move where a parser begins a function.
    """
    first, last = span.start - 1, span.end
    while first > 0 and not code[first - 1]:
        first -= 1
    while last < len(code) and not code[last]:
        last += 1
    return any(edit.start <= last and first <= edit.start + len(edit.removed) for edit in edits)
