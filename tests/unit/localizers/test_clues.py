"""What an issue says about where to look."""

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.localizers.lexical.clues import draw_clues, frames_of, stem
from fusesearch.localizers.lexical.example import is_common, mentions_of, statements_of

TRACEBACK = """Crash in report

```
Traceback (most recent call last):
  File "/home/me/test_it.py", line 6, in <module>
    app.run()
  File "/home/me/venv/lib/python3.8/site-packages/tool/core.py", line 44, in run
    return self.step(3)
  File "/usr/lib/python3.8/json/decoder.py", line 12, in decode
    raise ValueError
ValueError: bad input
```
"""


def names(issue):
    return [name.text for name in draw_clues(issue).names]


def test_traceback_frames_come_in_order_without_the_standard_library():
    frames = frames_of(TRACEBACK)
    assert [(frame.path.rpartition("/")[2], frame.line, frame.name) for frame in frames] == [
        ("test_it.py", 6, "<module>"),
        ("core.py", 44, "run"),
    ]


def test_a_repository_folder_named_lib_is_not_the_standard_library():
    assert [frame.path for frame in frames_of('  File "lib/_base.py", line 3, in pad')] == ["lib/_base.py"]


def test_pytest_style_frames_are_frames():
    (frame,) = frames_of(" /usr/lib/python3.6/dist-packages/_pytest/compat.py:84: in getfuncargnames\n    x()\n")
    assert (frame.line, frame.name) == (84, "getfuncargnames")


def test_the_innermost_frame_is_the_first_name():
    assert names(TRACEBACK)[0] == "run"


def test_a_link_to_a_source_line_is_a_path_with_a_line():
    issue = "See https://github.com/o/r/blob/28e8c85/src/pkg/logging.py#L345 for it."
    assert draw_clues(issue).paths == [("src/pkg/logging.py", 345)]


def test_code_in_prose_is_told_from_words():
    found = names("The `merge_setting` helper and PreparedRequest ignore Accept headers, see pkg.utils.guess_json_utf for more")
    assert {"merge_setting", "PreparedRequest", "guess_json_utf"} <= set(found)
    assert not {"The", "helper", "headers", "Accept"} & set(found)


def test_names_the_example_defines_are_not_looked_for():
    issue = "Fixture broken\n\n```python\nimport pytest\n\ndef test_mine(tmp_path):\n    thing = make_thing(tmp_path)\n```\n"
    assert "make_thing" in names(issue)
    assert not {"test_mine", "thing"} & set(names(issue))


def test_title_words_weigh_more_and_keep_their_stem_only():
    words = dict(draw_clues("Symlinked directories not collected\n\nEach directory is skipped.").words)
    assert words == {"director": 4.0, "symlink": 3.0, "collect": 3.0, "skipp": 1.0}


def test_stems_join_forms_of_one_word():
    assert stem("ignores") == stem("ignored") == stem("ignoring")


@given(st.text(max_size=400))
def test_any_text_gives_clues(text):
    clues = draw_clues(text)
    assert all(name.text.isidentifier() for name in clues.names)
    assert mentions_of(statements_of(text)) == mentions_of(statements_of(text))


def test_statements_of_a_prompt_and_of_a_fence():
    assert statements_of("Bug\n>>> x = f(1)\n>>> for i in x:\n...     print(i)\n3") == ["x = f(1)", "for i in x:"]
    assert statements_of("Bug\n\n```python\nx = f(1)\nfor i in x:\n    g(i)\n```\nOutput: 3") == ["x = f(1)", "for i in x:"]


def mentioned(*statements):
    return [mention.name for mention in mentions_of(list(statements))]


def test_names_of_the_last_statement_come_first():
    assert mentioned("from pkg import make, solve", "m = make(3)", "sorted(solve(m))")[0] == "solve"


def test_a_method_on_a_result_comes_before_the_call_that_made_it():
    assert mentioned("Permutation([0, 1]).length()")[:2] == ["length", "Permutation"]


def test_a_method_knows_the_class_of_its_variable():
    first = mentions_of(["url = URL('http://a')", "print(url.get_authority())"])[0]
    assert (first.name, first.owner) == ("get_authority", "URL")


def test_text_in_strings_and_the_language_itself_are_no_names():
    assert mentioned("print(len('call(me)'))") == []
    assert is_common("sorted")
    assert not is_common("solve")
