"""MCP over streamable HTTP. Requests need the bearer token and a known name in Host and Origin."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from types import FrameType
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.authentication import AuthenticationMiddleware

from fusesearch.core.errors import InfrastructureError

PATH = "/mcp"
_OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
_GRACE_SECONDS = 1


@dataclass(frozen=True)
class BearerToken:
    """Accepts one token (a ``TokenVerifier`` of the SDK)."""

    value: str = field(repr=False)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The client, or None for a wrong token. Compares in constant time."""
        if not secrets.compare_digest(token.encode(), self.value.encode()):
            return None
        return AccessToken(token="", client_id="fusesearch", scopes=[])


def application(server: Server[Any], token: BearerToken, names: Sequence[str]) -> Starlette:
    """The ASGI application. Answers 401 without the token, 421 or 403 if Host or Origin is not in ``names`` (DNS rebinding)."""
    hosts = list(dict.fromkeys([*_OWN_NAMES, *map(_in_url, names)]))
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=_any_port(hosts), allowed_origins=_any_port(origins)
    )
    app = server.streamable_http_app(streamable_http_path=PATH, token_verifier=token, transport_security=security)
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(token))
    return app


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises :class:`InfrastructureError` when the port cannot be used."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InfrastructureError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def run(app: Starlette, listener: socket.socket, stop: Callable[[], None]) -> None:
    """Serve until a signal. Then ``stop`` must cancel the running calls; their replies get a second to go out."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    _Server(config, stop).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Cancels running calls before it waits for their connections: uvicorn alone would cut them off and log errors."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Silence the server's log from the signal on: streams end by themselves before the shutdown begins."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stop()
        await super().shutdown(sockets)


def address(host: str, listener: socket.socket) -> str:
    """The address to give to clients."""
    return f"http://{_in_url(host)}:{listener.getsockname()[1]}{PATH}"


def is_local(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _any_port(names: Sequence[str]) -> list[str]:
    return [form for name in names for form in (name, f"{name}:*")]


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
