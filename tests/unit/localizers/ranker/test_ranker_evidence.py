from __future__ import annotations

import json
from pathlib import Path

import pytest

from fusesearch.localizers.ranker import answer_of, ranking_of
from fusesearch.localizers.ranker.evidence import MAX_NAMES, MAX_WORDS, draw_evidence
from fusesearch.localizers.ranker.matching import Resolver
from fusesearch.localizers.ranker.places import says_little
from fusesearch.localizers.ranker.reading import without_forms, without_noise
from fusesearch.search.repository import Repository
from tests.fakes.git import write

TRACEBACK = """Crash when saving

```
Traceback (most recent call last):
  File "run.py", line 3, in <module>
    main()
  File "/usr/lib/python3.9/site-packages/pkg/store/disk.py", line 41, in save
    self.write(data)
  File "/usr/lib/python3.9/site-packages/pkg/store/raw.py", line 7, in write
    raise StoreError("cannot write twice")
pkg.errors.StoreError: cannot write twice
```
"""


def test_frames_messages_options_and_codes_of_a_traceback_are_evidence():
    frames = [(frame.path.rpartition("/")[2], frame.line, frame.name) for frame in draw_evidence(TRACEBACK).frames]
    assert frames[-2:] == [("disk.py", 41, "save"), ("raw.py", 7, "write")]
    literals = draw_evidence(TRACEBACK + "\nwith --keep-open I get E1101 or fields.E305, a `no-member`").literals
    assert {"t:cannot write twice", "l:--keep-open", "l:e1101", "l:fields.e305", "l:no-member"} <= set(literals)
    # the options of an example command are not what it is about
    literals = {*draw_evidence("--tags fails\n\n    run --fast --keep-open --level 3 --tags a\n\nwith --dry or without").literals}
    assert literals & {"l:--tags", "l:--fast", "l:--keep-open", "l:--level", "l:--dry"} == {"l:--tags", "l:--dry"}


def test_names_know_how_they_are_mentioned():
    names = draw_evidence(
        "`save_all` fails\n\nUse `Store.write` or keep_open.\n"
        "```python\nfrom pkg import Store\nStore(1).flush_now(inner_one(2))\n```\n"
    ).names
    assert "title" in names["save_all"].kinds
    assert names["write"].kinds >= {"inline", "dotted"}
    assert "Store" in names["write"].owners
    assert "prose" in names["keep_open"].kinds
    assert names["Store"].kinds >= {"imported", "owner"}
    assert "outer" not in names["inner_one"].kinds
    names = draw_evidence("nx.node_connectivity(nx.path_graph(4)) returns 0 but should be 1").names
    assert "outer" in names["node_connectivity"].kinds
    assert "outer" not in names["path_graph"].kinds
    # what the example defines is not of the repository
    names = draw_evidence("Wrong sum\n```python\ndef my_helper(a):\n    return a\nmy_helper(total_of(1))\n```").names
    assert {"my_helper", "total_of"} & names.keys() == {"total_of"}


def test_any_text_gives_bounded_evidence_and_endless_lines_name_no_frame():
    many = " ".join(f"name_{number} Word{number}" for number in range(2 * max(MAX_WORDS, MAX_NAMES)))
    for text in (many, "a" * 70_000 + "\n.py:1", *(part * 20_000 for part in ("(", "a.", "`", "x", "../", "```\n", "<!--"))):
        evidence = draw_evidence(text)
        assert evidence.frames == []
        assert (len(evidence.words) <= MAX_WORDS, len(evidence.names) <= MAX_NAMES) == (True, True)
        assert all(weight > 0 for weight in evidence.words.values())


def words(text: str) -> set[str]:
    return {*draw_evidence(text).words}


