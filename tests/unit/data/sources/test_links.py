"""Closing keywords in titles, bodies and commit messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.data.sources.links import closing_links, links, pull_number

KEYWORDS = ("close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Fixes #12", [12]),
        ("fixes: #12 and closes #3", [12, 3]),
        ("FIXED #7, fixed #7", [7]),
        ("closes O/R#4", [4]),
        ("closes other/repo#4", []),
        ("resolves https://github.com/o/r/issues/9.", [9]),
        ("resolves https://github.com/o/r/pull/9", []),
        ("resolves https://github.com/x/r/issues/9", []),
        ("see #12, prefixes #3, hotfix #4, unfixed #5", []),
        ("fixes 12, fixes #0, fixes #12a", []),
        ("Fixes GH-12, closes: gh-3", [12, 3]),
        ("fixes GH-0, fixes GH12, fixes NGH-4, fixes o/rGH-5, fixes GH-6a", []),
        ("<!-- fixes #1 --> fixes #2 <!-- fixes #3", [2]),
        ("`fixes #1` and\n```\nfixes #2\n```\nfixes #3", [3]),
        ("fixes\n#12", []),
        ("\n".join(f"{word} #{place}" for place, word in enumerate(KEYWORDS, 1)), list(range(1, len(KEYWORDS) + 1))),
        (None, []),
        ("", []),
    ],
)
def test_links(text, numbers):
    assert closing_links(text, "o/r") == numbers


def test_links_to_other_repositories_have_their_names_a_huge_text_is_read_and_a_squash_ends_with_its_number():
    assert closing_links("<!--" * 500_000 + "`" * 500_000 + "fixes #1", "o/r") == []
    assert (pull_number("Mend it (#12)"), pull_number("Mend (#12) it")) == (12, None)
    assert links("Fixes #1, closes old/name#2, fixes https://github.com/O/R/issues/3, fixes o/r#1", "o/r") == [
        ("o/r", 1), ("old/name", 2), ("o/r", 3),
    ]  # fmt: skip


PIECES = st.sampled_from(["fixes #7", "closes o/r#4", "#12", "fixes #0", "`", "```\n", "<!--", "-->", "~~~", "\n", " "])


@given(st.lists(PIECES | st.text(max_size=5), max_size=20).map("".join))
def test_numbers_found_in_any_text_stand_in_it(text):
    found = closing_links(text, "o/r")
    assert all(number > 0 and f"#{number}" in text for number in found)
    assert len(found) == len(set(found))
    assert closing_links("fixes #3\n" + text, "o/r")[0] == 3
