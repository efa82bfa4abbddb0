"""Files as each system writes them, small and made by hand, and files that are none."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.names import Claim
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.evaluation.published import claims
from fusesearch.evaluation.published.claims import Published
from fusesearch.evaluation.published.formats import FORMATS, format_named


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


def test_locagent_names_entities_with_their_path(tmp_path):
    row = {"instance_id": "i", "found_files": ["a.py"], "found_modules": ["a.py:A"], "found_entities": ["a.py:A.f", "a.py"]}
    [said] = read("locagent", lines(tmp_path / "loc.jsonl", row | {"raw_output_loc": ["..."], "meta_data": {"repo": "o/n"}}))
    assert said == Published("i", ("a.py",), (Claim("a.py", "A.f"), Claim("a.py", "")))


def test_orcaloca_is_a_folder_with_a_file_for_each_instance(tmp_path):
    places = [
        {"file_path": "a.py", "class_name": "A", "method_name": "f"},
        {"file_path": "b.py", "class_name": "", "method_name": "g"},
        {"file_path": "b.py", "class_name": None, "method_name": ""},
        {"file_name": "c.py", "class_name": "C"},
        {"file_path": "", "class_name": "D", "method_name": ""},
    ]
    for instance, said in {"o__n-2": {"conclusion": "..."}, "o__n-1": {"bug_locations": places}}.items():
        (tmp_path / "run" / instance).mkdir(parents=True)
        (tmp_path / "run" / instance / f"searcher_{instance}.json").write_text(json.dumps(said))
        (tmp_path / "run" / instance / f"trace_analyzer_{instance}.json").write_text("no JSON")
    (tmp_path / "run" / "searcher_outside.json").symlink_to(tmp_path / "run/o__n-1/searcher_o__n-1.json")
    first, second = read("orcaloca", tmp_path / "run")
    assert (first.instance_id, first.files) == ("o__n-1", ("a.py", "b.py", "b.py", "c.py"))
    assert names(first) == [("a.py", "function", "A.f"), ("b.py", "function", "g"), ("c.py", "class", "C")]
    assert second == Published("o__n-2")


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_text("{}")])
def test_a_folder_without_orcaloca_output_is_rejected(tmp_path, make):
    make(tmp_path / "other.json")
    with pytest.raises(DataError, match="searcher_<instance>"):
        read("orcaloca", tmp_path / "other.json")


@pytest.mark.parametrize("name", ["agentless", "cosil", "locagent"])
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


def test_lines_have_a_longest_length(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "MAX_ROW_BYTES", 100)
    path = lines(tmp_path / "loc.jsonl", {"instance_id": "i" * 200})
    with pytest.raises(DataError, match="longer than 100 bytes"):
        read("cosil", path)


def test_rows_are_read_one_at_a_time(tmp_path):
    path = lines(tmp_path / "loc.jsonl", {"instance_id": "first"})
    with path.open("ab") as handle:
        handle.write(b"no JSON\n")
    answers = FORMATS["cosil"](path)
    assert next(answers).instance_id == "first"


def test_an_answer_is_cut_to_the_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "MAX_CLAIMS", 3)
    located = {"a.py": ["\n".join(f"function: f{number}" for number in range(10))]}
    row = {"instance_id": "i", "found_files": [f"{number}.py" for number in range(9)], "found_related_locs": located}
    [said] = read("cosil", lines(tmp_path / "loc.jsonl", row))
    assert (len(said.files), len(said.claims)) == (3, 3)


def test_a_missing_file_is_an_error(tmp_path):
    for name in FORMATS:
        with pytest.raises(DataError):
            read(name, tmp_path / "searcher_x.json")


def test_formats_are_found_by_name():
    assert format_named("cosil") is FORMATS["cosil"]
    with pytest.raises(ConfigError, match="agentless, cosil, locagent, orcaloca"):
        format_named("swe-agent")


@given(st.lists(st.text(), max_size=5))
def test_any_text_under_a_file_is_read_in_one_pass(blocks):
    found = list(claims.claims_of_file("a.py", blocks))
    written = [line for block in blocks for line in block.split("\n") if line.strip()]
    assert len(found) == len(written)
    assert all(len(claim.name) <= claims.MAX_TEXT for claim in found)
    assert all(claim.lines is None or claim.lines[0] <= claim.lines[1] for claim in found)