def test_words_beside_hyphens_slashes_and_chinese_count_and_a_path_and_its_suffix_are_none():
    assert "node_connectivity" in words("调用node_connectivity函数返回错误")
    assert words(" \n ") == set()
    assert words("It fails\nin /usr/lib/python3/http/client.py and pkg/store/disk.go") == words("It fails\nin and")
    assert {"py", "go"} & words("Wrong\nutils.py and disk.go") == set()
    assert words("Wrong\nutils.py") >= {"util"}
    assert {"const", "invalid", "autofix"} <= words("prefer-const produces invalid autofix")
    assert {"trivialaccessors", "trivial"} <= words("Style/TrivialAccessors makes changes")
    assert "TrivialAccessors" in draw_evidence("Style/TrivialAccessors makes changes").names
    assert {"redi", "cli", "bigkey"} <= words("redis-cli --bigkeys wrong")


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("lib/disk.py:12", "lib/disk.py", 12),
        ("see https://github.com/o/r/blob/d47b9d0/src/pkg/raw.py#L68-L73", "src/pkg/raw.py", 68),
        ("/build/redis/src/redis.c:1500", "/build/redis/src/redis.c", 1500),
        ("C:\\Users\\me\\proj\\src\\black\\linegen.py:12", "C:/Users/me/proj/src/black/linegen.py", 12),
        ("in /var/www/vendor/x/src/Git.php on line 44", "/var/www/vendor/x/src/Git.php", 44),
        ("https://github.com/o/r/blame/main/src/store.c#L3", "src/store.c", 3),
        ("https://raw.githubusercontent.com/o/r/main/src/store.c", "src/store.c", None),
        ("https://gitlab.com/o/r/-/raw/main/app/[slug]/page.tsx", "app/[slug]/page.tsx", None),
    ],
)
def test_paths_absolute_ones_and_links_are_paths(text: str, path: str, line: int | None):
    assert draw_evidence(f"Wrong\n{text}").paths == [(path, line, "https:" in text)]


REGISTRY = "/home/a/.cargo/registry/src"
GEMS = "/usr/lib/ruby/gems/3.2.0/gems"


@pytest.mark.parametrize(
    ("mentioned", "link", "found"),
    [
        ("/home/me/lib/python3.11/site-packages/black/linegen.py", False, ["src/black/linegen.py"]),
        ("/home/me/lib/python3.11/site-packages/numpy/core/utils.py", False, []),
        ("/build/numpy/core/utils.py", False, ["src/core/utils.py"]),
        ("C:/Users/me/proj/src/black/linegen.py", False, ["src/black/linegen.py"]),
        ("~/redis/src/redis.c", False, ["src/redis.c"]),
        ("linegen.py", False, ["src/black/linegen.py"]),
        ("other/lib/core/utils.py", True, []),
        ("src/core/utils.py", True, ["src/core/utils.py"]),
        ("v2/src/core/utils.py", True, ["src/core/utils.py"]),  # a branch with a slash in its name
        (f"{REGISTRY}/index.crates.io-6f17d22bba15001f/rope-1.5.1-alpha/src/rope.rs", False, []),
        ("rope-1.5.1-alpha/src/rope.rs", False, []),
        (f"{REGISTRY}/github.com-1ecc6299db9ec823/app_text-0.2.0/src/rope.rs", False, ["app-text/src/rope.rs"]),
        ("/build/app-text/src/rope.rs", False, ["app-text/src/rope.rs"]),
        ("/go/pkg/mod/github.com/a/web@v1.2.3/route.go", False, ["route.go"]),
        ("/go/pkg/mod/github.com/a/web@v1.2.3/tree/node.go", False, ["tree/node.go"]),
        ("/go/pkg/mod/github.com/b/other@v0.1.0/sub/route.go", False, []),
        (f"{GEMS}/shop-1.0.2/lib/shop.rb", False, ["lib/shop.rb"]),
        (f"{GEMS}/rack-2.2.4/lib/rack/shop.rb", False, []),
    ],
)
def test_a_path_of_another_machine_project_or_package(mentioned: str, link: bool, found: list[str]):
    paths = ["src/black/linegen.py", "src/core/utils.py", "src/redis.c", "app-text/src/rope.rs", "lib/shop.rb", "route.go"]
    paths.append("tree/node.go")
    assert [paths[number] for number in Resolver(paths).files(mentioned, link)] == found


TREE = {
    "lib/rules/prefer-const.js": "function create(context) { return check(context); }\n",
    "lib/rules/prefer-spread.js": "function create(context) { return invalid(context); }\nfunction invalid() {}\n",
    "lib/cop/trivial_accessors.rb": "class TrivialAccessors\n  def on_def(node)\n    node\n  end\nend\n",
    "lib/cop/other.rb": "class Other\n  def changes(node)\n    makes(node)\n  end\nend\n",
    "src/apply.py": "class Applicator:\n    def parse_config(self):\n        return 1\n",
    "src/other.py": "def config():\n    return parse()\n",
}


