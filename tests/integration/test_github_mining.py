"""The source ``github`` with the real client, against the tests' GitHub and its real repositories."""

import logging
import os
import random
import subprocess
import time
from contextlib import ExitStack, suppress
from datetime import timedelta
from multiprocessing import get_context
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.data.sources.github import GitHub, client, queries
from fusesearch.search.snapshots import SnapshotStore
from tests.fakes.github_server.history import write_repository, write_world
from tests.fakes.github_server.server import KINDS, GitHubServer
from tests.fakes.github_server.world import FATES, ORDINARY, Repository, World, add_pull, add_pulls

BIG, SMALL = "zoo/every-kind", "zoo/small"
TOKEN = "ghp_" + "a" * 36


def small_world():
    """One repository with a pull request of every kind, one with a few."""
    rng = random.Random(5)
    big, small = Repository(BIG, 1), Repository(SMALL, 2)
    for kind in ("plain", *ORDINARY, *FATES, "renames file", "adds and deletes", "no issue"):
        add_pull(big, rng, kind)
    add_pull(big, rng, "plain", merged=False)
    add_pulls(small, rng, 6, 0.7)
    return World({BIG: big, SMALL: small})


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """The world and the folder of its repositories; not to be changed."""
    world, root = small_world(), tmp_path_factory.mktemp("github")
    write_world(world, root)
    return world, root


@pytest.fixture
def serve(origin):
    with ExitStack() as stack:
        yield lambda *faults: stack.enter_context(GitHubServer(*origin, faults))


@pytest.fixture
def small_pages(monkeypatch):
    """Many requests for few rows."""
    monkeypatch.setattr(queries, "PAGE", 10)
    monkeypatch.setattr(queries, "DETAILS", 4)


def source(server, folder, token=TOKEN, workers=2, **changes):
    os.environ |= {"GITHUB_TOKEN": token, "GITHUB_API_URL": server.address, "GITHUB_SERVER_URL": server.git_url}
    config = {"repositories": list(server.world.repositories)} | changes
    return GitHub(GitHubSource(**config), folder / "state", workers)


@pytest.fixture(scope="module", autouse=True)
def own_environment():
    with patch.dict(os.environ):
        yield


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0.001)


def mine(github, folder):
    mined = github.mine(folder / "repos", lambda done, total: None)
    return {row.instance_id: row for row in mined.instances}, mined.table


@pytest.fixture(scope="module")
def clean(origin, tmp_path_factory):
    """Rows, table and folder of a run without faults."""
    folder = tmp_path_factory.mktemp("clean")
    with GitHubServer(*origin) as server:
        return (*mine(source(server, folder), folder), folder)


def test_every_pair_is_found_with_its_text_as_it_was_before_the_fix(origin, clean):
    rows, _, _ = clean
    assert {name: row.problem_statement for name, row in rows.items()} == origin[0].expected()


def test_dropped_pull_requests_are_counted_under_their_reason(origin, clean):
    _, table, _ = clean
    for reason in set(FATES.values()):
        merged = [pull for repo in origin[0].repositories.values() for pull in repo.merged if FATES.get(pull["kind"]) == reason]
        assert table["dropped"][reason] == len(merged), reason
    assert table["complete"]
    assert sum(table["dropped"].values()) + sum(row["pairs"] for row in table["repositories"]) == sum(
        len(repo.merged) for repo in origin[0].repositories.values()
    )


def by_kind(origin, rows, kind):
    pull = next(pull for pull in reversed(origin[0].repositories[BIG].merged) if pull["kind"] == kind)
    return rows[f"zoo__every-kind-{pull['number']}"]


def test_rows_say_where_they_come_from(origin, clean):
    rows, _, _ = clean
    assert by_kind(origin, rows, "bot").provenance["bot"]
    assert by_kind(origin, rows, "ghost").provenance["author"] is None
    assert len(by_kind(origin, rows, "two issues").provenance["issues"]) == 2
    assert by_kind(origin, rows, "plain").provenance["licence"] == "MIT"
    tested = by_kind(origin, rows, "with tests")
    assert ("tests/" in tested.patch, "+++ b/tests/" in tested.test_patch) == (False, True)


