"""Repositories, pull requests and issues of this GitHub, drawn from a seed, with the expected result of each.

What GraphQL answers is kept as its nodes: mappings with GitHub's names, a connection as the list of all its nodes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

START = datetime(2020, 1, 1, tzinfo=UTC)
Node = dict[str, Any]

ORDINARY = (
    "plain", "edited", "edited early", "renamed", "ghost", "keyword", "commit keyword", "sidebar", "two issues",
    "empty body", "chinese", "bot", "younger", "renames file", "adds and deletes", "with tests",
)  # fmt: skip
"""Kinds of pull requests that make pairs."""

FATES = {
    "no issue": "no_issue",
    "discussion": "issue_gone",
    "names a pull": "issue_is_pull",
    "text gone": "issue_text_unknown",
    "after merge": "issue_after_merge",
    "many files": "many_files",
    "no merge commit": "no_merge_commit",
    "commit gone": "commit_gone",
}
"""Kinds of pull requests that make no pairs, and why."""


def module(number: int) -> str:
    """A module of six functions."""
    functions = "".join(f"\n\ndef step{n}(value):\n    return value + {n}\n" for n in range(6))
    return f'"""Module {number}."""\n{functions}\n'


@dataclass
class Repository:
    """``expected`` are the texts to mine, by number of the pull request; ``tip`` is the last commit that was written."""

    name: str
    id: int
    stars: int = 500
    licence: str | None = "MIT"
    language: str | None = "Python"
    fork_of: str | None = None
    pulls: dict[int, Node] = field(default_factory=dict)
    issues: dict[int, Node] = field(default_factory=dict)
    expected: dict[int, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=lambda: {f"pkg/module{n}.py": module(n) for n in range(12)})
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    now: datetime = START
    tip: str | int = ""

    @property
    def merged(self) -> list[Node]:
        return [pull for pull in self.pulls.values() if pull["mergedAt"]]


@dataclass
class World:
    repositories: dict[str, Repository]
    renamed: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Repository | None:
        """By present or former name, in any case."""
        known = {repo.casefold(): repo for repo in self.repositories} | {old.casefold(): new for old, new in self.renamed.items()}
        return self.repositories.get(known.get(name.casefold(), ""))

    def expected(self) -> dict[str, str]:
        """Issue texts to mine, by instance id."""
        rows = [(row.name.replace("/", "__"), row.expected) for row in self.repositories.values()]
        return {f"{slug}-{number}": text for slug, expected in rows for number, text in expected.items()}


def add_pulls(repository: Repository, rng: random.Random, count: int, share: float) -> None:
    """Add pull requests, each later than the one before; ``share`` of them close an issue in a way of :data:`ORDINARY`."""
    for _ in range(count):
        add_pull(repository, rng, rng.choice(ORDINARY) if rng.random() < share else "no issue")


def add_pull(repository: Repository, rng: random.Random, kind: str, merged: bool = True) -> Node:
    """One pull request of a kind, with the issues it is about."""
    start = repository.now + timedelta(hours=10)
    repository.now += timedelta(days=1)
    messages = ["fix it", "and a little more"][: rng.choice((1, 1, 2))]
    pull: Node = {
        "kind": kind, "style": rng.choice(("merge", "squash", "rebase")), "title": f"Fix step {rng.randrange(6)}",
        "body": "It was wrong.", "closingIssuesReferences": [], "createdAt": start + timedelta(hours=1),
        "author": actor("helper[bot]" if kind == "bot" else None if kind == "ghost" else "developer"),
        "mergedAt": start + timedelta(hours=5) if merged else None,
        "updatedAt": start + timedelta(hours=5, minutes=rng.randrange(50)),
    }  # fmt: skip
    text = None if kind == "no issue" else _about(repository, pull, messages, start)
    number = next(repository.numbers)
    if merged and kind not in FATES:
        repository.expected[number] = str(text)
    commits = [{"message": text, "authoredDate": start + timedelta(minutes=n)} for n, text in enumerate(messages)]
    _change(repository.files, rng, kind, commits, number)
    pull |= {"__typename": "PullRequest", "number": number, "commits": [{"commit": row} for row in commits]}
    repository.pulls[number] = pull
    return pull


def add_issue(repository: Repository, created: datetime) -> Node:
    """An issue, and its text."""
    number = next(repository.numbers)
    repository.issues[number] = {
        "__typename": "Issue", "id": f"I {repository.name} {number}", "number": number, "author": actor("reporter"),
        "title": f"Step {number} gives the wrong value", "repository": {"nameWithOwner": repository.name}, "createdAt": created,
        "body": f"When I call step with {number}, the result is off by one.\r\n\r\nExpected {number + 1}.",
        "userContentEdits": [], "timelineItems": [],
    }  # fmt: skip
    return repository.issues[number]


def _about(repository: Repository, pull: Node, messages: list[str], start: datetime) -> str:
    """Add the issues of a pull request and its links to them; returns what they said before the work."""

    def hours(number: float) -> datetime:
        return start + timedelta(hours=number)

    kind = pull["kind"]
    issue = add_issue(repository, hours({"younger": 1.5, "after merge": 6}.get(kind, -6)))
    number, created, before = issue["number"], issue["createdAt"], _text(issue)
    pull["body"], pull["closingIssuesReferences"] = f"Fixes #{number}", [issue]
    if kind in ("keyword", "commit keyword", "discussion", "names a pull"):
        pull["closingIssuesReferences"] = []
    match kind:
        case "edited" | "younger" | "text gone":
            was, now = issue["body"], issue["body"] + "\nFixed in pkg/module1.py"
            issue |= {"body": now} | _edited((created, None if kind == "text gone" else was), (hours(3), now))
        case "edited early":
            issue |= _edited((created, "?"), (created + timedelta(hours=1), issue["body"]))
        case "renamed":
            new = "Solved: wrong constant in module1"
            event = {"__typename": "RenamedTitleEvent", "previousTitle": issue["title"], "currentTitle": new}
            issue |= {"title": new, "timelineItems": [event | {"createdAt": hours(2)}]}
        case "ghost":
            issue["author"] = None
        case "keyword":
            pull["body"] = f"<!-- closes #1 -->\nThis resolves: #{number}, for the old branch."
        case "commit keyword":
            pull["body"], messages[0] = "", f"fix it\n\ncloses {repository.name}#{number}"
        case "sidebar":
            pull["body"] = ""
        case "two issues":
            other = add_issue(repository, hours(-6))
            pull["closingIssuesReferences"] = [other, issue]
            return f"{before}\n\n{_text(other)}"
        case "empty body":
            issue["body"] = ""
            return _text(issue)
        case "chinese":
            issue |= {"title": "第三步的结果不正确", "body": "调用 step 时结果差一 🙁\u2028第二行"}
            return _text(issue)
        case "discussion":
            del repository.issues[number]
        case "names a pull":
            pull["body"] = f"Fixes #{next(iter(repository.pulls))}"
    return before


def _text(issue: Node) -> str:
    return f"{issue['title']}\n\n{issue['body']}".replace("\r\n", "\n").strip()


def _edited(*versions: tuple[datetime, str | None]) -> Node:
    """Versions of a body; None for one that was deleted."""
    edits = [{"editedAt": at, "deletedAt": None if text is not None else at, "diff": text} for at, text in reversed(versions)]
    return {"userContentEdits": edits, "lastEditedAt": edits[0]["editedAt"]}


def actor(login: str | None) -> Node | None:
    """An author; null where the user was deleted. Programs have no [bot] in GraphQL."""
    kind = "Bot" if login and login.endswith("[bot]") else "User"
    return {"__typename": kind, "login": login.removesuffix("[bot]")} if login else None


def _change(files: dict[str, str], rng: random.Random, kind: str, commits: list[Node], number: int) -> None:
    """Each commit adds a line to its own module, as its ``tree``; more files depend on the kind. None deletes one."""
    picked = rng.sample(sorted(path for path in files if path.startswith("pkg/")), len(commits))
    for commit, path in zip(commits, picked, strict=True):
        commit["tree"] = {path: files[path] + f"CHANGE_{number} = True\n"}
    last = commits[-1]["tree"]
    match kind:
        case "many files":
            last |= {f"data/{number}/{n}.txt": f"{n}\n" for n in range(101)}
        case "adds and deletes":
            last |= {f"extra/new{number}.py": f"NEW = {number}\n"} | {path: None for path in files if path.startswith("extra/")}
        case "renames file":
            named = [path for path in files if path.startswith("names/")]
            text = files[named[0]] if named else module(number)
            last |= {f"names/a{number}.py": text, f"café/{number} ü.txt": "ü\n", **{path: None for path in named}}
        case "with tests":
            last |= {f"tests/test_{number}.py": "def test_it():\n    assert True\n"}