def test_what_an_issue_form_asks_is_not_evidence(tmp_path: Path):
    forms = tmp_path / ".github/ISSUE_TEMPLATE"
    forms.mkdir(parents=True)
    (forms / "bug.yml").write_text(
        "body:\n  - type: checkboxes\n    attributes:\n      options:\n"
        "        - label: I have searched the tracker for duplicates\n"
        "  - type: textarea\n    attributes:\n      label: Steps to reproduce\n"
    )
    (forms / "old.md").write_text("**Describe the bug**\nA clear and concise description.\n")
    (forms / "leads.md").symlink_to("/etc/hostname")
    issue = (
        "Steps to reproduce\n\n### Steps to reproduce\nopen the tracker\n- [x] I have searched the tracker for duplicates\n"
        "**Describe the bug**\nA clear and concise description.\n"
    )
    assert without_forms(issue, Repository(tmp_path)) == "Steps to reproduce\n\nopen the tracker"
    assert without_forms(issue, Repository(forms)) == issue


def first_file(root: Path, issue: str, tree: dict[str, str]) -> str:
    write(root, tree)
    return ranking_of(issue, Repository(root), root / "cache").files[0].candidate.path


SUPPORT = {
    "aiohttp/__init__.py": "",
    "aiohttp/test_utils.py": "class TestServer:\n    def close(self):\n        return self.runner.cleanup()\n",
    "aiohttp/web.py": "def run(server):\n    server.close()\n",
    "tests/__init__.py": "",
    "tests/test_utils.py": "class TestServer:\n    def close(self):\n        pass\n",
}


@pytest.mark.parametrize(
    ("issue", "first", "tree"),
    [
        ("prefer-const produces invalid autofix", "lib/rules/prefer-const.js", TREE),
        ("Style/TrivialAccessors makes changes", "lib/cop/trivial_accessors.rb", TREE),
        ("trivial accessors cop makes changes", "lib/cop/trivial_accessors.rb", TREE),
        ("applicator raises\n\n`parseConfig` of the object is wrong", "src/apply.py", TREE),
        ("TestServer does not close", "aiohttp/test_utils.py", SUPPORT),
    ],
)
def test_what_the_title_names_in_any_spelling_is_first(tmp_path: Path, issue: str, first: str, tree: dict[str, str]):
    assert first_file(tmp_path, issue, tree) == first


NOISE = """\
- Vite: 4.3.1
| node | v18.16.0 |
numpy==1.24.2
Python 3.11.2
- OS: Ubuntu on Windows
Redis version: unstable from today
=== REDIS BUG REPORT START: Cut & paste starting from here ===
------ INFO OUTPUT ------
Please report this crash by opening an issue"""


def test_versions_banners_and_tables_of_values_are_no_words_and_other_lines_stay():
    table = "\n".join(f"used_memory_{name}:{number}" for number, name in enumerate(["human", "rss", "peak", "lua", "scripts"]))
    wrong = [noise for noise in (*NOISE.splitlines(), table) if words(f"It\n{noise}\nstore leaks") != words("It\nstore leaks")]
    assert wrong == []
    for line in ("store.save(1.5)", "the sum of 1 and 2 is 4", "- [ ] the store leaks", "key: value", "--- a/store.c"):
        assert without_noise(line) == line


def test_a_name_of_a_letter_and_a_digit_is_a_name_and_the_parts_of_a_name_are_one_word(tmp_path: Path):
    tree = {f"a{number}.py": f"def f{number}(x):\n    return x\n" for number in range(1, 6)}
    issue = "f3 returns the wrong value"
    found = ranking_of(issue, Repository(write(tmp_path / "a", tree)), tmp_path / "cache")
    assert (found.files[0].candidate.path, says_little(found, issue)) == ("a3.py", False)
    shop = write(tmp_path / "b", {"shop.py": "def load_prices(path):\n    raise TypeError('the type of an error')\n"})
    for issue, little in (("TypeError", True), ("TypeError in load_prices of the shop", False)):
        found = ranking_of(issue, Repository(shop), tmp_path / "cache")
        assert found.words["error"] == found.words["type"] == 1
        assert says_little(found, issue) is little


ADAPTER = "function send(request) { return request.upload(request.size); }\n"
DATE = {".py": "def parse_date(s):\n    return int(s)\n", ".js": "export function parse_date(s) { return Date(s) }\n"}


