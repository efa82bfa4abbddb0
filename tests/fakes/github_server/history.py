"""Writes the repositories of a world with ``git fast-import``."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

from tests.fakes.git import git
from tests.fakes.github_server.world import Node, Repository, World

GONE = "f" * 40


def write_world(world: World, root: Path) -> None:
    """Bare repositories at ``root/<owner>/<name>.git``; puts the ids of commits into the world."""
    for repository in world.repositories.values():
        write_repository(repository, root)


def write_repository(repository: Repository, root: Path) -> None:
    """Append the pull requests that are not written yet; create the repository first if it does not exist."""
    git_dir = root / f"{repository.name}.git"
    stream = _Stream()
    if not repository.tip:
        git_dir.mkdir(parents=True)
        git(git_dir, "init", "-q", "--bare", "-b", "main")
        for option in ("allowFilter", "allowAnySHA1InWant"):
            git(git_dir, "config", f"uploadpack.{option}", "true")
        repository.tip = stream.commit("refs/heads/main", "first", repository.now, repository.files)
    fresh = [pull for pull in repository.pulls.values() if "mergeCommit" not in pull]
    for pull in fresh:
        _add(stream, repository, pull)
    command = ["git", "fast-import", "--quiet", "--force", "--export-marks=marks"]
    subprocess.run(command, cwd=git_dir, input=b"".join(stream.parts), check=True, capture_output=True)
    ids: dict[str | int, str] = {int(mark[1:]): oid for mark, oid in map(str.split, (git_dir / "marks").read_text().splitlines())}
    repository.tip = ids.get(repository.tip, str(repository.tip))
    for node in [*fresh, *(row["commit"] for pull in fresh for row in pull["commits"])]:
        node |= {key: ids.get(node[key], node[key]) for key in node.keys() & {"oid", "merge"}}
    for pull in fresh:
        pull["mergeCommit"] = {"oid": pull.pop("merge")} if pull["kind"] != "no merge commit" else None


def _add(stream: _Stream, repository: Repository, pull: Node) -> None:
    """The branch of a pull request, and its merge if it was merged."""
    kind, style, files = pull["kind"], pull["style"], repository.files
    base, head, main = repository.tip, repository.tip, "refs/heads/main"
    commits = [row["commit"] for row in pull["commits"]]
    for commit in commits:
        ref = f"refs/pull/{pull['number']}/head"
        head = commit["oid"] = stream.commit(ref, commit["message"], commit["authoredDate"], commit["tree"], head)
    changed = {path: text for commit in commits for path, text in commit["tree"].items()}
    pull["files"] = _listed(files, changed)
    pull |= {"changedFiles": len(pull["files"]), "merge": GONE}
    if pull["mergedAt"] and kind != "commit gone":
        merged = base
        if style == "rebase":
            for commit in commits:
                merged = stream.commit(main, commit["message"], commit["authoredDate"], commit["tree"], merged)
        else:
            text = f"Merge pull request #{pull['number']}\n\n{pull['title']}" if style == "merge" else pull["title"]
            merged = stream.commit(main, text, pull["mergedAt"], changed, base, *([head] if style == "merge" else []))
        pull["merge"] = repository.tip = merged
        repository.files = {path: text for path, text in (files | changed).items() if text is not None}


class _Stream:
    """Commands for fast-import. Commits have numbers, their marks, until git names them."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.mark = 0

    def commit(self, ref: str, message: str, when: datetime, tree: dict[str, str | None], *parents: int | str) -> int:
        self.mark += 1
        people = "".join(f"{who} A <a@example.org> {int(when.timestamp())} +0000\n" for who in ("author", "committer"))
        self.parts += [f"commit {ref}\nmark :{self.mark}\n{people}".encode(), *_data(message)]
        for word, parent in zip(("from", "merge"), parents, strict=False):
            self.parts.append(f"{word} {f':{parent}' if isinstance(parent, int) else parent}\n".encode())
        for path, text in tree.items():
            quoted = f'"{path}"'.encode()
            self.parts += [b"D " + quoted + b"\n"] if text is None else [b"M 100644 inline " + quoted + b"\n", *_data(text)]
        return self.mark


def _data(text: str) -> list[bytes]:
    content = text.encode()
    return [f"data {len(content)}\n".encode(), content, b"\n"]


def _listed(files: dict[str, str], changed: dict[str, str | None]) -> list[Node]:
    """Files as GitHub lists them: one that only moved appears once, under its new name."""
    moved = {files[path]: path for path, text in changed.items() if text is None}
    listed = {}
    for path, text in changed.items():
        if text is not None:
            was = moved.pop(text, None) if path not in files else None
            listed[path] = "MODIFIED" if path in files else "RENAMED" if was else "ADDED"
    listed |= {path: "DELETED" for path in moved.values()}
    return [{"path": path, "changeType": kind} for path, kind in listed.items()]
