"""What failed requests mean, and how long accounts keep still."""

import pytest

from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import ConfigError
from fusesearch.data.sources.github import queries
from fusesearch.data.sources.github.accounts import Account, accounts_of
from fusesearch.data.sources.github.client import clock
from fusesearch.data.sources.github.failures import of_graphql, of_status
from fusesearch.data.sources.github.selection import PRESETS, Facts, effective, search_text, unfit
from tests.fakes.github_server.schema import SCHEMA, cost, document_of


@pytest.mark.parametrize(
    ("status", "headers", "message", "kind", "seconds"),
    [
        (502, {}, "<html>", "again", 0),
        (503, {}, {"message": "Service Unavailable"}, "again", 0),
        (403, {"retry-after": "30"}, {"message": "You have exceeded a secondary rate limit."}, "pause", 30),
        (429, {"retry-after": "5"}, {}, "pause", 5),
        (429, {}, {}, "pause", 60),
        (403, {}, {"message": "You have exceeded a secondary rate limit. Please wait."}, "pause", 60),
        (403, {"x-ratelimit-remaining": "0"}, {"message": "?"}, "limit", 0),
        (403, {}, {"message": "API rate limit exceeded for user ID 1."}, "limit", 0),
        (403, {}, {"message": "Resource protected by organization SAML enforcement."}, "refused", 0),
        (401, {}, {"message": "Bad credentials"}, "credentials", 0),
        (404, {}, {"message": "Not Found"}, "gone", 0),
        (451, {}, {"message": "Repository access blocked"}, "gone", 0),
        (422, {}, None, "refused", 0),
    ],
)
def test_statuses(status, headers, message, kind, seconds):
    failure = of_status(status, headers, message)
    assert (failure.kind, failure.seconds) == (kind, seconds)
    assert failure.message.isprintable()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit already exceeded for user ID 1."}]}, "limit"),
        ({"data": None, "errors": [{"message": "Something went wrong while executing your query."}]}, "again"),
        ({"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "x"}]}, None),
        ({"data": {"r0": {}}, "errors": [{"type": "NOT_FOUND"}, {"type": "FORBIDDEN"}]}, None),
        ({"data": {"r0": {}}, "errors": [{"type": "NOT_FOUND"}, {"type": "INTERNAL"}]}, "again"),
        ({"errors": [{"type": "INVALID_CURSOR_ARGUMENTS", "message": "x"}]}, "refused"),
        ({"errors": [{"extensions": {"code": "undefinedField"}, "message": "x"}]}, "refused"),
        ({"data": None}, "again"),
        ({"data": "<html>"}, "again"),
        (None, "again"),
        ({"data": {}}, None),
    ],
)
def test_graphql_in_status_200(body, kind):
    failure = of_graphql(body)
    assert (failure.kind if failure else None) == kind


def test_an_account_keeps_still_until_its_limit_is_reset():
    now = [1000.0]
    account = Account("token 1", None, clock=lambda: now[0])
    assert account.ready_in("graphql", 3) == 0
    account.note({"x-ratelimit-resource": "graphql", "x-ratelimit-remaining": "2", "x-ratelimit-reset": "1100"})
    assert account.ready_in("graphql", 3) == 101
    assert account.ready_in("graphql", 2) == account.ready_in("core", 3) == 0
    account.block(200)
    assert account.ready_in("core", 1) == 200
    now[0] = 1201.0
    assert account.ready_in("graphql", 3) == 0
    account.used_up("graphql")  # GitHub did not say until when
    assert account.ready_in("graphql", 1) == 61


def test_tokens_go_encrypted_or_nowhere(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_x")
    for address in ("http://api.github.com", "ftp://x", "https://name:secret@api.github.com"):
        with pytest.raises(ConfigError, match="api_url"):
            accounts_of(GitHubSource(api_url=address))
    monkeypatch.setenv("GITHUB_TOKEN", "")
    with pytest.raises(ConfigError, match="set GITHUB_TOKEN"):
        accounts_of(GitHubSource())


@pytest.mark.parametrize(
    ("query", "variables", "points"),
    [
        (queries.PULLS, {"first": queries.PAGE}, queries.pulls_cost(queries.PAGE)),
        (queries.PULLS, {"first": queries.FIRST_LOOK}, queries.pulls_cost(queries.FIRST_LOOK)),
        (queries.SEARCH, {"first": 100}, queries.search_cost(100)),
        queries.details("o/r", ["x"] * 30, []),
        queries.details("o/r", ["x"] * 10, list(range(1, 21))),
        queries.lookup(["o/r"] * queries.LOOKUPS),
    ],
)
def test_queries_are_githubs_and_cost_what_is_said(query, variables, points):
    from graphql import validate

    document = document_of(query)
    assert validate(SCHEMA, document) == []
    priced, nodes = cost(document, variables)
    assert priced == points
    assert nodes <= 500_000


def test_a_page_of_a_hundred_costs_three_points_and_a_nights_look_one():
    assert (queries.pulls_cost(100), queries.pulls_cost(queries.FIRST_LOOK)) == (3, 1)


def test_presets_have_the_papers_thresholds_and_params_go_over_them():
    tooltrain = PRESETS["tooltrain"]
    assert (tooltrain.min_stars, tooltrain.min_issues, tooltrain.min_pulls, tooltrain.max_repositories) == (100, 1000, 1000, 600)
    assert PRESETS["fusesearch"].max_repositories == 233
    changed = effective(GitHubSource(preset="tooltrain", criteria={"min_stars": 5}))
    assert (changed.min_stars, changed.min_issues) == (5, 1000)
    with pytest.raises(ConfigError, match="name repositories"):
        effective(GitHubSource())


def test_criteria_in_githubs_words_and_on_what_it_says():
    criteria = effective(GitHubSource(criteria={"min_stars": 10, "licences": ["MIT"], "languages": ["Go"]}))
    assert search_text(criteria, "Go", None) == 'sort:stars-desc stars:>=10 archived:false language:"Go" license:mit'
    assert "stars:10..99" in search_text(criteria, None, 99)
    facts = Facts("o/r", "o/r", 1, 50, 0, 0, "MIT", "Go", None, False, False, False)
    assert unfit(facts, criteria) is None
    for change, reason in (({"stars": 9}, "stars"), ({"licence": None}, "licence"), ({"language": "C"}, "language"),
                           ({"archived": True}, "archived"), ({"fork": True}, "fork")):  # fmt: skip
        assert unfit(Facts(**{**facts.__dict__, **change}), criteria) == reason


def test_a_countdown_is_told_in_hours_minutes_and_seconds():
    assert (clock(59.6), clock(125), clock(3661)) == ("1:00", "2:05", "1:01:01")