@pytest.mark.parametrize(
    ("copy", "own"),
    [
        ("dist/app.js", "lib/adapter.js"), ("app.bundle.mjs", "lib/adapter.js"), ("node_modules/dates/date.js", "src/date.js"),
        ("web/bower_components/date.js", "web/src/date.js"), ("build/lib/shop/date.py", "shop/date.py"),
        ("venv/lib/python3.12/site-packages/shop/date.py", "shop/date.py"),
    ],
)  # fmt: skip
def test_what_is_built_or_installed_comes_last_unless_the_issue_names_its_path(tmp_path: Path, copy: str, own: str):
    code, issue = DATE[own[-3:]], "parse_date fails for 2020-13-01"
    tree = {copy: code, own: code}
    if own == "lib/adapter.js":
        tree, issue = {own: ADAPTER, copy: ADAPTER + ADAPTER.replace("send", "again")}, "upload of a large request fails"
    assert first_file(tmp_path / "a", issue, tree) == own
    assert first_file(tmp_path / "b", f"{issue}\n\nSee {copy}:1", tree) == copy


SCRIPTS = {
    "src/waage.py": "class Waage:\n    def größe_prüfen(self, wert):\n        pass\n\n    def überlauf(self):\n        pass\n",
    "src/kago.py": "def 合計計算(品目):\n    pass\n\n\ndef 合計(品目):\n    pass\n\n\ndef total_price(a):\n    pass\n",
    "src/Zähler.java": "class Zähler {\n  int alsÜbersicht(int a) {\n  }\n  int другое(int a) {\n  }\n}\n",
    "src/marks.py": "def योग_निकालो(a):\n    pass\n\n\ndef บันทึก(a):\n    pass\n",
    "src/счёт.py": "class Счётчик:\n    def посчитать_сумму(self):\n        pass\n\n\ndef find_file(x):\n    pass\n",
    "src/fatura.py": "class Fatura:\n    def İptalEt(self):\n        pass\n\n    def başka(self):\n        pass\n",
    "src/other.py": "def unrelated(a):\n    pass\n",
}


@pytest.mark.parametrize(
    ("issue", "function"),
    [
        ("посчитать_сумму returns 0", "src/счёт.py::Счётчик.посчитать_сумму"),
        ("größe_prüfen returns True for 4", "src/waage.py::Waage.größe_prüfen"),
        ("gro\u0308\u00dfe_pru\u0308fen returns True", "src/waage.py::Waage.größe_prüfen"),  # decomposed, as macOS writes it
        ("Falsch\n\nDie Methode `Waage.überlauf` wird nie gerufen", "src/waage.py::Waage.überlauf"),
        ("alsUebersicht and alsÜbersicht are wrong", "src/Zähler.java::Zähler.alsÜbersicht"),
        ("другое(3) is wrong", "src/Zähler.java::Zähler.другое"),
        ("合計計算の結果が間違っている", "src/kago.py::合計計算"),
        ("购物车的total_price方法返回错误", "src/kago.py::total_price"),
        ("योग_निकालो(3) is wrong", "src/marks.py::योग_निकालो"),
        ("บันทึกผิดพลาด", "src/marks.py::บันทึก"),
        ("İptalEt returns 0", "src/fatura.py::Fatura.İptalEt"),  # whose lower case has a mark that is no letter
        ("".join(chr(ord(letter) + 0xFEE0) for letter in "total_price"), "src/kago.py::total_price"),  # full-width
    ],
)
def test_names_in_any_script_are_found_in_issue_and_code(tmp_path: Path, issue: str, function: str):
    found = ranking_of(issue, Repository(write(tmp_path / "r", SCRIPTS)), tmp_path / "cache")
    assert [one.candidate.entity for one in found.functions if one.candidate.columns.get("named_unique")] == [function]
    assert found.files[0].candidate.path == function.partition("::")[0]
    assert found.functions[0].candidate.entity == function
    place = answer_of(issue, Repository(tmp_path / "r"), tmp_path / "cache")["places"][0]
    assert place["path"] == found.files[0].candidate.path


def test_a_trace_says_the_same_wherever_it_stands_in_a_log():
    log = [f"2026-11-28 12:{number % 60:02}:07 INFO store {number % 7} saved" for number in range(20_000)]
    rows = [json.dumps({"level": "info", "message": line}) for line in log]
    error, alone = json.dumps({"level": "error", "message": TRACEBACK.strip()}), draw_evidence(TRACEBACK)
    for text in (
        "\n".join([*log, TRACEBACK]), "\n".join([log[0], TRACEBACK, *log]), "\n".join([*rows, error, *rows]),
        f"[{', '.join([*rows, error, *rows])}]",
    ):  # fmt: skip
        evidence = draw_evidence(text)
        assert (evidence.frames, "t:cannot write twice" in evidence.literals) == (alone.frames, True)
        assert not {"info", "saved"} & set(evidence.title)
