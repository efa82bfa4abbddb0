"""Names of released predictions in a real git repository: what they mean, what becomes of those that mean nothing."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fusesearch.code.names import Claim, Reason, file_named, functions_named
from fusesearch.core.errors import DataError, RepositoryError
from fusesearch.evaluation.predictions import score_files
from fusesearch.evaluation.published import snapshot as snapshot_module
from fusesearch.evaluation.published.claims import Published
from fusesearch.evaluation.published.importing import Base, Tally, import_predictions
from fusesearch.evaluation.published.snapshot import Snapshot, Snapshots
from tests.fakes.commands import app
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
        (Claim("pkg/shop.py", "def total(prices):"), "total"),
        (Claim("pkg/shop.py", "`Shop.sell` - takes it out"), "Shop.sell"),
        (Claim("pkg/shop.py", "pkg/shop.py::Shop::sell"), "Shop.sell"),
        (Claim("pkg/shop.py", "Shop#sell"), "Shop.sell"),
        (Claim("pkg/shop.py", "pkg.shop.total"), "total"),
        (Claim("pkg/shop.py", "shop.Shop.sell"), "Shop.sell"),
        (Claim("pkg/shop.py", "Shop.sell", "class"), "Shop.sell"),
        (Claim("pkg/shop.py", "sell", "function", within="Stand"), "Stand.sell"),
        (Claim("pkg/shop.py", "total", "function", within="Stand"), "total"),
        (Claim("pkg/shop.py", "count"), "Shop.Till.count"),
        (Claim("pkg/shop.py", "Till.count"), "Shop.Till.count"),
        (Claim("pkg/shop.py", "total.wrapper"), "total"),
        (Claim("old.py", "greet"), "Old.greet"),
        (Claim("web/app.js", "App.start"), "App.start"),
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
        (Claim("other/util.py", "Empty", "class"), Reason.CLASS),
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


def test_a_class_may_stand_for_its_constructor(snapshot):
    shop = functions_named(Claim("pkg/shop.py", "Shop"), snapshot, class_as_init=True)
    assert shop.functions == ("Shop.__init__",)
    assert functions_named(Claim("pkg/shop.py", "Stand"), snapshot, class_as_init=True).reason is Reason.CLASS


def test_lines_touch_every_function_between_them(snapshot):
    place = functions_named(Claim("pkg/shop.py", "", "line", (18, 26)), snapshot)
    assert place.functions == ("Shop.__init__", "Shop.sell", "Shop.Till.count")


def every_function(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(path, name) for path in FILES for name in snapshot.entities(path).functions]


def test_every_function_of_the_snapshot_is_found_as_it_is_called(snapshot):
    functions = every_function(snapshot)
    assert len(functions) == 10
    for path, name in functions:
        assert functions_named(Claim(path, name), snapshot) == (path, (name,), None)


TEXTS = st.one_of(
    st.text(max_size=40), st.sampled_from([*FILES, "Shop", "sell", "x/pkg/shop.py", "pkg.shop", "Shop.sell(", "a." * 300])
)
LINES = st.one_of(st.none(), st.tuples(st.integers(0, 60), st.integers(0, 60)))


@given(
    path=TEXTS, name=TEXTS, kind=st.sampled_from(["", "function", "class", "line", "variable"]), lines=LINES, within=TEXTS,
    as_init=st.booleans(),
)  # fmt: skip
def test_whatever_is_written_leads_to_real_functions_or_to_a_reason(snapshot, path, name, kind, lines, within, as_init):
    place = functions_named(Claim(path, name, kind, lines, within), snapshot, class_as_init=as_init)
    assert bool(place.functions) == (place.reason is None)
    assert {(place.path, function) for function in place.functions} <= set(every_function(snapshot))


def imported(repos: tuple[Path, str], tally: Tally, *answers: Published):
    with Snapshots(lambda repo: repos[0] / f"{repo.replace('/', '__')}.git") as opened:
        return list(import_predictions(answers, {"i-1": Base("o/n", repos[1])}, opened, tally))


def test_missing_files_stay_wrong_answers_and_other_entities_are_left_out(repos):
    tally = Tally()
    claims = [Claim("pkg/shop.py", name) for name in ("Shop", "total", "gone", "total()", "RATE", "Shop.Till.count")]
    [line] = imported(repos, tally, Published("i-1", ("shop.py", "nowhere.py", "pkg/shop.py"), tuple(claims)))
    assert line.files == ["pkg/shop.py", "nowhere.py"]
    assert line.functions == ["pkg/shop.py::total", "pkg/shop.py::gone", "pkg/shop.py::Shop.Till.count"]
    assert tally.unmatched == {
        ("file", Reason.NO_FILE): 1, ("function", Reason.CLASS): 1, ("function", Reason.NO_NAME): 1,
        ("function", Reason.VARIABLE): 1,
    }  # fmt: skip
    assert tally.examples["function", Reason.NO_NAME] == [("i-1", "pkg/shop.py::gone")]
    assert tally.repeated == {"file": 1, "function": 1}
    assert (tally.named("function"), tally.found["function"], tally.found["file"]) == (6, 3, 2)


def test_files_come_from_the_names_where_an_answer_lists_none(repos):
    [line] = imported(repos, Tally(), Published("i-1", (), (Claim("pkg/shop.py", "total"), Claim("old.py", "Old"))))
    assert line.files == ["pkg/shop.py", "old.py"]


def test_answers_to_unknown_instances_are_counted_and_those_given_twice_refused(repos):
    tally = Tally()
    assert imported(repos, tally, Published("x-9"), Published("i-1"))[0].files == []
    assert (tally.unknown, tally.empty) == (1, 1)
    with pytest.raises(DataError, match="answered twice"):
        imported(repos, Tally(), Published("i-1"), Published("i-1"))


def test_a_repository_or_commit_that_is_missing_is_an_error(repos, tmp_path):
    with Snapshots(lambda repo: tmp_path / repo) as opened, pytest.raises(RepositoryError):
        opened.at("o/n", repos[1])
    with Snapshots(lambda repo: repos[0] / "o__n.git") as opened, pytest.raises(RepositoryError):
        opened.at("o/n", "0" * 40)


def test_a_file_too_large_to_read_holds_nothing_and_the_next_one_is_read(repos, monkeypatch):
    monkeypatch.setattr(snapshot_module, "MAX_SOURCE_BYTES", 100)
    with Snapshots(lambda repo: repos[0] / "o__n.git") as opened:
        taken = opened.at("o/n", repos[1])
        assert functions_named(Claim("pkg/shop.py", "total"), taken).reason is Reason.NO_NAME
        assert functions_named(Claim("pkg/sub/util.py", "helper"), taken).functions == ("helper",)


PATCH = """diff --git a/pkg/shop.py b/pkg/shop.py
--- a/pkg/shop.py
+++ b/pkg/shop.py
@@ -37,3 +37,3 @@
     def wrapper(price):
