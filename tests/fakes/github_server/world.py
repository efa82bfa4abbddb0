"""Repositories, pull requests and issues of this GitHub, drawn from a seed, with the expected result of each."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2020, 1, 1, tzinfo=UTC)

ORDINARY = (
    "plain", "edited", "edited early", "renamed", "comments", "ghost", "keyword", "commit keyword", "sidebar", "two issues",
    "empty body", "chinese", "bot", "rewritten", "younger", "renames file", "adds and deletes", "with tests",
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


@dataclass
class Edit:
    at: datetime
    diff: str | None


@dataclass
class Comment:
    body: str
    at: datetime
    edited: datetime | None = None
    author: str | None = "someone"
    association: str = "NONE"


@dataclass
class Issue:
    number: int
    title: str
    body: str
    created: datetime
    author: str | None = "reporter"
    edits: list[Edit] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    renames: list[tuple[datetime, str, str]] = field(default_factory=list)
    closed: datetime | None = None
    closed_by: str | None = None
    closer: str | None = None
    reason: str = "COMPLETED"
    labels: list[str] = field(default_factory=list)
    answer: Comment | None = None

    @property
    def edited(self) -> datetime | None:
        return max((edit.at for edit in self.edits), default=None) if len(self.edits) > 1 else None


@dataclass
class Commit:
    message: str
    authored: datetime
    files: dict[str, str | None]
    oid: str = ""


@dataclass
class Pull:
    number: int
    kind: str
    title: str
    body: str
    style: str
    created: datetime
    merged: datetime | None
    updated: datetime
    commits: list[Commit]
    closes: list[int]
    author: str | None = "developer"
    changed: dict[str, str] = field(default_factory=dict)
    expected: str | None = None
    base: str = ""
    merge: str = ""
    head: str = ""


@dataclass
class Repository:
    name: str
    id: int
    stars: int = 500
    licence: str | None = "MIT"
    language: str | None = "Python"
    fork_of: str | None = None
    archived: bool = False
    pulls: dict[int, Pull] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    discussions: dict[int, Issue] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    next: int = 1
    now: datetime = START

    @property
    def merged(self) -> list[Pull]:
        return [pull for pull in self.pulls.values() if pull.merged]

    def expected(self) -> dict[str, str]:
        """Issue texts to mine, by instance id."""
        slug = self.name.replace("/", "__")
        return {f"{slug}-{pull.number}": pull.expected for pull in self.merged if pull.expected is not None}


@dataclass
class World:
    repositories: dict[str, Repository]
    renamed: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Repository | None:
        """By present or former name, in any case."""
        names = {known.casefold(): known for known in self.repositories}
        old = {known.casefold(): new for known, new in self.renamed.items()}
        name = name.casefold()
        return self.repositories.get(names.get(name) or old.get(name, ""))

    def expected(self) -> dict[str, str]:
        return {name: text for repository in self.repositories.values() for name, text in repository.expected().items()}


def add_pulls(repository: Repository, rng: random.Random, count: int, share: float) -> None:
    """Add pull requests, each later than the one before; ``share`` of them close an issue in a way of :data:`ORDINARY`."""
    kinds = list(FATES)
    for _ in range(count):
        kind = rng.choice(ORDINARY) if rng.random() < share else "no issue" if rng.random() < 0.85 else rng.choice(kinds)
        add_pull(repository, rng, kind)


def add_pull(repository: Repository, rng: random.Random, kind: str, merged: bool = True) -> Pull:
    """One pull request of a kind, with the issues it is about."""
    start = repository.now + timedelta(hours=10)
    repository.now += timedelta(days=1)
    draft = _Draft(repository, rng, kind, start)
    pull = draft.pull()
    if not merged:
        pull.merged, pull.expected = None, None
    repository.pulls[pull.number] = pull
    return pull


def module(number: int, versions: list[str]) -> str:
    """A module of six functions, and a line per change."""
    functions = "".join(f"\n\ndef step{n}(value):\n    return value + {n}\n" for n in range(6))
    return f'"""Module {number}."""\n{functions}\n' + "".join(f"CHANGE_{version} = True\n" for version in versions)


class _Draft:
    """The contents of one pull request and its issues."""

    def __init__(self, repository: Repository, rng: random.Random, kind: str, start: datetime) -> None:
        self.repository, self.rng, self.kind, self.start = repository, rng, kind, start
        self.issues: list[Issue] = []
        self.links: list[int] = []
        self.title = f"Fix step {rng.randrange(6)}"
        self.body = "It was wrong."
        self.messages = ["fix it", "and a little more"][: rng.choice((1, 1, 2))]
        self.expected: str | None = None

    def pull(self) -> Pull:
        repository, kind = self.repository, self.kind
        if kind != "no issue":
            self._issues()
        number = repository.next
        repository.next += 1
        style = self.rng.choice(("merge", "squash", "rebase"))
        commits = [Commit(text, self.start + timedelta(minutes=n), {}) for n, text in enumerate(self.messages)]
        self._changes(commits, number)
        created = self.start + timedelta(hours=1)
        merged = self.start + timedelta(hours=5)
        author = "helper[bot]" if kind == "bot" else None if kind == "ghost" else "developer"
        return Pull(
            number, kind, self.title, self.body, style, created, merged, merged + timedelta(minutes=number % 50), commits,
            self.links, author, expected=self.expected,
        )  # fmt: skip

    def _issues(self) -> None:
        issue = self._issue()
        getattr(self, f"_{self.kind.replace(' ', '_')}", self._link)(issue)
        if self.kind in FATES:
            self.expected = None

    def _issue(self) -> Issue:
        number = self.repository.next
        self.repository.next += 1
        title = f"Step {number} gives the wrong value"
        body = f"When I call step with {number}, the result is off by one.\r\n\r\nExpected {number + 1}."
        issue = Issue(number, title, body, self.start - timedelta(hours=6))
        self.repository.issues[number] = issue
        self.issues.append(issue)
        return issue

    def _text(self, title: str, body: str) -> str:
        return f"{title}\n\n{body}".replace("\r\n", "\n").strip()

    def _link(self, issue: Issue) -> None:
        self.links = [issue.number]
        self.body = f"Fixes #{issue.number}"
        self.expected = self._text(issue.title, issue.body)

    def _edited(self, issue: Issue) -> None:
        self._link(issue)
        issue.edits = [
            Edit(issue.created, issue.body),
            Edit(self.start + timedelta(hours=3), issue.body + "\nFixed in pkg/module1.py"),
        ]
        issue.body = str(issue.edits[-1].diff)

    def _edited_early(self, issue: Issue) -> None:
        issue.edits = [Edit(issue.created, "?"), Edit(issue.created + timedelta(hours=1), issue.body)]
        self._link(issue)

    def _text_gone(self, issue: Issue) -> None:
        self._edited(issue)
        issue.edits[0].diff = None

    def _renamed(self, issue: Issue) -> None:
        self._link(issue)
        issue.renames = [(self.start + timedelta(hours=2), issue.title, "Solved: wrong constant in module1")]
        issue.title = issue.renames[-1][2]

    def _comments(self, issue: Issue) -> None:
        self._link(issue)
        issue.comments = [
            Comment("I see it too.", issue.created + timedelta(hours=1), author=None),
            Comment("Automatic greeting.", issue.created + timedelta(hours=1), author="greeter[bot]"),
            Comment("The fault is in module1 (edited).", issue.created + timedelta(hours=1), self.start + timedelta(hours=1)),
            Comment("Fixed by changing module1.", self.start + timedelta(hours=2)),
        ]

    def _ghost(self, issue: Issue) -> None:
        self._link(issue)
        issue.author = None

    def _keyword(self, issue: Issue) -> None:
        self._link(issue)
        self.links = []
        self.body = f"<!-- closes #1 -->\nThis resolves: #{issue.number}, for the old branch."

    def _commit_keyword(self, issue: Issue) -> None:
        self._link(issue)
        self.links, self.body = [], ""
        self.messages[0] = f"fix it\n\ncloses {self.repository.name}#{issue.number}"

    def _sidebar(self, issue: Issue) -> None:
        self._link(issue)
        self.body = ""

    def _two_issues(self, issue: Issue) -> None:
        other = self._issue()
        self._link(issue)
        self.links = [other.number, issue.number]
        self.expected = f"{self.expected}\n\n{self._text(other.title, other.body)}"

    def _empty_body(self, issue: Issue) -> None:
        issue.body = ""
        self._link(issue)

    def _chinese(self, issue: Issue) -> None:
        issue.title, issue.body = "第三步的结果不正确", "调用 step 时结果差一 🙁\u2028第二行"
        self._link(issue)

    def _younger(self, issue: Issue) -> None:
        issue.created = self.start + timedelta(minutes=90)
        self._edited(issue)
        issue.edits[0].at = issue.created

    def _discussion(self, issue: Issue) -> None:
        self.body = f"Fixes #{issue.number}"
        del self.repository.issues[issue.number]

    def _names_a_pull(self, issue: Issue) -> None:
        earlier = next(iter(self.repository.pulls), None)
        self.body = f"Fixes #{earlier}" if earlier else "Fixes nothing"
        if not earlier:
            self.kind = "no issue"

    def _after_merge(self, issue: Issue) -> None:
        self._link(issue)
        issue.created = self.start + timedelta(hours=6)

    def _changes(self, commits: list[Commit], number: int) -> None:
        """Each commit adds a line to its own module; more files depend on the kind."""
        files = self.repository.files
        picked = self.rng.sample(sorted(path for path in files if path.startswith("pkg/")), len(commits))
        for commit, path in zip(commits, picked, strict=True):
            commit.files[path] = files[path] + f"CHANGE_{number} = True\n"
        last = commits[-1].files
        if self.kind == "many files":
            last |= {f"data/{number}/{n}.txt": f"{n}\n" for n in range(101)}
        if self.kind == "adds and deletes":
            last |= {
                f"extra/new{number}.py": f"NEW = {number}\n",
                **{path: None for path in list(files) if path.startswith("extra/")},
            }
        if self.kind == "renames file":
            named = [path for path in files if path.startswith("names/")]
            text = files[named[0]] if named else module(number, [])
            last |= {f"names/a{number}.py": text, f"café/{number} ü.txt": "ü\n", **{path: None for path in named}}
        if self.kind == "with tests":
            last |= {f"tests/test_{number}.py": "def test_it():\n    assert True\n"}
