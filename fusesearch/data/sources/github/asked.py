"""Questions that users asked and maintainers answered: closed issues, and discussions with a chosen answer.

A row is an open question (CoReQA's way, as far as it is known): the text as it stood before the answer, the answer as reference,
and the default branch as it was when the question was asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fusesearch.core.schema import Expected, Instance, Truth
from fusesearch.core.text import flat_name
from fusesearch.data.sources import history
from fusesearch.data.sources.base import moment
from fusesearch.data.sources.github import queries
from fusesearch.data.sources.github.crawling import Crawl
from fusesearch.data.sources.github.parsing import is_bot, issue_before, login, nodes
from fusesearch.data.sources.links import closing_links

ASKED_DROPS = {
    "asked_before_since": "asked before mine.since",
    "not_completed": "not closed as completed",
    "closed_by_change": "a pull request or a commit closed it: its fix is a pair, not an answer",
    "not_a_question": "neither a label nor the title says that it is a question",
    "by_bot": "a program asked or answered",
    "no_answer": "no comment of a maintainer that the asker thanked for, or after which the asker closed it",
    "question_text_unknown": "the question was edited after the answer, and its earlier text is gone",
    "names_a_change": "the answer links a commit or a pull request",
    "answer_in_question": "the question contains the answer",
    "no_commit_before": "no commit of the default branch is older",
    "ungrounded": "the answer names no path and no identifier of the repository",
}
"""Why a closed issue or an answered discussion does not become a question."""

MAX_ANSWER_CHARS = 20_000
MAX_IDENTIFIERS = 50

_MAINTAINERS = ("OWNER", "MEMBER", "COLLABORATOR")
_LABELS = re.compile(r"question|support|usage|help wanted|how.?to", re.IGNORECASE)
_ASKS = re.compile(r"\?\s*$|^\W*(?:question|how|what|why|where|which|when|who|is|are|does|do|can|could|should)\b", re.IGNORECASE)
_THANKS = re.compile(r"\b(?:thanks?|thx|cheers|(?:that|this|it) (?:worked|works|helped|helps|solved|solves))\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"/(?:commits?|pull)/|\b[0-9a-f]{40}\b|\bcommit [0-9a-f]{7,40}\b|\b(?:PR|pull request|in) ?#\d", re.IGNORECASE
)  # fmt: skip
_CODE = re.compile(r"`([^`\n]{1,200})`|\b(\w*(?:_\w|[a-z][A-Z])\w*)\b|\b(\w{3,})\(")


@dataclass(frozen=True)
class Asked:
    """A question and its answer; ``reason`` is why not to take it."""

    number: int
    created: datetime
    updated: datetime
    reason: str | None
    text: str = ""
    answer: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)


class IssueCrawl(Crawl):
    """Closed issues with an answering comment."""

    listing = ""
    connection = "issues"
    query = queries.ISSUES
    connections = 5
    prefix = "issue-"

    def parse(self, node: Any) -> Asked | None:
        """The question of a node, with a reason if it does not count as one."""
        found = node if isinstance(node, dict) else {}
        created, number = moment(found.get("createdAt")), found.get("number")
        if created is None or not isinstance(number, int):
            return None
        updated = moment(found.get("updatedAt")) or created
        answer = self.answer(found)
        asked = issue_before(found, moment(answer["createdAt"]) or created) if answer else None
        text, reply = (asked.text if asked else ""), str((answer or {}).get("body") or "").replace("\r\n", "\n").strip()
        tests = {
            **self.unfit(found),
            "by_bot": is_bot(found.get("author")) or is_bot((answer or {}).get("author")),
            "no_answer": not reply or bool((answer or {}).get("isMinimized")),
            "question_text_unknown": asked is None,
            "names_a_change": bool(_CHANGE.search(reply) or closing_links(reply, self.facts.repo)),
            "answer_in_question": reply in text,
        }
        said = {
            "kind": self.connection.removesuffix("s"), "asked": found.get("url"), "answered": (answer or {}).get("url"),
            "answered_at": (answer or {}).get("createdAt"), "association": (answer or {}).get("authorAssociation"),
        }  # fmt: skip
        reason = next((reason for reason, holds in tests.items() if holds), None)
        return Asked(number, created, updated, reason, text, reply[:MAX_ANSWER_CHARS], said)

    def unfit(self, node: dict[str, Any]) -> dict[str, bool]:
        """What of the issue itself speaks against it, by reason."""
        closer = next((event.get("closer") for event in reversed(nodes(node.get("closings")))), None)
        labels = " ".join(str(label.get("name")) for label in nodes(node.get("labels")))
        return {
            "not_completed": node.get("stateReason") != "COMPLETED",
            "closed_by_change": closer is not None,
            "not_a_question": not (_LABELS.search(labels) or _ASKS.search(str(node.get("title")).strip())),
        }

    def answer(self, node: dict[str, Any]) -> dict[str, Any] | None:
        """The last comment of a maintainer before the issue was closed; None unless the asker accepted it."""
        asker, closed = login(node.get("author")), moment(node.get("closedAt"))
        comments = [entry for entry in nodes(node.get("comments")) if moment(entry.get("createdAt"))]
        if (node.get("comments") or {}).get("totalCount", 0) > len(comments):
            return None  # which comment was the last is not known
        before = [entry for entry in comments if closed is None or (moment(entry["createdAt"]) or closed) <= closed]
        by_asker = [entry for entry in comments if asker and login(entry.get("author")) == asker]
        given = [entry for entry in before if entry.get("authorAssociation") in _MAINTAINERS and entry not in by_asker]
        if not given:
            return None
        later = comments[comments.index(given[-1]) + 1 :]
        thanked = any(entry in by_asker and _THANKS.search(str(entry.get("body"))) for entry in later)
        events = nodes(node.get("closings"))
        closed_by_asker = bool(asker and events and login(events[-1].get("actor")) == asker)
        return given[-1] if thanked or closed_by_asker else None

    def screen(self, row: Asked, since: datetime | None) -> str | None:
        """Why to drop a question before git is asked, or None."""
        return "asked_before_since" if since is not None and row.created < since else row.reason

    def pair(self, wanted: list[Asked], reasons: dict[int, str]) -> list[Instance]:
        """Questions whose answers name what the repository has, on the default branch as it was then."""
        if not wanted:
            return []
        rows = []
        with self.open_clone() as clone:
            clone.refresh()
            for row in wanted:
                before = f"--before={row.created.isoformat()}"
                commits = history.log(clone.git_dir, "-1", "--first-parent", before, "HEAD")
                if not commits:
                    reasons[row.number] = "no_commit_before"
                    continue
                commit = commits[0].id
                files = named_files(row.answer, history.files(clone.git_dir, commit))
                if not files:
                    clone.have_blobs([commit])
                    if not history.words(clone.git_dir, commit, list(dict.fromkeys(_identifiers(row.answer)))[:MAX_IDENTIFIERS]):
                        reasons[row.number] = "ungrounded"
                        continue
                rows.append(self._instance(row, commit, files))
        return rows

    def _instance(self, row: Asked, commit: str, files: list[str]) -> Instance:
        facts = self.facts
        return Instance(
            instance_id=f"{flat_name(facts.repo)}-{self.prefix}{row.number}",
            repo=facts.repo,
            base_commit=commit,
            problem_statement=row.text,
            truth=Truth(files=files, expected=Expected(family="open", kind="text", values=[row.answer])),
            provenance={"source": "github", "repo_id": facts.id, "licence": facts.licence, **row.provenance},
            created_at=row.created.isoformat(),
        )


class DiscussionCrawl(IssueCrawl):
    """Discussions whose answer was chosen, by the asker or a maintainer."""

    connection = "discussions"
    query = queries.DISCUSSIONS
    connections = 1
    prefix = "discussion-"

    def unfit(self, node: dict[str, Any]) -> dict[str, bool]:
        """Nothing: a category of questions and a chosen answer say what it is."""
        return {}

    def answer(self, node: dict[str, Any]) -> dict[str, Any] | None:
        """The chosen answer."""
        found = node.get("answer")
        return found if isinstance(found, dict) and moment(found.get("createdAt")) else None


def named_files(answer: str, files: list[str]) -> list[str]:
    """The files that an answer names by path, by the end of their path, or by a name that no other file has."""
    tokens = {token.strip("./-") for token in re.split(r"[^\w./-]+", answer)}
    names = Counter(path.rpartition("/")[2] for path in files)
    ends = tuple(f"/{token}" for token in tokens if "/" in token)
    return [
        path
        for path in files
        if path in tokens or f"/{path}".endswith(ends) or (names[name := path.rpartition("/")[2]] == 1 and name in tokens)
    ]


def _identifiers(answer: str) -> Iterator[str]:
    """Identifiers that the answer writes as code, calls, or spells as only code does."""
    for quoted, spelt, called in _CODE.findall(answer):
        yield from re.findall(r"[^\W\d]\w{2,}", quoted) or filter(None, (spelt, called))
