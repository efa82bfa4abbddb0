"""What an issue says about where to look."""

from fusesearch.localizers.lexical.clues import frames_of, stem
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


def test_frames_come_in_order_without_the_standard_library_and_in_the_form_of_pytest():
    for text, expected in (
        (TRACEBACK, [("test_it.py", 6, "<module>"), ("core.py", 44, "run")]),
        ('  File "lib/_base.py", line 3, in pad', [("_base.py", 3, "pad")]),
        (" /usr/lib/python3.6/dist-packages/_pytest/compat.py:84: in getargs\n    x()\n", [("compat.py", 84, "getargs")]),
    ):
        assert [(frame.path.rpartition("/")[2], frame.line, frame.name) for frame in frames_of(text)] == expected


def test_statements_are_those_of_a_prompt_and_of_a_fence_and_stems_join_forms_of_one_word():
    prompt = "\n>>> x = f(1)\n>>> for i in x:\n...     print(i)\n3"
    for text in (prompt, "\n\n```python\nx = f(1)\nfor i in x:\n    g(i)\n```\nOutput: 3"):
        assert statements_of("Bug" + text) == ["x = f(1)", "for i in x:"]
    assert stem("ignores") == stem("ignored") == stem("ignoring")


def test_names_of_the_last_statement_come_first_and_text_in_strings_and_the_language_itself_are_none():
    for statements, first in (
        (["from pkg import make, solve", "m = make(3)", "sorted(solve(m))"], ["solve"]),
        (["Permutation([0, 1]).length()"], ["length", "Permutation"]),  # a method before the call that made its object
        (["print(len('call(me)'))"], []),
    ):
        assert [mention.name for mention in mentions_of(statements)][: len(first) or 1] == first
    method = mentions_of(["url = URL('http://a')", "print(url.get_authority())"])[0]
    assert (method.name, method.owner) == ("get_authority", "URL")
    assert (is_common("sorted"), is_common("solve")) == (True, False)
