"""Writes the repositories of a world with ``git fast-import``."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

from tests.fakes.github_server.world import Commit, Pull, Repository, World

GONE = "f" * 39


def write_world(world: World, root: Path) -> None:
    """Bare repositories at ``root/<owner>/<name>.git``; puts the ids of commits into the world."""
    for repository in world.repositories.values():
        write_repository(repository, list(repository.pulls.values()), root)


def write_repository(repository: Repository, pulls: list[Pull], root: Path) -> None:
    """Append pull requests in order; create the repository first if it does not exist."""
    git_dir = root / f"{repository.name}.git"
    new = not git_dir.exists()
    if new:
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        _git(git_dir.parent, "init", "-q", "--bare", "-b", "main", str(git_dir))
        for option in ("allowFilter", "allowAnySHA1InWant"):
            _git(git_dir, "config", f"uploadpack.{option}", "true")
    stream = _Stream(repository, "" if new else _git(git_dir, "rev-parse", "refs/heads/main"))
    for pull in pulls:
        stream.pull(pull)
    marks = git_dir / "marks"
    command = ["fast-import", "--quiet", "--force", f"--export-marks={marks}"]
    subprocess.run(["git", *command], cwd=git_dir, input=b"".join(stream.parts), check=True, capture_output=True)
    stream.resolve(dict(line.split() for line in marks.read_text().splitlines()))
    marks.unlink()


class _Stream:
    """Commands for fast-import. Commits have marks until git names them."""

    def __init__(self, repository: Repository, tip: str) -> None:
        self.repository = repository
        self.parts: list[bytes] = []
        self.mark = 0
        self.pending: list[tuple[Pull, dict[str, int | str]]] = []
        self.commits: list[tuple[Commit, int]] = []
        self.tip: int | str = tip
        if not tip:
            self.tip = self._commit("refs/heads/main", "first", repository.now, repository.files, None)

    def pull(self, pull: Pull) -> None:
        """The branch of a pull request, and its merge if it was merged."""
        base: int | str = self.tip
        head = base
        for commit in pull.commits:
            head = self._commit(f"refs/pull/{pull.number}/head", commit.message, commit.authored, commit.files, head)
            self.commits.append((commit, int(head)))
        changed = {path: text for commit in pull.commits for path, text in commit.files.items()}
        pull.changed = self._listed(changed)
        merge: int | str = GONE + "0"
        if pull.merged and pull.kind not in {"rewritten", "commit gone"}:
            merge = self._merge(pull, base, head, changed)
            self.tip = merge
            for path, text in changed.items():
                if text is None:
                    self.repository.files.pop(path)
                else:
                    self.repository.files[path] = text
        self.pending.append((pull, {"base": base, "head": head, "merge": merge}))

    def _merge(self, pull: Pull, base: int | str, head: int | str, changed: dict[str, str | None]) -> int:
        when = pull.merged or pull.created
        if pull.style == "merge":
            text = f"Merge pull request #{pull.number} from developer/branch\n\n{pull.title}"
            return self._commit("refs/heads/main", text, when, changed, base, head)
        if pull.style == "squash":
            return self._commit("refs/heads/main", f"{pull.title} (#{pull.number})", when, changed, base)
        last = base
        for commit in pull.commits:
            last = self._commit("refs/heads/main", commit.message, commit.authored, commit.files, last)
        return int(last)

    def _commit(
        self, ref: str, message: str, when: datetime, files: dict[str, str | None] | dict[str, str], parent: int | str | None,
        other: int | str | None = None,
    ) -> int:  # fmt: skip
        self.mark += 1
        text_of_message, seconds = message.encode(), int(when.timestamp())
        head = [f"commit {ref}\nmark :{self.mark}\n"]
        head += [f"{who} A <a@example.org> {seconds} +0000\n" for who in ("author", "committer")]
        self.parts += ["".join(head).encode(), f"data {len(text_of_message)}\n".encode(), text_of_message, b"\n"]
        self.parts += [f"from {_name(parent)}\n".encode()] if parent else []
        self.parts += [f"merge {_name(other)}\n".encode()] if other else []
        for path, text in files.items():
            quoted = '"' + path.encode().decode("latin-1").translate({34: '\\"'}) + '"'
            if text is None:
                self.parts.append(f"D {quoted}\n".encode("latin-1"))
            else:
                content = text.encode()
                self.parts += [f"M 100644 inline {quoted}\ndata {len(content)}\n".encode("latin-1"), content, b"\n"]
        return self.mark

    def _listed(self, changed: dict[str, str | None]) -> dict[str, str]:
        """Paths as GitHub lists them: a file that only moved appears once, under its new name."""
        files = self.repository.files
        moved = {files[path]: path for path, text in changed.items() if text is None}
        listed = {}
        for path, text in changed.items():
            if text is not None:
                from_path = moved.pop(text, None) if path not in files else None
                listed[path] = "MODIFIED" if path in files else "RENAMED" if from_path else "ADDED"
        return listed | {path: "DELETED" for path in moved.values()}

    def resolve(self, marks: dict[str, str]) -> None:
        """Put git's ids of commits into the world."""
        for commit, mark in self.commits:
            commit.oid = marks[f":{mark}"]
        for pull, named in self.pending:
            ids = {key: marks[f":{value}"] if isinstance(value, int) else value for key, value in named.items()}
            pull.base, pull.head, pull.merge = ids["base"], ids["head"], ids["merge"]
            if pull.kind == "commit gone":
                pull.head = GONE + "1"


def _name(commit: int | str | None) -> str:
    return f":{commit}" if isinstance(commit, int) else str(commit)


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
