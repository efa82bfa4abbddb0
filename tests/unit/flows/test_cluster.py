"""What the environment says of a Ray cluster."""

import socket

import pytest

from flows.fan_out import cluster_address
from fusesearch.core.errors import ConfigError, InfrastructureError


def test_without_the_variable_there_is_no_cluster(monkeypatch):
    monkeypatch.delenv("FUSESEARCH_RAY", raising=False)
    assert cluster_address() == ""


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_a_cluster_that_is_not_there_is_told_at_once(monkeypatch, address):
    monkeypatch.setenv("FUSESEARCH_RAY", address)
    with pytest.raises(InfrastructureError, match=r"the Ray cluster at .*127\.0\.0\.1:9 does not answer"):
        cluster_address()


def test_an_address_with_a_listener_or_without_a_port_is_left_to_ray(monkeypatch):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        for address in (f"127.0.0.1:{listener.getsockname()[1]}", "local", "auto"):
            monkeypatch.setenv("FUSESEARCH_RAY", address)
            assert cluster_address() == address


def test_an_invalid_address_is_one_clear_line(monkeypatch):
    monkeypatch.setenv("FUSESEARCH_RAY", "head:port")
    with pytest.raises(ConfigError, match="FUSESEARCH_RAY is 'head:port'"):
        cluster_address()
