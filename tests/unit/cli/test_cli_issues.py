"""`--issue` with an address on GitHub, against a local server that speaks its API."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.cli.issues import Address, address_of
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Trajectory
from tests.fakes.commands import failed
from tests.fakes.local_server import LocalServer, by

ISSUE = {"number": 1, "title": "perimeter(2) of a square gives 6", "body": "I expected 8.\r\n\r\n>>> perimeter(2)\r\n6"}
LIMIT = {"message": "API rate limit exceeded for 127.0.0.1."}
ANSWERS = {
    1: (200, ISSUE, {}),
    2: (200, ISSUE | {"pull_request": {"url": "x"}}, {}),
    3: (403, LIMIT, {}),
    4: (429, {"message": "slow down"}, {}),
    5: (401, {"message": "Bad credentials"}, {}),
    6: (410, {"message": "This issue was deleted"}, {}),
    7: (502, {"message": "Bad gateway"}, {}),
    8: (200, ["no", "issue"], {}),
    9: (200, ISSUE | {"body": None}, {}),
    10: (301, {"message": "Moved Permanently"}, {"Location": "/api/v3/repositories/7/issues/1"}),
    11: (403, {"message": "Resource protected by organization SAML enforcement."}, {}),
    15: (301, {}, {"Location": "/api/v3/repos/o/r/issues/15"}),
    16: (200, "<html>Log in", {}),
}


@pytest.fixture
def api(monkeypatch):
    """`GET /api/v3/repos/o/r/issues/N`, each number with an answer of its own; keeps what it was asked."""

    def reply(request, _):
        server.asked.append((request.path, request.headers["Authorization"]))
        number = request.path.removeprefix("/api/v3/repos/o/r/issues/")
        number = "1" if request.path == "/api/v3/repositories/7/issues/1" else number
        status, value, headers = ANSWERS.get(int(number) if number.isdigit() else 0, (404, {"message": "Not Found"}, {}))
        return status, value, {name: server.address * (name == "Location") + text for name, text in headers.items()}

    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    with LocalServer(by(reply)) as server:
        server.asked = []
        monkeypatch.setenv("GITHUB_API_URL", f"{server.address}/api/v3/")
        yield server


@pytest.mark.parametrize("issue", ["https://github.com/o/r/issues/1", "o/r#1", "http://127.0.0.1/o/r/issues/1#issuecomment-5"])
def test_an_address_is_fetched_and_searched_for(run, repo, api, tmp_path, issue):
    result = run("localize", "--repo", repo, "--issue", issue, "--save", tmp_path / "t.json")
    assert result.exit_code == 0, result.output
    assert "pkg/shapes.py:6-7  perimeter" in result.stdout
    saved = Trajectory.model_validate_json((tmp_path / "t.json").read_text())
    assert "perimeter(2) of a square gives 6\n\nI expected 8.\n\n>>> perimeter(2)\n6" in saved.issue
    assert saved.instance_id == "o__r-1"
    assert api.asked == [("/api/v3/repos/o/r/issues/1", None)]


def test_the_token_of_the_environment_is_sent_a_move_followed_and_a_missing_text_no_fault(run, repo, api, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    run("localize", "--repo", repo, "--issue", "o/r#1")
    assert api.asked == [("/api/v3/repos/o/r/issues/1", "Bearer secret")]
    for number in (9, 10):  # without a text; moved
        assert run("localize", "--repo", repo, "--issue", f"o/r#{number}").exit_code == 0


@pytest.mark.parametrize(
    ("issue", "token", "message"),
    [
        ("o/r#2", None, "o/r#2 is a pull request: give the issue it closes"),
        ("https://github.com/o/r/pull/2/files", None, "is a pull request"),
        ("o/r#3", None, "API rate limit exceeded for 127.0.0.1.): GITHUB_TOKEN may raise its limits"),
        ("o/r#4", "t", "does not show o/r#4 (slow down)"),
        ("o/r#5", "t", "does not accept GITHUB_TOKEN"),
        ("o/r#5", None, "set GITHUB_TOKEN"),
        ("o/r#6", None, "does not show o/r#6 (This issue was deleted)"),
        ("o/r#7", None, "502"),
        ("o/r#8", None, "GITHUB_API_URL"),
        ("o/r#11", "t", "does not show o/r#11 (Resource protected by organization SAML enforcement.)"),
        ("o/r#1", "t\u00e9", "GITHUB_TOKEN has a character that no key has"),
        ("o/r#15", "t", "cannot be reached (Exceeded maximum allowed redirects.)"),
        ("o/r#16", "t", "log in to the network"),
        ("o/r#404", None, "o/r#404 does not exist, or it is private and GITHUB_TOKEN is not set"),
        ("o/r#404", "t", "GITHUB_TOKEN may not read it"),
        ("https://elsewhere.example/o/r/issues/1", "t", "set GITHUB_API_URL"),
        ("https://github.com/o/r", None, "not the address of an issue"),
    ],
)
def test_a_failed_fetch_is_one_line_that_says_what_to_do(run, repo, api, monkeypatch, issue, token, message):
    if token:
        monkeypatch.setenv("GITHUB_TOKEN", token)
    assert message in failed(run("localize", "--repo", repo, "--issue", issue))
    assert all(path.startswith("/api/v3/repos/o/r/") for path, _ in api.asked)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "socks5://127.0.0.1:9"), ("SSL_CERT_FILE", "/no/such"), ("HTTP_PROXY", "http://127.0.0.1:9")],
)
def test_a_proxy_or_a_certificate_that_is_not_there_is_named(run, repo, api, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert f"; {name} is {value}" in failed(run("localize", "--repo", repo, "o/r#1"))


def test_no_network_and_an_invalid_api_address_are_one_line(run, repo, monkeypatch):
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    line = failed(run("localize", "--repo", repo, "--issue", "o/r#1"))
    assert "http://127.0.0.1:9 cannot be reached" in line
    assert len(line) < 200
    monkeypatch.setenv("GITHUB_API_URL", "github.example")
    assert "github.example" in failed(run("localize", "--repo", repo, "--issue", "o/r#1"))


def test_a_file_comes_before_an_address(run, repo, tmp_path, monkeypatch, issue):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "o").mkdir()
    (tmp_path / "o/r#1").write_text(issue.read_text())
    assert run("localize", "--repo", repo, "--issue", "o/r#1").exit_code == 0


def test_both_forms_name_the_same_issue_and_other_texts_are_files():
    for owner, repo, number in (("o", "r", 1), ("a-b_C", "_x.y-z", 10**9)):
        assert address_of(f"{owner}/{repo}#{number}") == Address(owner, repo, number)
        assert address_of(f"https://github.com/{owner}/{repo}/issues/{number}") == Address(owner, repo, number, "github.com")
    files = ["issue.md", "-", "o/r", "o/r#0", "o/..#1", "../r#1", "a/b/c#1", "#1", ""]
    assert [text for text in files if address_of(text) is not None] == []


@given(st.text(max_size=60).map("https://".__add__))
def test_any_address_is_understood_or_refused_in_one_way(text):
    try:
        found = address_of(text)
    except DataError:
        return
    assert found is not None
    assert ".." not in (found.owner, found.repo)
