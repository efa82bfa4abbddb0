"""Lists of candidates from a public history: the message of a commit, a function or file that it modifies, and seven others.

Newest commits first, without merges, without messages that say too little or describe upkeep. They modify one to three files of
code and one to five functions. Of the seven, three are what other commits modify, so that a right text is not known by its length
or age; the others are among the best by BM25, some of the same file (folder), some by chance.
"""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fusesearch.code.functions import function_spans
from fusesearch.code.kinds import is_code, is_foreign
from fusesearch.code.spans import FunctionSpan, function_at
from fusesearch.core.storage import write_jsonl
from fusesearch.localizers.ranker.lexicon import file_text, function_text
from fusesearch.search.git import git_command, reading_environment

COMMITS, SCANNED, SECONDS, OTHERS, ELSEWHERE = 340, 2500, 30.0, 7, 3
MOST_BYTES = 150_000
_TRAILER = re.compile(
    r"^(?:[A-Z][\w-]*-(?:by|id): .*|See merge request .*|\(cherry picked .*|git-svn-id.*|Reviewed[- ].*|Closes:? .*|Fixes:? .*|"
    r"Refs:? .*|PiperOrigin.*|Change-Id.*|---+.*|Co-authored.*|\* )$",
    re.MULTILINE | re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*\(?(?:#|GH-|gh-)\d+\)?|https?://\S+|\b[0-9a-f]{9,40}\b")
_NOISE = re.compile(
    r"^(?:merge|bump|release|version|revert|typo|format|lint|style|prettier|docs?\b|ci\b|tests?\b|chore|build\b|wip\b|prepare|changelog|"
    r"update (?:dep|version|changelog|readme|copyright|translation|submodule|vendored)|upgrade|rubocop|black\b|isort|ruff|"
    r"mypy|clippy|rustfmt|gofmt|cleanup|clean up|fix typo|fix lint|fix warnings?|fix tests?|fix build|fix docs?|add tests?|"
    r"add docs?|"
    r"remove unused|rename|refactor|reformat|run |whitespace|minor|cosmetic|v?\d+\.\d|"
    r"\[?(?:maven|pre-commit|dependabot|automated))",
    re.IGNORECASE,
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+")
_WORD = re.compile(r"[A-Za-z]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

Version = tuple[int, str]
"""When a text was seen, as the number of the commit from the newest on, and the text."""


def mine(repo: str, git_dir: Path, to: Path) -> int:
    """Write the lists of a repository, a JSON object a line: ``repo, commit, level, message, texts``, the right text first."""
    start, draw = time.monotonic(), random.Random(repo)
    todo = wanted(git_dir)
    fixes: list[tuple[int, str, str, list[tuple[str, str]]]] = []
    texts: dict[str, dict[str, list[Version]]] = {"function": {}, "file": {}}
    spans: dict[tuple[str, str], tuple[list[str], list[FunctionSpan]]] = {}
    order = 0
    for first in range(0, len(todo), 50):
        if len(fixes) >= COMMITS or time.monotonic() - start > SECONDS:
            break
        part = todo[first : first + 50]
        sources = blobs(git_dir, list(dict.fromkeys(blob for *_, changed in part for _, blob in changed)))
        lines = touched(git_dir, [commit for commit, *_ in part])
        for commit, message, changed in part:
            right, order = {}, order + 1
            for path, blob in changed:
                if blob not in sources:
                    continue
                if (path, blob) not in spans:
                    source = sources[blob]
                    spans[path, blob] = source.split("\n"), function_spans(source, path)
                    own, found = spans[path, blob]
                    _note(texts["file"], path, order, file_text(path, source, [span.name for span in found]))
                    for span in found:
                        text = function_text(path, span.name, own, span.start, span.end)
                        _note(texts["function"], f"{path}::{span.name}", order, text)
                own, found = spans[path, blob]
                for line, count in lines.get((commit, path), ()):
                    hit = {function_at(found, place) for place in range(line, line + count)}
                    hit |= set() if count else {function_at(found, line)} & {function_at(found, line + 1)}
                    for span in filter(None, hit):
                        right[f"{path}::{span.name}"] = function_text(path, span.name, own, span.start, span.end)
            if 1 <= len(right) <= 5:
                fixes.append((order, commit, message, [*right.items()]))
    names = {level: [*found] for level, found in texts.items()}
    if len(names["function"]) < 40 or len(names["file"]) < 10:
        return 0
    best = {level: Best([versions[0][1] for versions in found.values()]) for level, found in texts.items()}
    rows = []
    for number, (order, commit, message, right_functions) in enumerate(fixes[:COMMITS]):
        draw.shuffle(right_functions)
        paths = list(dict.fromkeys(name.partition("::")[0] for name, _ in right_functions))
        asked = [("function", name, text) for name, text in right_functions[: 1 if len(right_functions) < 3 else 2]]
        if number % 3 == 0 and len(names["file"]) > 20:
            path = draw.choice(paths)
            asked.append(("file", path, _version(texts["file"][path], order)))
        for level, name, text in asked:
            barred = {same(one) for one in ([one for one, _ in right_functions] if level == "function" else paths)}
            folder = name.rpartition("/")[0]
            near = {
                one
                for one in names[level]
                if (one.partition("::")[0] in paths if level == "function" else one.rpartition("/")[0] == folder)
            }
            wrong = others(draw, names[level], best[level].scores(message), barred, near)
            if wrong:
                rows.append((commit, level, message, name, [text, *(_version(texts[level][one], order) for one in wrong)]))
    write_jsonl(to, _with_elsewhere(repo, rows, draw))
    return len(rows)


def _note(versions: dict[str, list[Version]], name: str, order: int, text: str) -> None:
    kept = versions.setdefault(name, [])
    if not kept or kept[-1][1] != text:
        kept.append((order, text))


def _version(versions: list[Version], order: int) -> str:
    """The text as it was, or the nearest to it that is known."""
    before = [text for number, text in versions if number <= order]
    return before[-1] if before else versions[0][1]


def _with_elsewhere(
    repo: str, rows: Sequence[tuple[str, str, str, str, list[str]]], draw: random.Random
) -> list[dict[str, object]]:
    """The rows with what is right for other commits in the place of the last :data:`ELSEWHERE` texts."""
    right: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for commit, level, _, name, texts in rows:
        right[level].append((commit, name, texts[0]))
    found: list[dict[str, object]] = []
    for commit, level, message, name, texts in rows:
        added: list[str] = []
        for _ in range(40):
            other, called, text = draw.choice(right[level])
            if len(added) < ELSEWHERE and other != commit and same(called) != same(name) and text not in [*texts, *added]:
                added.append(text)
        texts = [*texts[: len(texts) - len(added)], *added]
        if len(set(texts)) == len(texts):
            found.append({"repo": repo, "commit": commit, "level": level, "message": message, "texts": texts})
    return found


def message_of(text: str) -> str | None:
    """A commit message as it is learned from, or None for noise."""
    text = _NUMBER.sub("", _TRAILER.sub("", text)).strip()
    title, _, body = text.partition("\n")
    title = re.sub(r"^(?:fix|feat|perf|bug)(?:\([^)]*\))?!?:\s*", "", title.strip(), flags=re.IGNORECASE)
    body = re.sub(r"\n\s*\n+", "\n", body).strip()
    if _NOISE.match(title) or len(title.split()) < 4 or len(_WORD.findall(title + body)) < 6:
        return None
    return f"{title[:300]}\n{body[:1200]}".strip()


def _git(git_dir: Path, *arguments: str, sent: Sequence[str] = ()) -> bytes:
    command, text = git_command(git_dir, *arguments), "".join(f"{line}\n" for line in sent)
    return subprocess.run(command, env=reading_environment(), input=text.encode(), capture_output=True, check=True).stdout


def wanted(git_dir: Path) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Commit, message, and path and blob before of the modified files of code, newest first."""
    form = "--format=%x01%H%x02%B%x03"
    listed = _git(git_dir, "log", "HEAD", "--no-merges", f"-n{SCANNED}", form, "--raw", "--no-abbrev", "--no-renames", "-z")
    found, seen = [], set()
    for entry in listed.decode("utf-8", "replace").split("\x01")[1:]:
        commit, _, rest = entry.partition("\x02")
        text, _, changed = rest.partition("\x03")
        message = message_of(text)
        parts = [part for part in changed.strip("\0\n").split("\0") if part]
        code = [
            (head.split(), path)
            for head, path in zip(parts[::2], parts[1::2], strict=False)
            if is_code(path) and not is_foreign(path)
        ]
        modified = all(len(head) > 4 and head[4] == "M" for head, _ in code)
        if message is None or message in seen or not 1 <= len(code) <= 3 or len(parts) > 24 or not modified:
            continue
        seen.add(message)
        found.append((commit, message, [(path, head[2]) for head, path in code]))
    return found[: COMMITS * 3]


def blobs(git_dir: Path, ids: Sequence[str]) -> dict[str, str]:
    """The texts of blobs that are small enough, by id."""
    raw = _git(git_dir, "cat-file", "--batch", sent=ids)
    found, at = {}, 0
    while at < len(raw):
        end = raw.index(b"\n", at)
        head, at = raw[at:end].split(), end + 1
        if len(head) == 3 and head[1] == b"blob":
            size = int(head[2])
            if size < MOST_BYTES:
                found[head[0].decode()] = raw[at : at + size].decode("utf-8", "replace")
            at += size + 1
    return found


def touched(git_dir: Path, commits: Sequence[str]) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """First line and number of lines before, by commit and path; an insertion is the line before it and 0."""
    options = (
        "-r",
        "-p",
        "-U0",
        "--no-renames",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--no-ext-diff",
        "--no-textconv",
    )
    raw = _git(git_dir, "diff-tree", "--stdin", *options, sent=commits).decode("utf-8", "replace")
    found, commit, path = defaultdict(list), "", ""
    for line in raw.split("\n"):
        if hunk := _HUNK.match(line):
            found[commit, path].append((int(hunk[1]), int(hunk[2] if hunk[2] is not None else 1)))
        elif line.startswith("--- a/"):
            path = line[6:].rstrip("\t")
        elif re.fullmatch(r"[0-9a-f]{40}", line):
            commit, path = line, ""
    return found


class Best:
    """BM25 over texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.at: dict[str, int] = {}
        counts = [Counter(self._words(text)) for text in texts]
        places = [
            (number, self.at.setdefault(word, len(self.at)), times)
            for number, found in enumerate(counts)
            for word, times in found.items()
        ]
        rows, columns, times = (np.array(part) for part in zip(*places, strict=True))
        size = np.array([found.total() for found in counts], float)
        norm = (0.4 + 0.6 * size / size.mean())[rows]
        having = np.bincount(columns, minlength=len(self.at))
        idf = np.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        values = times * 2.2 / (times + 1.2 * norm) * idf[columns]
        self.matrix = csr_matrix((values, (columns, rows)), shape=(len(self.at), len(texts)))

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of each text."""
        asked = [self.at[word] for word in sorted(set(self._words(query))) if word in self.at]
        return np.asarray(self.matrix[asked].sum(0)).ravel() if asked else np.zeros(self.matrix.shape[1])

    @staticmethod
    def _words(text: str) -> list[str]:
        return [word.lower() for part in _WORD.findall(text) for word in _HUMP.split(part) if 1 < len(word) < 30]


def same(name: str) -> tuple[str, str]:
    """Name of the file and last part of the function's: equal where a file was moved or a class renamed."""
    path, _, qualified = name.partition("::")
    return path.rpartition("/")[2], qualified.rpartition(".")[2]


def others(
    draw: random.Random, names: Sequence[str], scores: NDArray[np.float64], barred: set[tuple[str, str]], near: set[str]
) -> list[str]:
    """Wrong candidates: some of the best thirty, two near ones, the rest by chance; none if there are too few."""
    order = [names[place] for place in np.argsort(-scores, kind="stable").tolist()]
    allowed = [name for name in order if same(name) not in barred]
    top, close = allowed[:30], [name for name in allowed if name in near][:8]
    hard = [name for name in top[:5] if draw.random() < 0.6]
    rest = [name for name in top if name not in hard]
    draw.shuffle(rest)
    draw.shuffle(close)
    picked = list(dict.fromkeys([*close[:2], *hard, *rest]))[: OTHERS - 1]
    left = [name for name in allowed if name not in picked]
    picked += draw.sample(left, min(len(left), OTHERS - len(picked)))
    return picked if len(picked) == OTHERS else []
