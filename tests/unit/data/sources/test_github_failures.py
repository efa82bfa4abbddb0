"""What failed requests mean, and how long a run waits."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from fusesearch.cli.profiles import load_profile
from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import ConfigError, DataError, InfrastructureError
from fusesearch.data.sources.github import client, queries
from fusesearch.data.sources.github.client import Api
from fusesearch.data.sources.github.failures import Gone, Stopped
from fusesearch.data.sources.github.selection import PRESETS, Facts, effective, search_text, unfit
from tests.fakes.github_server.server import SCHEMA, cost
from tests.fakes.local_server import LocalServer, by

ROOT = Path(__file__).parents[4]
LEFT_NONE = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1200", "X-RateLimit-Resource": "graphql"}


class GitHubs(LocalServer):
    """Sends the given answers (status, headers, body) one after the other; the last one again and again."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0
        super().__init__(by(self.reply))

    def reply(self, *_):
        self.asked += 1
        status, headers, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return status, body, headers

    def api(self):
        """A client of this GitHub, and the waits that it shows; waiting moves the clock."""
        waits, now = [], [1000.0]

        def wait(seconds, reason):
            waits.append((round(seconds), reason.partition(" ")[0]))
            now[0] += seconds

        os.environ["GITHUB_API_URL"] = self.url  # the fixture ``token`` puts it back
        return Api(wait, clock=lambda: now[0]), waits


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_x")
    monkeypatch.setenv("GITHUB_API_URL", "")


GOOD = (200, {}, {"data": {"rateLimit": {"cost": 3}}})
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@pytest.mark.parametrize(
    ("status", "headers", "body", "waited"),
    [
        (403, {"Retry-After": "30"}, {"message": SECONDARY}, 30),
        (429, {"Retry-After": "5"}, {}, 5),
        (429, {}, {}, 60),
        (403, {}, {"message": SECONDARY}, 60),
        (403, {}, {"message": "API rate limit exceeded for user ID 1."}, 60),
        (403, LEFT_NONE, {"message": "?"}, 201),
        (200, {}, {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit already exceeded for user ID 1."}]}, 60),
        (200, {}, {"errors": [{"type": "RATE_LIMIT", "message": "?"}]}, 60),
        (200, LEFT_NONE, {"errors": [{"type": "RATE_LIMIT", "message": "?"}]}, 201),
    ],
)
def test_a_limit_is_waited_out_and_is_neither_a_try_nor_a_cost(status, headers, body, waited, monkeypatch):
    monkeypatch.setattr(client, "TRIES", 1)
    with GitHubs((status, headers, body), GOOD) as github:
        api, waits = github.api()
        assert api.graphql("{ x }", {"first": 100}, 3) == GOOD[2]["data"]
    assert waits == [(waited, "waiting")]
    assert (api.spent.points, api.spent.failed) == (3, 1)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, ""),
        (200, {"data": None, "errors": [{"message": "Something went wrong while executing your query."}]}),
        (200, {"data": {"r0": {}}, "errors": [{"type": "NOT_FOUND"}, {"type": "INTERNAL"}]}),
        (200, {"data": "<html>"}),
        (200, '{"data": {'),
        (200, ""),
    ],
)
def test_a_failure_of_githubs_is_repeated_and_counted_as_if_it_had_cost_its_points(status, body, monkeypatch):
    with GitHubs((status, {}, body), GOOD) as github:
        api, _ = github.api()
        api.graphql("{ x }", {}, 3)
        assert api.spent.as_dict() | {"waited_seconds": 0} == {
            "points": 6, "requests": 2, "failed": 1, "waited_seconds": 0,
        }  # fmt: skip
    monkeypatch.setattr(client, "TRIES", 3)
    with GitHubs((status, {}, body)) as github:
        with pytest.raises(InfrastructureError, match="GitHub failed 3 times in a row"):
            github.api()[0].graphql("{ x }", {}, 3)
        assert github.asked == 3
    monkeypatch.setattr(client, "BUDGET", 60)
    with GitHubs((status, {}, body)) as github:
        with pytest.raises(Stopped, match="budget"):
            github.api()[0].graphql("{ x }", {}, 25)
        assert github.asked == 2


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (403, {"message": "Resource protected by organization SAML enforcement."}, DataError, "SAML"),
        (401, {"message": "Bad credentials"}, ConfigError, "does not accept the credentials"),
        (404, {"message": "Not Found"}, Gone, "Not Found"),
        (410, {"message": "Issues are disabled"}, Gone, "disabled"),
        (451, {"message": "Repository access blocked"}, Gone, "blocked"),
        (422, "", DataError, "no reason given"),
        (200, {"errors": [{"type": "INVALID_CURSOR_ARGUMENTS", "message": "bad cursor"}]}, DataError, "bad cursor"),
        (200, {"errors": [{"extensions": {"code": "undefinedField"}, "message": "no field"}]}, DataError, "no field"),
        (200, {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "x"}]}, None, ""),
        (200, {"data": {"r0": {}}, "errors": [{"type": "NOT_FOUND"}, {"type": "FORBIDDEN"}]}, None, ""),
        (200, {"data": {}}, None, ""),
    ],
)
def test_a_refusal_is_not_repeated_and_data_with_missing_objects_are_data(status, body, error, message):
    with GitHubs((status, {}, body)) as github, pytest.raises(error, match=message) if error else nullcontext():
        assert github.api()[0].graphql("{ x }", {}, 1) == body["data"]
    assert github.asked == 1