def test_patches_lead_from_the_base_commit_to_what_was_merged(origin, clean, tmp_path):
    rows, _, folder = clean
    assert len(rows) > 15
    store = SnapshotStore(tmp_path / "cache")
    environment = {**os.environ, "GIT_INDEX_FILE": str(tmp_path / "index")}
    for row in rows.values():
        git_dir = folder / "repos" / f"{row.repo.replace('/', '__')}.git"

        def git(*arguments, git_dir=git_dir, **options):
            command = ["git", f"--git-dir={git_dir}", *arguments]
            return subprocess.run(command, env=environment, check=True, capture_output=True, **options).stdout.decode().strip()

        assert (store.repository(git_dir, row.base_commit).root / "pkg/module0.py").is_file()  # without a remote
        git("read-tree", row.base_commit)
        git("apply", "--cached", input=(row.patch + row.test_patch).encode())
        assert git("write-tree") == git("rev-parse", f"{row.provenance['merge_commit']}^{{tree}}")


def test_faults_do_not_change_what_is_mined(serve, clean, tmp_path, small_pages):
    server = serve(*KINDS, *KINDS)
    rows, table = mine(source(server, tmp_path), tmp_path)
    assert rows == clean[0]
    assert table["dropped"] == clean[1]["dropped"]
    assert table["spent"]["failed"] >= len(KINDS)


@pytest.mark.parametrize("spoiled", [False, True])
def test_a_budget_is_kept_and_the_next_run_goes_on_at_the_cursor_or_anew_where_github_no_longer_takes_it(
    serve, clean, tmp_path, small_pages, monkeypatch, spoiled
):
    monkeypatch.setattr(client, "BUDGET", 8)
    server, table, runs = serve(), {"complete": False}, 0
    while not table["complete"] and runs < 20:
        before, runs = server.counts.points, runs + 1
        with suppress(DataError):  # not one pair yet
            rows, table = mine(source(server, tmp_path, workers=1), tmp_path)
            assert table["complete"] or "budget" in table["message"]
        assert 0 < server.counts.points - before <= 8 + 3 * spoiled  # a page that is refused counts on the server alone
        for path in (tmp_path / "state").rglob("progress.json") if spoiled and runs == 1 else ():
            text = path.read_text()
            assert '"cursor": "' in text
            path.write_text(text.replace('"cursor": "', '"cursor": "!'))
    assert runs > 1
    assert rows == clean[0]


def mine_slowly(server, folder):
    return mine(source(server, folder), folder)


def test_killed_processes_lose_and_double_nothing(origin, clean, tmp_path):
    with GitHubServer(*origin, ("slow",) * 99) as server:
        world = SimpleNamespace(repositories=list(server.world.repositories))
        address = SimpleNamespace(world=world, address=server.address, git_url=server.git_url)
        kills = 0
        for requests in (3, 6):
            process = get_context("spawn").Process(target=mine_slowly, args=(address, tmp_path))
            process.start()
            while process.is_alive() and server.counts.graphql < requests:
                time.sleep(0.01)
            kills += process.is_alive()
            process.kill()
            process.join()
        rows, _ = mine_slowly(server, tmp_path)
    assert kills
    assert rows == clean[0]


def test_a_second_run_asks_only_for_what_is_new(tmp_path):
    rng = random.Random(1)
    world = World({name: Repository(name, number) for number, name in enumerate((BIG, SMALL))})
    for repository in world.repositories.values():
        add_pulls(repository, rng, 4, 1.0)
    write_world(world, tmp_path / "git")
    with GitHubServer(world, tmp_path / "git") as server:
        first, _ = mine(source(server, tmp_path), tmp_path)
        before = server.counts.points
        again, table = mine(source(server, tmp_path), tmp_path)
        assert again == first
        assert server.counts.points - before == 3  # the names of the repositories, and a look at each
        assert [row["new"] for row in table["repositories"]] == [0, 0]

        repository = world.repositories[BIG]
        old = repository.pulls[next(iter(repository.expected))]
        old["updatedAt"] = repository.now + timedelta(hours=20)  # somebody commented
        fresh = add_pull(repository, rng, "plain")
        write_repository(repository, tmp_path / "git")
        before = server.counts.points
        later, table = mine(source(server, tmp_path), tmp_path)
        assert set(later) - set(first) == {f"zoo__every-kind-{fresh['number']}"}
        assert {name: later[name] for name in first} == first
        assert [row["new"] for row in table["repositories"]] == [1, 0]
        assert server.counts.points - before <= 4


