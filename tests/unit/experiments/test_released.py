"""Files as each system writes them, small and made by hand, and files that are none."""

import json
from pathlib import Path

import pytest

from experiments.evidence import released
from experiments.evidence.released import FORMATS, Published
from fusesearch.code.names import Claim
from fusesearch.core.errors import DataError
from fusesearch.evaluation import predictions


def lines(path: Path, *written: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in written), encoding="utf-8")
    return path


def read(name: str, path: Path) -> list[Published]:
    return list(FORMATS[name](path))


def names(said: Published) -> list[tuple[str, str, str]]:
    return [(claim.path, claim.kind, claim.name) for claim in said.claims]


def test_cosil_names_places_by_lines_under_each_file(tmp_path):
    located = {"a.py": ["class: Shop\nfunction: Shop.sell\n\nfunction: total"], "b.py": [""], "c.py": None}
    path = lines(tmp_path / "loc.jsonl", {"instance_id": "i-1", "found_files": ["b.py", "a.py"], "found_related_locs": located})
    [said] = read("cosil", path)
    assert said.files == ("b.py", "a.py")
    assert names(said) == [("a.py", "class", "Shop"), ("a.py", "function", "Shop.sell"), ("a.py", "function", "total")]
    assert [claim.within for claim in said.claims] == ["", "Shop", "Shop"]


def test_agentless_prefers_the_edit_locations_of_its_last_stage(tmp_path):
    row = {
        "instance_id": "i-1",
        "found_files": ["a.py"],
        "found_related_locs": {"a.py": ["class: Shop"]},
        "found_edit_locs": [{"a.py": ["function: Shop.sell\nline: 10-12"]}, {"a.py": "line: 7"}],
    }
    [said] = read("agentless", lines(tmp_path / "loc.jsonl", row))
    assert [(claim.name, claim.lines) for claim in said.claims] == [("Shop.sell", None), ("", (10, 12)), ("", (7, 7))]


@pytest.mark.parametrize("nothing", [{}, [], None, {"a.py": [""]}, [{"a.py": ["\n"]}]])
def test_agentless_falls_back_to_related_locations(tmp_path, nothing):
    row = {"instance_id": "i", "found_files": ["a.py"], "found_related_locs": {"a.py": ["class: A"]}, "found_edit_locs": nothing}
    [said] = read("agentless", lines(tmp_path / "loc.jsonl", row))
    assert names(said) == [("a.py", "class", "A")]


def test_old_agentless_files_stand_parallel_to_their_locations(tmp_path):
    row = {
        "instance_id": "i",
        "found_files": ["a.py", "b.py"],
        "found_related_locs": [["function: f"], ["function: g\nclass: C"]],
    }
    [said] = read("agentless", lines(tmp_path / "loc.jsonl", row))
    assert names(said) == [("a.py", "function", "f"), ("b.py", "function", "g"), ("b.py", "class", "C")]


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("- method: f()", Claim("a.py", "f()", "function")),
        ("Function : f", Claim("a.py", "f", "function")),
        ("line: 30 - 20", Claim("a.py", "", "line", (30, 30))),
        ("lines: 3\u20135", Claim("a.py", "", "line", (3, 5))),
        ("line: near the top", Claim("a.py", "near the top", "line")),
        ("variable: X", Claim("a.py", "X", "variable")),
        ("just words", Claim("a.py", "just words")),
        ("function:", Claim("a.py", "", "function")),
        ("class: A: the shop", Claim("a.py", "A: the shop", "class")),
    ],
)
def test_a_line_of_text_is_one_claim(tmp_path, line, claim):
    row = {"instance_id": "i", "found_files": [], "found_related_locs": {"a.py": [line]}}
    [said] = read("cosil", lines(tmp_path / "loc.jsonl", row))
    assert said.claims == (claim,)


@pytest.mark.parametrize("name", ["agentless", "cosil"])
@pytest.mark.parametrize(
    "bad",
    [
        b"{", b"[]", b'"text"', b"{}", b'{"instance_id": 3}', b'{"instance_id": "i", "found_files": "a.py"', b"\xff\xfe",
        b"[" * 100_000, b'{"instance_id": "i", "found_files": [' + b"[" * 100_000,
        b'{"instance_id": "\\ud800"}',
    ],
)  # fmt: skip
def test_an_invalid_row_is_an_error_that_names_its_line(tmp_path, name, bad):
    path = tmp_path / "loc.jsonl"
    path.write_bytes(b'{"instance_id": "fine"}\n\n' + bad + b"\n")
    with pytest.raises(DataError, match=r"loc\.jsonl:3: ") as caught:
        read(name, path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("row", [{"found_files": ["a", 3]}, {"found_files": {"a": 1}}, {"found_related_locs": {"a": 5}}])
def test_fields_of_another_type_are_an_error(tmp_path, row):
    path = lines(tmp_path / "loc.jsonl", {"instance_id": "i", **row})
    for name in ("agentless", "cosil"):
        with pytest.raises(DataError, match=r"loc\.jsonl:1: found_"):
            read(name, path)


def test_rows_and_answers_are_cut_to_the_limits(tmp_path, monkeypatch):
    long = lines(tmp_path / "long.jsonl", {"instance_id": "i" * 400})
    monkeypatch.setattr(predictions, "MAX_ROW_BYTES", 300)
    with pytest.raises(DataError, match="longer than 300 bytes"):
        read("cosil", long)
    monkeypatch.setattr(released, "MAX_CLAIMS", 3)
    located = {"a.py": ["\n".join(f"function: f{number}" for number in range(10))]}
    row = {"instance_id": "i", "found_files": [f"{number}.py" for number in range(9)], "found_related_locs": located}
    [said] = read("cosil", lines(tmp_path / "loc.jsonl", row))
    assert (len(said.files), len(said.claims)) == (3, 3)