def test_pauses_double_up_to_two_minutes_and_a_limit_that_lasts_too_long_ends_the_run(monkeypatch):
    monkeypatch.setattr(client, "PAUSE_SECONDS", 8.0)
    with GitHubs(*[(500, {}, "")] * 6, GOOD) as github:
        api, waits = github.api()
        api.graphql("{ x }", {}, 1)
    assert all(most / 2 <= pause <= most for (pause, _), most in zip(waits, (8, 16, 32, 64, 120, 120), strict=True))
    monkeypatch.setattr(client, "MAX_WAIT_SECONDS", 29)
    with GitHubs((403, {"Retry-After": "30"}, {}), GOOD) as github, pytest.raises(Stopped, match="wait of 30 s"):
        github.api()[0].graphql("{ x }", {}, 1)


def test_tokens_go_encrypted_or_nowhere(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_x")
    for address in ("http://api.github.com", "ftp://x", "https://name:secret@api.github.com"):
        monkeypatch.setenv("GITHUB_API_URL", address)
        with pytest.raises(ConfigError, match="GITHUB_API_URL"):
            Api()
    monkeypatch.delenv("GITHUB_API_URL")
    for value, said in (("", "set GITHUB_TOKEN"), ("ghp_\u00e9", "a character that tokens never have")):
        monkeypatch.setenv("GITHUB_TOKEN", value)
        with pytest.raises(ConfigError, match=said):
            Api()


def test_an_app_needs_all_three_variables(monkeypatch, tmp_path):
    for name, value in zip(client.APP, ("7", "8", str(tmp_path / "no key")), strict=True):
        with pytest.raises(ConfigError, match="an App needs numbers in") if name != client.APP[0] else nullcontext():
            Api()
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="no key"):
        Api()


@pytest.mark.parametrize(
    ("query", "variables", "points"),
    [
        (queries.PULLS, {"first": queries.PAGE}, queries.page_cost(3)),
        (queries.PULLS, {"first": queries.FIRST_LOOK}, queries.page_cost(3, queries.FIRST_LOOK)),
        (queries.SEARCH, {"first": 100}, queries.page_cost(2)),
        queries.details(["x"] * 30, []),
        queries.details(["x"] * 10, [("o/r", number) for number in range(1, 21)]),
        queries.lookup(["o/r"] * queries.LOOKUPS),
    ],
)
def test_queries_are_githubs_and_cost_what_is_said(query, variables, points):
    from graphql import parse, validate

    assert (queries.page_cost(3), queries.page_cost(3, queries.FIRST_LOOK)) == (3, 1)  # a hundred; a night's look
    document = parse(query)
    assert validate(SCHEMA, document) == []
    priced, nodes = cost(document, variables)
    assert priced == points
    assert nodes <= 500_000


def test_presets_have_the_papers_thresholds_and_params_go_over_them():
    tooltrain = PRESETS["tooltrain"]
    assert (tooltrain.min_stars, tooltrain.min_issues, tooltrain.min_pulls, tooltrain.max_repositories) == (100, 1000, 1000, 600)
    assert PRESETS["fusesearch"].max_repositories == 233
    changed = effective(GitHubSource(preset="tooltrain", criteria={"min_stars": 5}))
    assert (changed.min_stars, changed.min_issues) == (5, 1000)
    assert effective(load_profile("tooltrain-7b", ROOT).mine.github) == tooltrain
    with pytest.raises(ConfigError, match="name repositories"):
        effective(GitHubSource())


def test_criteria_in_githubs_words_and_on_what_it_says():
    criteria = effective(GitHubSource(criteria={"min_stars": 10, "licences": ["MIT"], "languages": ["Go"]}))
    assert search_text(criteria, "Go", None) == 'sort:stars-desc stars:>=10 archived:false language:"Go" license:mit'
    assert "stars:10..99" in search_text(criteria, None, 99)
    facts = Facts("o/r", "o/r", 50, 0, 0, "MIT", "Go", None, False, False, False)
    assert unfit(facts, criteria) is None
    for change, reason in (({"stars": 9}, "stars"), ({"licence": None}, "licence"), ({"language": "C"}, "language"),
                           ({"archived": True}, "archived"), ({"fork": True}, "fork")):  # fmt: skip
        assert unfit(Facts(**{**facts.__dict__, **change}), criteria) == reason
