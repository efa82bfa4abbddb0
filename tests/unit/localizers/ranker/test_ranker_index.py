from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.stopping import in_thread
from fusesearch.localizers.ranker import index as index_module
from fusesearch.localizers.ranker import workers
from fusesearch.localizers.ranker.building import Progress
from fusesearch.localizers.ranker.facts import analyse, literal_terms, read, term, words_of
from fusesearch.localizers.ranker.index import NAME, Index
from fusesearch.search.repository import Repository
from tests.fakes.git import files_in, write

SOURCES = [
    "def save(path):\n    return write(path, mode='keep-open')\n",
    "class Store:\n    LIMIT = 3\n\n    def write(self, data):\n        raise ValueError('cannot write twice')\n",
    "",
    "def broken(:\n",
    "x = 1\r\ny = '''\n",
]

CONTENT = files_in(Path(__file__).parent / "index_sources.txt")
SUMS = {"a.py": 2047217302, "b.js": 1794872788, "c.go": 317901713, "d.rb": 1301171164}
"""What analysing these gave when version 2 of the index began; another sum needs another version."""


def tree(root: Path, files: dict[str, str | bytes]) -> Repository:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Repository(root)


def everything(repository: Repository, folder: Path | None, told: Callable[[int, int], None] | None = None) -> dict[str, tuple]:
    with Index(repository, folder, Progress(told)) as index:
        return {path: (list(facts.terms), list(facts.numbers), facts.functions) for path, facts in index.facts(index.paths)}


def age(root: Path) -> None:
    """Make all files older than what the index trusts by its times."""
    for path in root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


def test_facts_say_where_names_are_defined_called_and_written():
    facts = read(analyse("a.py", SOURCES[0] + "\n\n" + SOURCES[1]))
    names = [span.name for span in facts.functions]

    def functions_with(text: str) -> list[str]:
        place = facts.find(term(text))
        return [] if place < 0 else [names[number] for number, _ in facts.functions_with(place)]

    assert functions_with("d:save") == ["save"]
    assert functions_with("q:Store.write") == functions_with("c:Store") == ["Store.write"]
    assert functions_with("k:write") == functions_with("l:keep-open") == ["save"]
    assert functions_with("t:cannot write twice") == ["Store.write"]
    assert facts.find(term("v:LIMIT")) >= 0
    assert facts.classes == ["Store"]
    assert words_of("HttpResponses_base") == ("httpresponses_base", "http", "respons", "base")
    assert list(literal_terms("%s is not a valid choice")) == [
        "l:%s is not a valid choice", "t:is not a", "t:not a valid", "t:a valid choice",
    ]  # fmt: skip


@given(st.text(max_size=300))
def test_any_source_has_facts(source: str):
    for path in ("a.py", "a.xyz"):
        facts = read(analyse(path, source))
        assert list(facts.terms) == sorted(set(facts.terms))
        assert len(facts.starts) == len(facts.terms) + 1


@given(st.binary(max_size=200))
def test_damaged_facts_are_noticed(noise: bytes):
    data = analyse("a.py", SOURCES[0])
    with pytest.raises(ValueError, match="damaged"):
        read(data[:20] + noise + data[20 + len(noise) + 1 :])


@pytest.mark.parametrize("path", CONTENT)
def test_what_the_index_stores_stays_the_same(path: str):
    assert zlib.crc32(analyse(path, CONTENT[path])) == SUMS[path]


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["a.py", "b/c.py", "d.js", "e.py"]), st.sampled_from(SOURCES), max_size=4),
        min_size=1,
        max_size=3,
    )
)
def test_an_index_that_grew_equals_one_from_scratch(tmp_path_factory: pytest.TempPathFactory, versions: list[dict[str, str]]):
    """Whatever files were added, changed and removed before."""
    place = tmp_path_factory.mktemp("grown")
    for number, files in enumerate(versions):
        root = place / "root"
        root.mkdir(exist_ok=True)
        for old in root.rglob("*.*"):
            old.unlink()
        repository = tree(root, files)
        if number % 2:
            age(root)
        grown = everything(repository, place / "index")
    assert grown == everything(repository, None)


def test_only_new_contents_are_analysed_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """So in another work tree, after a change of branch, and after one back."""
    done: list[str] = []
    real = workers.analyse
    monkeypatch.setattr(workers, "analyse", lambda path, text: done.append(path) or real(path, text))
    tree(tmp_path / "r", {"a.py": SOURCES[0], "b.py": SOURCES[1]})
    everything(Repository(tmp_path / "r"), tmp_path / "index")
    everything(tree(tmp_path / "other", {"b.py": SOURCES[1], "lib/a.py": SOURCES[0]}), tmp_path / "index")
    everything(tree(tmp_path / "r", {"a.py": SOURCES[1], "c.py": SOURCES[0], "d.py": "def f(): pass\n"}), tmp_path / "index")
    everything(tree(tmp_path / "r", {"a.py": SOURCES[0]}), tmp_path / "index")
    assert done == ["a.py", "b.py", "d.py"]


