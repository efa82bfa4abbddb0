from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.localizers.ranker.evidence import MAX_NAMES, MAX_WORDS, draw_evidence

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


def frames(text: str) -> list[tuple[str, int, str | None]]:
    return [(frame.path.rpartition("/")[2], frame.line, frame.name) for frame in draw_evidence(text).frames]


def test_frames_of_a_python_traceback_end_with_the_innermost():
    assert frames(TRACEBACK)[-2:] == [("disk.py", 41, "save"), ("raw.py", 7, "write")]


def test_frames_of_javascript_java_go_rust_ruby_and_php_end_with_the_innermost():
    javascript = "Crash\n\nTypeError: x\n    at Store.write (/app/lib/raw.js:7:11)\n    at save (/app/lib/disk.js:41:3)\n"
    java = "Crash\n\n\tat org.pkg.Raw.write(Raw.java:7)\n\tat org.pkg.Disk.save(Disk.java:41)\n"
    go = "panic: x\n\nmain.write(0x1)\n\t/app/raw.go:7 +0x1d\nmain.save(...)\n\t/app/disk.go:41 +0x2\n"
    rust = "panic\n\n   1: pkg::raw::write\n             at src/raw.rs:7\n   2: pkg::disk::save\n             at src/disk.rs:41\n"
    ruby = "Crash\nraw.rb:7:in `write'\ndisk.rb:41:in `save'\n"
    php = "Crash\n#0 /app/Raw.php(7): Raw->write()\n#1 /app/Disk.php(41): Disk->save()\n"
    for text in (javascript, java, go, rust, ruby):
        assert [line for _, line, _ in frames(text)] == [41, 7]
    assert [line for _, line, _ in frames(php)] == [7, 41]


def test_a_link_to_a_line_gives_the_path_and_the_line():
    evidence = draw_evidence("Wrong\nsee https://github.com/o/r/blob/d47b9d0/src/pkg/raw.py#L68-L73 and lib/disk.py:12")
    assert evidence.paths == [("src/pkg/raw.py", 68), ("lib/disk.py", 12)]


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


def test_the_outermost_call_of_a_line_is_told_from_its_arguments():
    names = draw_evidence("nx.node_connectivity(nx.path_graph(4)) returns 0 but should be 1").names
    assert "outer" in names["node_connectivity"].kinds
    assert "outer" not in names["path_graph"].kinds


def test_names_that_the_example_defines_are_not_of_the_repository():
    names = draw_evidence("Wrong sum\n```python\ndef my_helper(a):\n    return a\nmy_helper(total_of(1))\n```").names
    assert "my_helper" not in names
    assert "total_of" in names


def test_messages_options_and_codes_are_literals():
    literals = draw_evidence(TRACEBACK + "\nwith --keep-open I get E1101 or fields.E305, a `no-member`").literals
    assert {"t:cannot write twice", "l:--keep-open", "l:e1101", "l:fields.e305", "l:no-member"} <= set(literals)


def test_words_of_chinese_issues_do_not_swallow_names():
    assert "node_connectivity" in draw_evidence("调用node_connectivity函数返回错误").words


def test_an_empty_issue_gives_nothing():
    assert draw_evidence(" \n ").words == {}


@given(st.text(max_size=400))
def test_any_text_gives_bounded_evidence(text: str):
    evidence = draw_evidence(text)
    assert len(evidence.words) <= MAX_WORDS
    assert len(evidence.names) <= MAX_NAMES
    assert all(weight > 0 for weight in evidence.words.values())
    assert draw_evidence(text) == evidence


@given(
    st.lists(
        st.sampled_from(["`", "```\n", "(", '"', ".", "a", 'File "', "\n", " ", ">>> ", "/", "x.py", ":1", "at ", "\t"]),
        max_size=60,
    )
)
def test_fragments_of_markup_never_raise_and_are_read_alike_twice(parts: list[str]):
    assert draw_evidence("".join(parts)) == draw_evidence("".join(parts))


def test_endless_lines_are_read_and_name_no_frame():
    for text in (
        "(" * 10**6,
        "a." * 500_000,
        "`" * 10**6,
        "x" * 10**6,
        "../" * 300_000 + "x.py",
        "```\n" * 250_000,
        "<!--" * 250_000,
    ):
        assert draw_evidence(text).frames == draw_evidence("").frames
