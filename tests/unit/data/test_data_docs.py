"""docs/data.md names every rule, preset and key there is."""

from pathlib import Path

import pytest

from fusesearch.core.presets import FILTER_PRESETS
from fusesearch.data.filtering import RULES
from fusesearch.data.provenance import KEYS

PAGE = (Path(__file__).parents[3] / "docs/data.md").read_text()


@pytest.mark.parametrize("name", [*RULES, *FILTER_PRESETS, *KEYS])
def test_the_page_names_every_rule_preset_and_key(name):
    assert f"`{name}`" in PAGE