def test_processes_and_several_at_once_and_no_folder_give_the_same_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each of several has a connection of its own; SQLite's locks between them are those between processes."""
    repository = tree(tmp_path / "r", {f"m{n}.py": f"def function_{n}(): return {n}\n" for n in range(60)})
    alone = everything(repository, None)
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: everything(repository, tmp_path / "index"), range(3))) == [alone] * 3
    monkeypatch.setattr("fusesearch.localizers.ranker.workers.SMALL_BYTES", 0)
    assert everything(repository, None) == alone
    (tmp_path / "file").write_text("")
    assert everything(repository, tmp_path / "file" / "index") == alone  # a temporary folder, where this one cannot be
    assert everything(Repository(write(tmp_path / "empty", {"README": ""})), tmp_path / "index") == {}


def test_a_file_of_the_same_size_and_time_is_read_again_if_it_changed_just_now(tmp_path: Path):
    repository = tree(tmp_path / "r", {"a.py": "def one(): pass\n"})
    everything(repository, tmp_path / "index")
    status = (tmp_path / "r/a.py").stat()
    (tmp_path / "r/a.py").write_text("def two(): pass\n")
    os.utime(tmp_path / "r/a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [span.name for span in everything(repository, tmp_path / "index")["a.py"][2]] == ["two"]


def test_an_index_that_is_damaged_or_of_another_version_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository = tree(tmp_path / "r", {"a.py": SOURCES[0]})
    path = tmp_path / "index" / NAME
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "VERSION", 7)
        expected = everything(repository, path.parent)
    whole = path.read_bytes()
    for stored in (whole, b"", b"not a database" * 500, whole[: len(whole) // 2]):
        path.write_bytes(stored)
        assert everything(repository, path.parent) == everything(repository, path.parent) == expected
        assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (index_module.VERSION,)


def test_above_its_limit_the_index_loses_what_was_not_used_for_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    everything(
        tree(tmp_path / "old", {f"m{n}.py": f"def function_{n}(): return {n}\n" * 50 for n in range(50)}), tmp_path / "index"
    )
    connection = sqlite3.connect(tmp_path / "index" / NAME)
    with connection:
        connection.execute("UPDATE facts SET used = used - 10")
    monkeypatch.setattr(index_module, "LIMIT_BYTES", 20_000)
    new = tree(tmp_path / "new", {"a.py": SOURCES[0]})
    expected = everything(new, None)
    assert everything(new, tmp_path / "index") == expected
    assert connection.execute("SELECT count(*) FROM facts").fetchone()[0] < 51
    assert len(everything(Repository(tmp_path / "old"), tmp_path / "index")) == 50


def test_hostile_trees_have_an_index(tmp_path: Path):
    root = tmp_path / "r"
    files: dict[str, str | bytes] = {
        "big.py": b"x = 1\n" * 400_000,
        "binary.py": bytes(range(256)) * 10,
        "deep.py": "(" * 20_000,
        "min.js": "function a(){}" * 1_000,
        "comment.c": "/*" * 10_000,
        "tests/test_a.py": SOURCES[0],
        "ok.py": SOURCES[0],
    }
    tree(root, files)
    with open(os.fsencode(root) + b"/\xff\xfe.py", "wb") as handle:
        handle.write(b"secret = 1\n")
    (tmp_path / "outside.py").write_text("def secret(): pass\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    os.mkfifo(root / "pipe.py")
    found = everything(Repository(root), tmp_path / "index")
    assert [span.name for span in found["ok.py"][2]] == ["save"]
    assert not {"link.py", "tests/test_a.py", "big.py"} & found.keys()


@pytest.mark.parametrize("lines", [3, 3000], ids=["analysed here", "analysed by processes"])
async def test_an_index_that_nobody_waits_for_stops_and_keeps_what_it_has(tmp_path: Path, lines: int):
    files = {f"m{number}.py": f"def f{number}(x):\n" + f"    x = {number}\n" * lines for number in range(60)}
    repository = tree(tmp_path / "tree", files)
    age(tmp_path / "tree")
    some, left, ended = threading.Event(), threading.Event(), threading.Event()
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        if done == 5:
            some.set()
            left.wait()

    def work() -> None:
        try:
            everything(repository, tmp_path / "cache", progress)
        finally:
            ended.set()

    asking = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(some.wait)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    left.set()
    assert await asyncio.to_thread(ended.wait, 60)
    assert told[-1] == (5, 60)
    _, alive = psutil.wait_procs(filter(is_worker, psutil.Process().children()), 10)  # a killed one may take a moment to end
    assert not alive
    told.clear()
    everything(repository, tmp_path / "cache", lambda done, total: told.append((done, total)))
    assert told[0] == (0, 55)


def is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return "ranker.workers" in " ".join(process.cmdline())
    return False
