"""What the environment says of a Ray cluster."""

import socket

import pytest

from flows.fan_out import check_reachable, workers_named
from tasks.core.errors import ConfigError, InfrastructureError


@pytest.mark.parametrize(("given", "workers"), [(None, 2), ("", 2), ("8", 8)])
def test_two_workers_unless_another_number_is_named(monkeypatch, given, workers):
    monkeypatch.delenv("FUSESEARCH_RAY_WORKERS", raising=False)
    if given is not None:
        monkeypatch.setenv("FUSESEARCH_RAY_WORKERS", given)
    assert workers_named() == workers


@pytest.mark.parametrize("given", ["two", "0", "-1", "1.5"])
def test_what_is_no_number_of_workers_is_one_clear_line(monkeypatch, given):
    monkeypatch.setenv("FUSESEARCH_RAY_WORKERS", given)
    with pytest.raises(ConfigError, match="FUSESEARCH_RAY_WORKERS is"):
        workers_named()


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_a_cluster_that_is_not_there_is_told_at_once(address):
    with pytest.raises(InfrastructureError, match=r"the Ray cluster at .*127\.0\.0\.1:9 does not answer"):
        check_reachable(address)


def test_an_address_with_a_listener_or_without_a_port_is_left_to_ray():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        check_reachable(f"127.0.0.1:{listener.getsockname()[1]}")
    check_reachable("local")
    check_reachable("auto")
    with pytest.raises(ConfigError, match="FUSESEARCH_RAY is 'head:port'"):
        check_reachable("head:port")
