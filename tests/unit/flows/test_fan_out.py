"""What the environment says of the workers of a Ray cluster."""

import pytest

from flows.fan_out import workers_named
from fusesearch.core.errors import ConfigError


@pytest.mark.parametrize(("given", "workers"), [(None, 2), ("", 2), ("8", 8)])
def test_two_workers_unless_another_number_is_named(monkeypatch, given, workers):
    monkeypatch.delenv("FUSESEARCH_RAY_WORKERS", raising=False)
    if given is not None:
        monkeypatch.setenv("FUSESEARCH_RAY_WORKERS", given)
    assert workers_named() == workers


@pytest.mark.parametrize("given", ["two", "0", "-1", "1.5"])
def test_an_invalid_number_of_workers_is_one_clear_line(monkeypatch, given):
    monkeypatch.setenv("FUSESEARCH_RAY_WORKERS", given)
    with pytest.raises(ConfigError, match="FUSESEARCH_RAY_WORKERS is"):
        workers_named()
