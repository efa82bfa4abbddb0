"""``mine.py OUT REPOSITORY...``: lists of a commit message, a function (or file) that it modifies and seven that it does not.

Newest commits first, merges and noise dropped, one to three files of code modified, one to five functions. Candidates that are
not right: the best by BM25 over all functions of files that the mined commits touch, others of the same file, one by chance.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from fusesearch.code.functions import function_spans
from fusesearch.code.kinds import is_code, is_foreign
from fusesearch.code.spans import function_at
from texts import file_text, function_text

COMMITS, SCANNED, SECONDS, OTHERS = 340, 2500, 30.0, 7
TRAILER = re.compile(
    r"^(?:[A-Z][\w-]*-(?:by|id): .*|See merge request .*|\(cherry picked .*|git-svn-id.*|Reviewed[- ].*|Closes:? .*|Fixes:? .*|"
    r"Refs:? .*|PiperOrigin.*|Change-Id.*|---+.*|Co-authored.*|\* )$", re.M | re.I)
NUMBER = re.compile(r"\s*\(?(?:#|GH-|gh-)\d+\)?|https?://\S+|\b[0-9a-f]{9,40}\b")
NOISE = re.compile(
    r"^(?:merge|bump|release|version|revert|typo|format|lint|style|prettier|docs?\b|ci\b|tests?\b|chore|build\b|wip\b|prepare|changelog|"
    r"update (?:dep|version|changelog|readme|copyright|translation|submodule|vendored)|upgrade|rubocop|black\b|isort|ruff|mypy|"
    r"clippy|rustfmt|gofmt|cleanup|clean up|fix typo|fix lint|fix warnings?|fix tests?|fix build|fix docs?|add tests?|add docs?|"
    r"remove unused|rename|refactor|reformat|run |whitespace|minor|cosmetic|v?\d+\.\d|\[?(?:maven|pre-commit|dependabot|automated))",
    re.I)
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+", re.M)
WORD = re.compile(r"[A-Za-z]+|\d+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def run(git: Path, *args: str, sent: str | None = None) -> bytes:
    return subprocess.run(["git", "-C", str(git), *args], input=sent.encode() if sent is not None else None, capture_output=True).stdout


def message_of(text: str) -> str | None:
    """The message as it is learned from, or None for noise."""
    text = NUMBER.sub("", TRAILER.sub("", text)).strip()
    title, _, body = text.partition("\n")
    title = re.sub(r"^(?:fix|feat|perf|bug)(?:\([^)]*\))?!?:\s*", "", title.strip(), flags=re.I)
    body = re.sub(r"\n\s*\n+", "\n", body).strip()
    if NOISE.match(title) or len(title.split()) < 4 or len(WORD.findall(title + body)) < 6:
        return None
    return f"{title[:300]}\n{body[:1200]}".strip()


def wanted(git: Path) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Commit, message and (path, blob before) of the modified files of code, newest first."""
    raw = run(git, "log", "HEAD", "--no-merges", f"-n{SCANNED}", "--format=%x01%H%x02%B%x03", "--raw", "--no-abbrev", "--no-renames", "-z")
    found, seen = [], set()
    for entry in raw.decode("utf-8", "replace").split("\x01")[1:]:
        sha, _, rest = entry.partition("\x02")
        text, _, listed = rest.partition("\x03")
        message = message_of(text)
        if message is None or message in seen:
            continue
        parts = [p for p in listed.strip("\0\n").split("\0") if p]
        changes = [(head.split(), path) for head, path in zip(parts[::2], parts[1::2], strict=False)]
        code = [(head, path) for head, path in changes if is_code(path) and not is_foreign(path)]
        if not 1 <= len(code) <= 3 or len(changes) > 12 or any(len(head) < 5 or head[4] != "M" for head, _ in code):
            continue
        seen.add(message)
        found.append((sha, message, [(path, head[2]) for head, path in code]))
    return found[:COMMITS * 3]


def blobs(git: Path, ids: list[str], most: int = 150_000) -> dict[str, str]:
    raw = run(git, "cat-file", "--batch", sent="".join(f"{i}\n" for i in ids))
    found, at = {}, 0
    while at < len(raw):
        end = raw.index(b"\n", at)
        head = raw[at:end].split()
        at = end + 1
        if len(head) == 3 and head[1] == b"blob":
            size = int(head[2])
            if size < most:
                found[head[0].decode()] = raw[at : at + size].decode("utf-8", "replace")
            at += size + 1
    return found


