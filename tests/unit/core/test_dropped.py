"""Which rows were dropped, readable again whatever an id holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.dropped import read_dropped, write_dropped
from fusesearch.core.errors import ArtifactError


@given(st.lists(st.text(st.characters(exclude_characters="\r\n"), min_size=1, max_size=300)))
def test_every_dropped_row_is_listed_with_its_rule_whatever_its_id(tmp_path, names):
    write_dropped(tmp_path / "dropped.csv", [(name, "short") for name in names])
    assert read_dropped(tmp_path / "dropped.csv") == {
        name[:200].encode("utf-8", "backslashreplace").decode(): "short" for name in names
    }


def test_another_file_is_named(tmp_path):
    (tmp_path / "dropped.csv").write_text("name\nx\n")
    with pytest.raises(ArtifactError, match=r"dropped\.csv lacks the columns"):
        read_dropped(tmp_path / "dropped.csv")
