"""The keys of ``Instance.provenance`` that filter and split read, whichever source wrote them.

Every key is optional, and a value of the wrong type counts as missing: unknown provenance never drops a row. Sources may add
others, which are kept; the filter adds ``leaks``, `file` or `function` if the issue names a modified one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BOTS = re.compile(
    r".*\[bot\]|app/.*|.*[-_]bot|bot[-_].*|(dependabot|renovate|pre-commit-ci|pyup|greenkeeper|snyk|codecov|github-actions|imgbot"
    r"|allcontributors|mergify|copilot-swe-agent|meeseeksmachine|miss-islington)(-.*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Provenance:
    """Where a pair comes from; ``None``, an empty string or an empty tuple for what is unknown.

    ``issues`` are ``owner/name#number`` in lower case, as are repositories.
    """

    pull: int | None = None  # number of the pull request
    issues: tuple[str, ...] = ()  # those it closes; given as numbers, or owner/name#number for those of other repositories
    bot: bool = False  # given as true if one of the authors is a program, or known by the name `author`
    merge_commit: str = ""  # the commit that holds the fix
    fork_of: str = ""  # owner/name of the repository it was forked from
    renamed_from: str = ""  # former owner/name


def read_provenance(repo: str, values: Mapping[str, Any]) -> Provenance:
    """The known keys of an instance's provenance, checked. Issues are distinct and in order; numbers are issues of ``repo``."""
    given = values.get("issues")
    items = given[:1000] if isinstance(given, list) else []
    issues = [f"{repo}#{item}" if _number(item) is not None else item for item in items]
    return Provenance(
        pull=_number(values.get("pull")),
        issues=tuple(dict.fromkeys(name.casefold() for name in issues if isinstance(name, str) and name)),
        bot=values.get("bot") is True or bool(_BOTS.fullmatch(_text(values, "author"))),
        merge_commit=_matching(r"[0-9a-f]{7,64}", _text(values, "merge_commit").lower()),
        fork_of=_repository(_text(values, "fork_of")),
        renamed_from=_repository(_text(values, "renamed_from")),
    )


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value.strip()[:200] if isinstance(value, str) else ""


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _repository(name: str) -> str:
    return _matching(r"[\w.-]+/[\w.-]+", name.casefold())


def _matching(pattern: str, text: str) -> str:
    return text if re.fullmatch(pattern, text) else ""