def touched(git: Path, commits: list[str]) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """Line ranges before, by commit and path; an insertion is (line before it, 0)."""
    raw = run(git, "diff-tree", "--stdin", "-r", "-p", "-U0", "--no-renames", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--no-ext-diff",
              "--no-textconv", sent="".join(f"{c}\n" for c in commits)).decode("utf-8", "replace")
    found, commit, path = defaultdict(list), "", ""
    for line in raw.split("\n"):
        if line.startswith("@@ "):
            hit = HUNK.match(line)
            if hit:
                found[commit, path].append((int(hit[1]), int(hit[2] if hit[2] is not None else 1)))
        elif line.startswith("--- a/"):
            path = line[6:].rstrip("\t")
        elif len(line) == 40 and re.fullmatch(r"[0-9a-f]{40}", line):
            commit, path = line, ""
    return found


def words(text: str) -> list[str]:
    return [w.lower() for part in WORD.findall(text) for w in CAMEL.split(part) if 1 < len(w) < 30]


class Best:
    """BM25 over texts."""

    def __init__(self, texts: list[str]) -> None:
        self.at: dict[str, int] = {}
        rows, cols, vals, sizes = [], [], [], []
        for number, text in enumerate(texts):
            counts = Counter(words(text))
            sizes.append(sum(counts.values()))
            for word, count in counts.items():
                rows.append(number)
                cols.append(self.at.setdefault(word, len(self.at)))
                vals.append(count)
        size = np.array(sizes or [1], float)
        tf = np.array(vals, np.float32)
        norm = (0.4 + 0.6 * size / size.mean())[rows] if rows else tf
        df = np.bincount(cols, minlength=len(self.at))
        idf = np.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        self.matrix = csr_matrix((tf * 2.2 / (tf + 1.2 * norm) * idf[cols], (cols, rows)), shape=(len(self.at), len(texts)), dtype=np.float32)

    def scores(self, query: str) -> np.ndarray:
        asked = [self.at[w] for w in set(words(query)) if w in self.at]
        return np.asarray(self.matrix[asked].sum(0)).ravel() if asked else np.zeros(self.matrix.shape[1])


def others(draw: random.Random, scores: np.ndarray, barred: set[int], near: list[int], count: int) -> list[int]:
    """Wrong candidates: four of the best thirty, two near, the rest by chance."""
    top = [int(i) for i in np.argsort(-scores, kind="stable")[: 30 + len(barred)] if int(i) not in barred][:30]
    hard = [t for t in top[:5] if draw.random() < 0.6]
    rest = [t for t in top if t not in hard]
    draw.shuffle(rest)
    close = sorted((i for i in near if i not in barred), key=lambda i: -scores[i])[:8]
    draw.shuffle(close)
    picked = list(dict.fromkeys([*close[:2], *hard, *rest]))[: count - 1]
    for _ in range(60):
        if len(picked) >= count:
            break
        one = draw.randrange(len(scores))
        if one not in barred and one not in picked:
            picked.append(one)
    return picked if len(picked) == count else []


def same(name: str) -> tuple[str, str]:
    """Name of the file and last part of the function's: equal where a file was moved or a class renamed."""
    path, _, qualified = name.partition("::")
    return path.rpartition("/")[2], qualified.rpartition(".")[2]


