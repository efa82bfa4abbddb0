"""The server: HTTP/1.1 on this machine, with GitHub's headers, limits and ways to fail."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from graphql import GraphQLError

from tests.fakes.github_server.faults import Fault, Faults
from tests.fakes.github_server.schema import Answers, cost, document_of, stamp
from tests.fakes.github_server.world import Repository, World
from tests.fakes.local_server import Handler, QuietServer

HTML = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body></html>\r\n"


@dataclass
class Counts:
    """Counts of requests and points."""

    graphql: int = 0
    rest: int = 0
    points: int = 0
    not_modified: int = 0
    by_token: dict[str, int] = field(default_factory=dict)


class GitHubServer:
    """Serves a world to whoever has one of the accepted ``tokens``."""

    def __init__(self, world: World, git_root: Path, faults: Faults | None = None) -> None:
        self.world, self.git_root = world, git_root
        self.faults = faults or Faults()
        self.tokens = {"ghp_" + "a" * 36}
        self.counts = Counts()
        self.answers = Answers(world)
        self._lock = threading.Lock()
        self._http = QuietServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"github": self}))

    @property
    def url(self) -> str:
        """Address of the API."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def git_url(self) -> str:
        """Address below which git finds repositories."""
        return self.git_root.resolve().as_uri()

    @contextmanager
    def running(self) -> Iterator[GitHubServer]:
        """Serve within the context."""
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()

    def charge(self, token: str, points: int) -> None:
        """Count what a query cost."""
        with self._lock:
            self.counts.points += points
            self.counts.by_token[token] = self.counts.by_token.get(token, 0) + points


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    github: GitHubServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        if path.startswith("/app/installations/"):
            self._installation(path)
        elif (token := self._token()) and path == "/graphql":
            self.github.counts.graphql += 1
            self._graphql(token, json.loads(body))
        elif token:
            self._json(404, {"message": "Not Found"})

    def do_GET(self) -> None:
        token = self._token()
        if not token:
            return
        parts = urlsplit(self.path)
        self.github.counts.rest += 1
        fault = self.github.faults.draw()
        if not self._spoiled(fault):
            self._rest(parts.path, parse_qs(parts.query), fault)

    def _rest(self, path: str, query: dict[str, list[str]], fault: Fault | None) -> None:
        words = path.strip("/").split("/")
        repository = self.github.world.find("/".join(words[1:3])) if words[0] == "repos" and len(words) >= 3 else None
        if repository is None:
            self._json(404, {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"})
        elif repository.name.casefold() != "/".join(words[1:3]).casefold():
            location = f"{self.github.url}/{'/'.join(['repos', repository.name, *words[3:]])}"
            self._json(301, {"message": "Moved Permanently", "url": location}, {"Location": location})
        elif words[3:] == ["pulls"]:
            self._pulls(repository, query, fault)
        else:
            self._json(200, {"id": repository.id, "full_name": repository.name})

    def _pulls(self, repository: Repository, query: dict[str, list[str]], fault: Fault | None) -> None:
        size = int(query.get("per_page", ["30"])[0])
        newest = sorted(repository.pulls.values(), key=lambda pull: (pull.updated, pull.number), reverse=True)[:size]
        rows = [{"number": pull.number, "state": "closed", "updated_at": stamp(pull.updated)} for pull in newest]
        etag = 'W/"' + hashlib.sha256(json.dumps([repository.id, rows]).encode()).hexdigest() + '"'
        if self.headers.get("If-None-Match") == etag:
            self.github.counts.not_modified += 1
            self._send(304, b"", {"ETag": etag})
            return
        self._json(200, rows, {"ETag": etag}, fault)

    def _graphql(self, token: str, body: dict[str, Any]) -> None:
        fault = self.github.faults.draw()
        if self._spoiled(fault):
            return
        try:
            document = document_of(body["query"])
            points, nodes = cost(document, body["variables"])
        except GraphQLError as error:
            self._json(200, {"errors": [{"message": error.message, "extensions": {"code": "argumentLiteralsIncompatible"}}]})
            return
        if nodes > 500_000:
            self._json(200, {"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": f"{nodes} nodes"}]})
            return
        self.github.charge(token, points)
        rate = {"cost": points, "limit": 5000, "remaining": 4999, "used": 1, "resetAt": stamp(datetime.now(UTC))}
        self._json(200, self.github.answers.run(document, body["variables"], rate), fault=fault)

    def _spoiled(self, fault: Fault | None) -> bool:
        """Answer with the fault; False for those that spoil a good answer in transit."""
        if fault == "502":
            self._send(502, HTML, {"Content-Type": "text/html"})
        elif fault == "dropped":
            self.close_connection = True
            self.connection.close()
        return fault in ("502", "dropped")

    def _installation(self, path: str) -> None:
        """A token for an installation of an App, for any signed request."""
        if not str(self.headers.get("Authorization", "")).startswith("Bearer ey"):
            self._json(401, {"message": "A JSON web token could not be decoded"})
            return
        token = f"ghs_{path.split('/')[3]}"
        self.github.tokens.add(token)
        self._json(201, {"token": token, "expires_at": "2099-01-01T00:00:00Z", "permissions": {}, "repository_selection": "all"})

    def _token(self) -> str | None:
        token = str(self.headers.get("Authorization", "")).partition(" ")[2]
        if token in self.github.tokens:
            return token
        self._json(401, {"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"})
        return None

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None, fault: Fault | None = None) -> None:
        content = json.dumps(body).encode()
        if fault == "slow":
            time.sleep(0.2)
        self._send(status, content, {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, cut=fault == "cut")

    def _send(self, status: int, content: bytes, headers: dict[str, str], cut: bool = False) -> None:
        try:
            self.send_response(status)
            for name, value in {"X-GitHub-Media-Type": "github.v3; format=json", **headers}.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if cut else content)
            if cut:
                self.wfile.flush()
                self.close_connection = True
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
