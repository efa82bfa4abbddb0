"""The source files of a repository as a tree for a model, within a number of characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fusesearch.code.kinds import is_test
from fusesearch.code.reader import language_of

_INDENT = "  "


def source_files(paths: Iterable[str]) -> list[str]:
    """Code files without tests (unless there is nothing else), only Python unless another language has more files."""
    languages = {path: language_of(path) for path in paths}
    known = [path for path, language in languages.items() if language]
    counts = Counter(languages[path] for path in known)
    if counts and counts["python"] == max(counts.values()):
        known = [path for path in known if languages[path] == "python"]
    return [path for path in known if not is_test(path)] or known


def tree_text(paths: Sequence[str], chars: int) -> str:
    """Folders (``name/``) and files, each below its folder and indented by two blanks.

    If that takes more than ``chars``, the deepest levels are left out, then the end, each with a notice.
    """
    depth = max((path.count("/") for path in paths), default=0) + 1
    low, high = 1, depth
    text = _text(paths, depth)
    if len(text) <= chars:
        return text
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(_text(paths, middle)) <= chars else (low, middle - 1)
    return cut(_text(paths, low), chars, "of the tree")


def cut(text: str, chars: int, what: str) -> str:
    """``text`` cut at the end of a line to about ``chars``, with a notice that says how many lines ``what`` lacks."""
    if len(text) <= chars:
        return text
    kept = text[: max(chars, 1)].rpartition("\n")[0] or text[: max(chars, 1)]
    return f"{kept}\n(... {text.count(chr(10), len(kept))} more lines {what} are not shown)"


def _text(paths: Sequence[str], depth: int) -> str:
    """The tree down to ``depth`` levels, with a count of deeper files beside each folder."""
    rows: list[list[str]] = []
    deeper: Counter[tuple[str, ...]] = Counter()
    shown: dict[tuple[str, ...], int] = {}
    for path in sorted(paths, key=_order):
        *folders, name = path.split("/")
        for level in range(1, min(len(folders), depth) + 1):
            key = tuple(folders[:level])
            if key not in shown:
                shown[key] = len(rows)
                rows.append([f"{_INDENT * (level - 1)}{folders[level - 1]}/"])
        if len(folders) < depth:
            rows.append([f"{_INDENT * len(folders)}{name}"])
        else:
            deeper[tuple(folders[:depth])] += 1
    for key, count in deeper.items():
        rows[shown[key]].append(f" ({count} more files below)")
    return "\n".join("".join(row) for row in rows)


def _order(path: str) -> list[tuple[bool, str]]:
    """Sort key: folders before the files beside them, both by name."""
    parts = path.split("/")
    return [(index == len(parts) - 1, part) for index, part in enumerate(parts)]
