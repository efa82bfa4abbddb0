"""Blocks as HTML: what others wrote stays text, and a page can do nothing but be read."""

import base64
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.content.blocks import (
    Columns,
    Details,
    Frame,
    Heading,
    Links,
    Notice,
    Printed,
    Quote,
    Records,
    Text,
    Tile,
    Tiles,
)
from dashboards.view.static import Place, page, part
from tasks.reporting import charts
from tasks.reporting.table import Row, Table
from tests.fakes.html_seen import Seen

ANYTHING = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"]), max_size=60)
FIGURE = ' class="figure"'
PLACE = Place("Results", [("Results", "index.html")])
OURS = {
    "p",
    "b",
    "code",
    "dl",
    "div",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "pre",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "span",
}


def blocks_of(text):
    row = Row([text, text])
    tiles = Tiles([Tile(text, text, text)])
    return [Text(text), Notice(text), tiles, Quote(text, text), Printed(Table(text, [text, text], [row]))]


@given(ANYTHING)
def test_text_of_others_is_shown_as_it_is_and_makes_no_element(text):
    for block in blocks_of(text):
        seen = Seen(part(block))
        assert set(seen.tags) <= OURS
        shown = "".join(seen.text.split()).replace("`", "")
        assert "".join(text.split()).replace("`", "") in shown


@given(ANYTHING)
def test_a_whole_page_has_no_script_and_no_attribute_of_others(text):
    inner = [*blocks_of(text), Records(text, [{text or "x": text}]), Links(text, [(text, "a.html")]), Frame("", text, "b.html")]
    html = page(text, [Heading(text), Details(text, inner), Columns([inner, inner])], PLACE)
    seen = Seen(html)
    assert not {"script", "iframe", "object", "embed", "img", "form"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert {value for name, value in seen.attributes if name == "href"} <= {"#content", "index.html", "a.html", "b.html"}


def test_an_axis_says_hundreds_in_plain_numbers():
    rows = [{"name": "a", "x": x, "raw": 40.0 * x, "smooth": 40.0 * x} for x in range(20)]
    drawn = charts.svg(charts.lines(rows, "Step", "Tokens", ["a"], {}))
    labels = re.findall(r">(-?[\d.e+,]+)</text>", drawn)
    assert "700" in labels
    assert not [label for label in labels if "e" in label]


def test_small_and_large_numbers_are_printed_so_that_they_can_be_read():
    row = {"rate": 5e-05, "tokens": 23456.7, "loss": 2.345678, "owed": -1234.5, "lacks": None, "odd": float("inf")}
    html = page("t", [Records("c", [row])], PLACE)
    cells = re.findall(r'<t[hd](?: scope="row")?( class="figure")?>([^<]*)</t[hd]>', html)
    assert [text for _, text in cells[-6:]] == ["5e-05", "23,457", "2.346", "-1,234", "–", "inf"]  # noqa: RUF001
    assert [as_figure for as_figure, _ in cells[-5:]] == [FIGURE] * 4 + [""]
    assert FIGURE in part(Printed(Table("c", ["x", "y"], [Row(["r", "5e-05"])])))


def test_the_policy_of_a_page_allows_its_own_stylesheet():
    html = page("t", [], PLACE)
    sheet = re.search(r"<style>(.*?)</style>", html, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'" in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("71.2 [60.1, 80.3]", '71.2<span class="range">[60.1, 80.3]</span>'),
        ("+1.0 * [+0.2, +2.0] p=0.010", '+1.0 *<span class="range">[+0.2, +2.0] p=0.010</span>'),
        ("a [b]", "a [b]"),
    ],
)
def test_the_bracket_of_a_figure_stands_below_it(text, shown):
    assert shown in part(Printed(Table("c", ["x", "y"], [Row(["r", text])])))


def test_what_stands_between_backticks_is_code():
    assert "run <code>dvc repro &lt;x&gt;</code>" in part(Notice("run `dvc repro <x>`"))
    assert "one ` alone" in part(Notice("one ` alone"))