def test_no_token_is_logged_stored_or_named(serve, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    server = serve(*KINDS)
    mine(source(server, tmp_path), tmp_path)
    with pytest.raises(ConfigError, match="does not accept the credentials") as caught:
        mine(source(server, tmp_path / "other", "ghp_" + "c" * 36), tmp_path / "other")
    said = caplog.text + "".join(capfd.readouterr()) + str(caught.value)
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for token in (TOKEN, "ghp_" + "c" * 36):
        assert token not in said
        assert token.encode() not in stored


def test_an_app_mines_too(serve, clean, tmp_path, monkeypatch):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(key.private_bytes(*form))
    server = serve()
    for name, value in zip(client.APP, ("7", "8", str(tmp_path / "key.pem")), strict=True):
        monkeypatch.setenv(name, value)
    rows, _ = mine(source(server, tmp_path, ""), tmp_path)
    assert rows == clean[0]
    assert server.counts.tokens == {"ghs_8"}


def test_repositories_that_cannot_or_must_not_be_mined_are_named(origin, clean, tmp_path):
    world = World({**origin[0].repositories, "a/fork": Repository("a/fork", 9, fork_of="django/django")}, {"old/name": BIG})
    names = ["old/name", BIG, SMALL, "no/such", "a/fork"]
    with GitHubServer(world, origin[1]) as server:
        rows, table = mine(source(server, tmp_path, repositories=names, exclude=[SMALL]), tmp_path)
    assert rows.keys() == {name for name in clean[0] if "small" not in name}
    assert {row.provenance["renamed_from"] for row in rows.values()} == {"old/name"}
    assert table["skipped"][SMALL] == table["skipped"]["a/fork"] == "benchmark or excluded"
    assert "does not exist" in table["skipped"]["no/such"]


def test_issues_are_linked_by_former_names_of_the_repository(tmp_path):
    rng, repository, other = random.Random(4), Repository(BIG, 1), Repository("zoo/other", 2)
    by_old_name, by_gh, elsewhere = (add_pull(repository, rng, "plain") for _ in range(3))
    add_pull(other, rng, "plain")
    links = ("Fixes OLD/name#{}", "closes GH-{}", "Fixes zoo/other#1")
    for pull, body in zip((by_old_name, by_gh, elsewhere), links, strict=True):
        (issue,), pull["closingIssuesReferences"] = pull["closingIssuesReferences"], []
        pull["body"] = body.format(issue["number"])
    world = World({BIG: repository, "zoo/other": other}, {"old/name": BIG})
    write_world(world, tmp_path / "git")
    with GitHubServer(world, tmp_path / "git") as server:
        rows, table = mine(source(server, tmp_path, repositories=[BIG]), tmp_path)
    assert {row.provenance["pull"] for row in rows.values()} == {by_old_name["number"], by_gh["number"]}
    assert table["dropped"]["no_issue"] == 1


def test_criteria_choose_repositories(tmp_path):
    rows = {
        name: Repository(name, number, stars=100 * number) for number, name in enumerate(("a/one", "a/two", "a/three", "a/four"))
    }
    rows["a/two"].licence = None
    rows["a/three"].language = "Go"
    rows["sympy/sympy"] = Repository("sympy/sympy", 9, stars=9000)
    from fusesearch.data.sources.github.selection import select

    with GitHubServer(World(rows), tmp_path) as server:
        github = source(server, tmp_path, repositories=[], criteria={"min_stars": 50, "licences": ["any"]})
        chosen = select(github.api, github.config)
        assert [facts.repo for facts in chosen.repositories] == ["a/four", "a/three"]
        assert chosen.skipped["sympy/sympy"] == "benchmark or excluded"
        assert chosen.skipped["a/two"] == "licence"
        github.config = github.config.model_copy(update={"preset": "tooltrain"})
        assert select(github.api, github.config).repositories == []