def mine(repo: str, git: Path, out: Path) -> dict[str, int]:
    """Writes the lists of a repository, a line each: message, level, texts (the first is right)."""
    begun, draw = time.monotonic(), random.Random(repo)
    todo = wanted(git)
    lists: list[tuple[int, str, str, list[tuple[str, str]]]] = []
    spans: dict[tuple[str, str], tuple[list[str], list]] = {}
    functions: dict[str, list[tuple[int, str]]] = {}
    files: dict[str, list[tuple[int, str]]] = {}
    order = 0

    def note(versions: dict[str, list[tuple[int, str]]], name: str, text: str) -> None:
        kept = versions.setdefault(name, [])
        if not kept or kept[-1][1] != text:
            kept.append((order, text))

    for start in range(0, len(todo), 50):
        if len(lists) >= COMMITS or time.monotonic() - begun > SECONDS:
            break
        part = todo[start : start + 50]
        texts = blobs(git, list(dict.fromkeys(blob for *_, fs in part for _, blob in fs)))
        lines = touched(git, [sha for sha, *_ in part])
        for sha, message, changed in part:
            right, order = [], order + 1
            for path, blob in changed:
                if blob not in texts:
                    continue
                source = texts[blob]
                if (path, blob) not in spans:
                    spans[path, blob] = (source.split("\n"), function_spans(source, path))
                    source_lines, found = spans[path, blob]
                    note(files, path, file_text(path, source, [span.name for span in found]))
                    for span in found:
                        note(functions, f"{path}::{span.name}", function_text(path, span.name, source_lines, span.start, span.end))
                source_lines, found = spans[path, blob]
                for first, count in lines.get((sha, path), ()):
                    hits = {function_at(found, line) for line in range(first, first + count)} if count else (
                        {function_at(found, first)} & {function_at(found, first + 1)})
                    right += [(f"{path}::{s.name}", function_text(path, s.name, source_lines, s.start, s.end)) for s in hits if s]
            right = list(dict(right).items())
            if 1 <= len(right) <= 5:
                lists.append((order, sha, message, right))
    spans.clear()
    names, paths = list(functions), list(files)
    at, by_file, alike, path_alike = {name: i for i, name in enumerate(names)}, defaultdict(list), defaultdict(list), defaultdict(list)
    for i, name in enumerate(names):
        by_file[name.partition("::")[0]].append(i)
        alike[same(name)].append(i)
    for i, path in enumerate(paths):
        path_alike[path.rpartition("/")[2]].append(i)
    counts = Counter()
    if len(names) < 40 or len(paths) < 10:
        return dict(counts)
    of_functions, of_files = Best([v[0][1] for v in functions.values()]), Best([v[0][1] for v in files.values()])

    def then(versions: dict[str, list[tuple[int, str]]], name: str, when: int) -> str:
        """The text as it was, or the nearest to it that is known."""
        before = [text for number, text in versions[name] if number <= when]
        return before[-1] if before else versions[name][0][1]

    with open(out / f"{repo.replace('/', '__')}.jsonl.part", "w") as stream:
        for number, (when, sha, message, right) in enumerate(lists[:COMMITS]):
            barred = {i for name, _ in right for i in (at[name], *alike[same(name)])}  # also where the file or class was called otherwise
            scores = of_functions.scores(message)
            changed = list(dict.fromkeys(name.partition("::")[0] for name, _ in right))
            near = [i for path in changed for i in by_file[path]]
            draw.shuffle(right)
            for name, text in right[: 1 if len(right) < 3 else 2]:
                wrong = others(draw, scores, barred, near, OTHERS)
                if wrong:
                    stream.write(json.dumps([repo, sha, "function", message, [text, *(then(functions, names[i], when) for i in wrong)]]) + "\n")
                    counts["function"] += 1
            if number % 3 == 0 and len(paths) > 20:
                barred = {i for path in changed for i in path_alike[path.rpartition("/")[2]]}
                one = draw.choice(changed)
                folder = one.rpartition("/")[0]
                wrong = others(draw, of_files.scores(message), barred, [i for i, p in enumerate(paths) if p.rpartition("/")[0] == folder], OTHERS)
                if wrong and one in files:
                    stream.write(json.dumps([repo, sha, "file", message, [then(files, one, when), *(then(files, paths[i], when) for i in wrong)]]) + "\n")
                    counts["file"] += 1
    (out / f"{repo.replace('/', '__')}.jsonl.part").rename(out / f"{repo.replace('/', '__')}.jsonl")
    return dict(counts) | {"commits": len(lists), "functions": len(names), "files": len(paths), "seconds": round(time.monotonic() - begun)}


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for spec in sys.argv[2:]:
        repo, _, folder = spec.partition("=")
        if not (out / f"{repo.replace('/', '__')}.jsonl").exists():
            print(repo, mine(repo, Path(folder), out), flush=True)


if __name__ == "__main__":
    main()