-        return price * (1 + RATE)
+        return price + price * RATE
     return sum(map(wrapper, prices))
"""


@pytest.fixture
def instances(repos, tmp_path) -> Path:
    row = {"repo": "o/n", "base_commit": repos[1], "problem_statement": "prices", "patch": PATCH}
    path = tmp_path / "instances.jsonl"
    path.write_text("".join(json.dumps(row | {"instance_id": name}) + "\n" for name in ("i-1", "i-2")))
    return path


def test_the_command_writes_what_score_reads(repos, instances, tmp_path):
    located = {"pkg/shop.py": ["class: Shop\nfunction: wrapper\nfunction: total.wrapper\nfunction: a\x1b[31m"]}
    published = tmp_path / "loc.jsonl"
    published.write_text(json.dumps({"instance_id": "i-1", "found_files": ["shop.py"], "found_related_locs": located}) + "\n")
    arguments = ["--format", "cosil", str(published), "--instances", str(instances), "--repos", str(repos[0])]
    out, truth = tmp_path / "out.jsonl", tmp_path / "truth.jsonl"
    done = CliRunner().invoke(app, ["import-predictions", *arguments, "--out", str(out), "--truth", str(truth)])
    assert done.exit_code == 0, done.output
    first, *table = done.output.splitlines()
    assert first.endswith("out.jsonl: 1 of 2 instances answered; files: 1 of 1 found; names: 1 of 4 found")
    assert {tuple(line.split()[:2]) for line in table} == {("names", "1")}
    assert {line[15:55].strip() for line in table} == {str(Reason.CLASS), str(Reason.NAMES), str(Reason.NO_NAME)}
    assert "\x1b" not in done.output
    scored = score_files(out, truth)
    assert (scored["instances"], scored["missing"]) == (2, 1)
    assert scored["file"]["macro"]["f1"] == 0.5
    assert scored["function"]["recall@3"] == 0.5


def test_an_export_for_agentless_repair_reads_back_unchanged(repos, instances, tmp_path):
    answer = {"instance_id": "i-1", "files": ["pkg/shop.py", "gone.py"], "functions": ["pkg/shop.py::Shop.sell", "gone.py::f"]}
    (tmp_path / "ours.jsonl").write_text(json.dumps(answer) + "\n")
    written, back = tmp_path / "loc_outputs.jsonl", tmp_path / "back.jsonl"
    known = ["--instances", str(instances), "--repos", str(repos[0])]
    done = CliRunner().invoke(app, ["export-predictions", str(tmp_path / "ours.jsonl"), *known, "--out", str(written)])
    assert done.exit_code == 0, done.output
    assert "1 files that do not exist" in done.output
    assert json.loads(written.read_text())["found_edit_locs"] == {"pkg/shop.py": ["function: Shop.sell"]}
    CliRunner().invoke(app, ["import-predictions", "--format", "agentless", str(written), *known, "--out", str(back)])
    assert json.loads(back.read_text()) == answer | {"files": ["pkg/shop.py"], "functions": ["pkg/shop.py::Shop.sell"]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--format": "swe"}, "format 'swe' is unknown"),
        ({"--repos": "nowhere"}, "o__n.git"),
        ({"--instances": "gone.jsonl"}, "gone.jsonl"),
    ],
)
def test_what_the_command_cannot_do_is_one_line(repos, instances, tmp_path, changed, message):
    published, out = tmp_path / "loc.jsonl", tmp_path / "out.jsonl"
    published.write_text('{"instance_id": "i-1"}\n')
    options = {"--format": "cosil", "--instances": str(instances), "--repos": str(repos[0]), "--out": str(out)} | changed
    done = CliRunner().invoke(app, ["import-predictions", str(published), *(part for pair in options.items() for part in pair)])
    assert done.exit_code == 1
    assert message in done.output
    assert len(done.output.splitlines()) == 1
    assert not out.exists()
