"""Files that are written whole or not at all, and journals of a killed process."""

import json

import pytest
from pydantic import ValidationError

from fusesearch.core.schema import Score
from fusesearch.core.storage import Journal, replacing, write_text


def test_an_error_while_writing_leaves_the_old_file_and_no_other(tmp_path):
    write_text(tmp_path / "a", "old")

    def fail():
        with replacing(tmp_path / "a") as path:
            path.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a", "old")]


def test_a_journal_goes_on_after_a_torn_line(tmp_path):
    path = tmp_path / "new/journal.jsonl"
    with Journal(path, key="key") as journal:
        journal.append({"key": "a", "n": 1})
    path.write_text(path.read_text() + '{"key": "b", "n"')
    with Journal(path, key="key") as journal:
        assert list(journal.rows) == ["a"]
        journal.append({"key": "c", "n": 3})
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "c"]


def test_a_record_with_an_unknown_field_is_rejected():
    with pytest.raises(ValidationError, match="recal"):
        Score.model_validate({"instance_id": "i", "recal": 1})
