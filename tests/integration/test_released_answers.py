"""Names of released predictions in a real git repository: what they mean, what becomes of those that mean nothing."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evidence import released
from experiments.evidence.released import Published, Snapshot, Snapshots, prediction
from fusesearch.code.names import Claim, Reason, file_named, functions_named
from fusesearch.core.errors import RepositoryError
from tests.fakes.git import committed, git

SHOP = '''"""A shop."""
import functools

RATE = 0.2


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper


class Shop:
    limit: int = 3

    def __init__(self):
        self.stock = {}

    @logged
    def sell(self, name):
        return self.stock.pop(name)

    class Till:
        def count(self):
            return 0


class Stand(Shop):
    def sell(self, name):
        return name


def total(prices):
    def wrapper(price):
        return price * (1 + RATE)
    return sum(map(wrapper, prices))
'''
FILES = {
    "pkg/__init__.py": "",
    "pkg/shop.py": SHOP,
    "pkg/sub/__init__.py": "def start():\n    pass\n",
    "pkg/sub/util.py": "def helper():\n    pass\n",
    "other/util.py": "class Empty:\n    pass\n",
    "old.py": "class Old:\n    def greet(self):\n        print 'hello'\n",
    "web/app.js": "class App {\n  start() {\n    return 1;\n  }\n}\n",
    "notes.txt": "nothing\n",
}


@pytest.fixture(scope="module")
def repos(tmp_path_factory) -> tuple[Path, str]:
    """A folder with the bare repository ``o__n.git``, and its only commit."""
    work, repos = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("repos")
    (work / "linked.py").symlink_to("pkg/shop.py")
    commit = committed(work, FILES)
    git(repos, "clone", "-q", "--bare", str(work), "o__n.git")
    return repos, commit


@pytest.fixture(scope="module")
def snapshot(repos):
    with Snapshots(lambda repo: repos[0] / f"{repo.replace('/', '__')}.git") as opened:
        yield opened.at("o/n", repos[1])


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("pkg/shop.py", "pkg/shop.py"), ("./pkg/shop.py", "pkg/shop.py"), ("`/pkg/shop.py`", "pkg/shop.py"),
        ("pkg\\shop.py", "pkg/shop.py"), ("/testbed/pkg/shop.py", "pkg/shop.py"),
        ("path/to/pkg/sub/util.py", "pkg/sub/util.py"), ("shop.py", "pkg/shop.py"), ("sub/util.py", "pkg/sub/util.py"),
        ("pkg.shop", "pkg/shop.py"), ("pkg.sub", "pkg/sub/__init__.py"),
    ],
)  # fmt: skip
def test_paths_lead_to_files_of_the_snapshot(snapshot, written, path):
    assert file_named(written, snapshot) == (path, (), None)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("path/to/file", Reason.NO_FILE),
        ("util.py", Reason.FILES),
        ("", Reason.NO_PATH),
        (" ` ", Reason.NO_PATH),
        ("pkg", Reason.NO_FILE),
        ("linked.py", Reason.NO_FILE),
        ("../pkg/shop.py/..", Reason.NO_FILE),
        ("testbed/old.txt", Reason.NO_FILE),
    ],
)
def test_paths_that_lead_nowhere_say_why(snapshot, written, reason):
    assert file_named(written, snapshot).reason is reason


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        (Claim("pkg/shop.py", "Shop.sell"), "Shop.sell"),
        (Claim("pkg/shop.py", "total", "function"), "total"),
        (Claim("pkg/shop.py", "total(prices)"), "total"),
        (Claim("pkg/shop.py", "pkg/shop.py::Shop::sell"), "Shop.sell"),
        (Claim("pkg/shop.py", "pkg.shop.total"), "total"),
        (Claim("pkg/shop.py", "Shop.sell", "class"), "Shop.sell"),
        (Claim("pkg/shop.py", "sell", "function", within="Stand"), "Stand.sell"),
        (Claim("pkg/shop.py", "total", "function", within="Stand"), "total"),
        (Claim("pkg/shop.py", "count"), "Shop.Till.count"),
        (Claim("pkg/shop.py", "total.wrapper"), "total"),
        (Claim("old.py", "greet"), "Old.greet"),
        (Claim("shop.py", "total"), "total"),
        (Claim("pkg/shop.py", "", "line", (21, 21)), "Shop.sell"),
    ],
)
def test_names_lead_to_functions_of_the_named_file(snapshot, claim, name):
    place = functions_named(claim, snapshot)
    assert (place.functions, place.reason) == ((name,), None)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (Claim("gone.py", "total"), Reason.NO_FILE),
        (Claim("pkg/shop.py", "Shop"), Reason.CLASS),
        (Claim("pkg/shop.py", "Till", "function"), Reason.CLASS),
        (Claim("pkg/shop.py", "RATE", "variable"), Reason.VARIABLE),
        (Claim("pkg/shop.py", "Shop.limit"), Reason.VARIABLE),
        (Claim("pkg/shop.py", "sell"), Reason.NAMES),
        (Claim("pkg/shop.py", "wrapper"), Reason.NAMES),
        (Claim("pkg/shop.py", "Stand.count"), Reason.NO_MEMBER),
        (Claim("pkg/shop.py", "total.inner"), Reason.NO_NAME),
        (Claim("pkg/shop.py", "helper"), Reason.NO_NAME),
        (Claim("notes.txt", "nothing"), Reason.NO_NAME),
        (Claim("pkg/shop.py", "***"), Reason.NOTHING),
        (Claim("pkg/shop.py", "", "function"), Reason.NOTHING),
        (Claim("pkg/shop.py", "", "line", (1, 4)), Reason.OUTSIDE),
        (Claim("pkg/shop.py", "", "line", (900, 901)), Reason.NO_LINES),
    ],
)
def test_names_without_a_function_in_the_file_say_why(snapshot, claim, reason):
    place = functions_named(claim, snapshot)
    assert (place.functions, place.reason) == ((), reason)


def test_lines_touch_every_function_between_them(snapshot):
    place = functions_named(Claim("pkg/shop.py", "", "line", (18, 26)), snapshot)
    assert place.functions == ("Shop.__init__", "Shop.sell", "Shop.Till.count")


def every_function(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(path, name) for path in FILES for name in snapshot.entities(path).functions]


TEXTS = st.one_of(
    st.text(max_size=40), st.sampled_from([*FILES, "Shop", "sell", "x/pkg/shop.py", "pkg.shop", "Shop.sell(", "a." * 300])
)
LINES = st.one_of(st.none(), st.tuples(st.integers(0, 60), st.integers(0, 60)))


@given(
    path=TEXTS, name=TEXTS, kind=st.sampled_from(["", "function", "class", "line", "variable"]), lines=LINES, within=TEXTS,
)  # fmt: skip
def test_whatever_is_written_leads_to_real_functions_or_to_a_reason(snapshot, path, name, kind, lines, within):
    place = functions_named(Claim(path, name, kind, lines, within), snapshot)
    assert bool(place.functions) == (place.reason is None)
    assert {(place.path, function) for function in place.functions} <= set(every_function(snapshot))


def test_missing_files_stay_wrong_answers_and_other_entities_are_left_out(snapshot):
    claims = [Claim("pkg/shop.py", name) for name in ("Shop", "total", "gone", "total()", "RATE", "Shop.Till.count")]
    line = prediction(Published("i-1", ("shop.py", "nowhere.py", "pkg/shop.py"), tuple(claims)), snapshot)
    assert line.files == ["pkg/shop.py", "nowhere.py"]
    assert line.functions == ["pkg/shop.py::total", "pkg/shop.py::gone", "pkg/shop.py::Shop.Till.count"]


def test_files_come_from_the_names_where_an_answer_lists_none(snapshot):
    line = prediction(Published("i-1", (), (Claim("pkg/shop.py", "total"), Claim("old.py", "Old"))), snapshot)
    assert line.files == ["pkg/shop.py", "old.py"]


def test_a_repository_or_commit_that_is_missing_is_an_error(repos, tmp_path):
    with Snapshots(lambda repo: tmp_path / repo) as opened, pytest.raises(RepositoryError):
        opened.at("o/n", repos[1])
    with Snapshots(lambda repo: repos[0] / "o__n.git") as opened, pytest.raises(RepositoryError):
        opened.at("o/n", "0" * 40)


def test_a_file_too_large_to_read_holds_nothing_and_the_next_one_is_read(repos, monkeypatch):
    monkeypatch.setattr(released, "MAX_SOURCE_BYTES", 100)
    with Snapshots(lambda repo: repos[0] / "o__n.git") as opened:
        taken = opened.at("o/n", repos[1])
        assert functions_named(Claim("pkg/shop.py", "total"), taken).reason is Reason.NO_NAME
        assert functions_named(Claim("pkg/sub/util.py", "helper"), taken).functions == ("helper",)
