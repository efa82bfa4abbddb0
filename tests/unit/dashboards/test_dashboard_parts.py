"""Parts as HTML: what others wrote stays text, and a page can do nothing but be read."""

import base64
import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.parts import Columns, Fold, Frame, Heading, Notice, Quote, attempt, document, html, whole
from fusesearch.core.errors import ArtifactError
from fusesearch.reporting.table import Row, Table
from tests.fakes.html_seen import Seen

ANYTHING = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"]), max_size=60)
NUMBER = ' class="figure"'
OURS = {"p", "b", "code", "figure", "figcaption", "pre", "div", "h2", "a", "details", "summary", "span"}
OURS |= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
PAGE = {"html", "head", "meta", "title", "style", "body", "header", "nav", "ul", "li", "main", "h1", "footer"}


def parts_of(text):
    return [text, Notice(text), Quote(text, text), Heading(text), Table(text, [text, text], [Row([text, text], link="a.html")])]


def page(title, parts):
    return document(title, parts, [("Results", "index.html")], "about", "Results")


@settings(max_examples=50)
@given(ANYTHING)
def test_text_of_others_is_shown_as_it_is_and_makes_no_element_or_attribute(text):
    for part in parts_of(text):
        assert "".join(text.split()).replace("`", "") in "".join(Seen(html(part)).text.split()).replace("`", "")
    seen = Seen(page(text, [Fold(text, parts_of(text)), Columns([parts_of(text), [Frame("", text, "b.html")]])]))
    assert set(seen.tags) <= OURS | PAGE
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert {value for name, value in seen.attributes if name == "href"} == {"#content", "index.html", "a.html", "b.html"}


def test_the_policy_of_a_page_allows_its_own_stylesheet_and_nothing_else():
    made = page("t", [])
    sheet = re.search(r"<style>(.*?)</style>", made, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'" in made


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("71.2 [60.1, 80.3]", f'<td{NUMBER}>71.2<span class="range">[60.1, 80.3]</span>'),
        ("+1.0 * [+0.2, +2.0] p=0.010", f'<td{NUMBER}>+1.0 *<span class="range">[+0.2, +2.0] p=0.010</span>'),
        ("5e-05", f"<td{NUMBER}>5e-05"),
        ("a [b]", "<td>a [b]"),
    ],
)
def test_numbers_are_aligned_and_their_interval_stands_below(text, shown):
    assert shown in html(Table("c", ["x", "y"], [Row(["r", text])]))


def test_text_between_backticks_is_code():
    assert "run <code>dvc repro &lt;x&gt;</code>" in html(Notice("run `dvc repro <x>`"))
    assert "one ` alone" in html(Notice("one ` alone"))


def lacking():
    yield "before"
    raise ArtifactError("a.csv is missing")


def test_missing_data_of_a_part_is_noted_once():
    assert list(attempt(lacking())) == ["before", Notice("a.csv is missing")]
    twice = (part for _ in range(2) for part in attempt(lacking()))
    assert list(whole(twice)) == ["before", Notice("a.csv is missing"), "before"]
