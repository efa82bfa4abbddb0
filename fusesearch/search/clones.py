"""Partial clones of remote repositories: all commits and trees, and only those files that were requested.

A clone is a bare repository in ``cache_dir/clones``. A lock beside it lets one process at a time use it. It grows on demand: a
missing commit is fetched by its id, and the blobs of a snapshot come in one request, not one by one as with git's lazy
fetching, which is off everywhere else (:func:`fusesearch.search.git.reading_environment`).

An address may be hostile: only https, ssh and file are allowed, nothing in it can become an option, no hook runs, nobody is
asked for a password, and each command has a time limit. Only these commands read the user's own git configuration, because it
has the proxies and credentials.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock

from fusesearch.core import child
from fusesearch.core.errors import RepositoryError
from fusesearch.search.eviction import folder_bytes, touch
from fusesearch.search.git import ID, Git, git_command, one_line
from fusesearch.search.repository import clipped

TIMEOUT_SECONDS = 1800.0
"""Most wall time of one git command on a remote."""

_PROTOCOLS = ("https", "ssh", "file")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_USER = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_SHORT = re.compile(r"(?P<user>[^@/:]*)@(?P<host>[^@/:]*):(?P<path>[^:].*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_][\w./+-]*", re.ASCII)
_SETTINGS = ("http.lowSpeedLimit=1000", "http.lowSpeedTime=60", "protocol.version=2")
_ONLY = ("--quiet", "--no-tags", "--recurse-submodules=no", "--filter=blob:none")


def is_address(source: Path | str) -> bool:
    """Whether ``source`` is the address of a remote repository of any kind; a :class:`Path` never is."""
    return isinstance(source, str) and ("://" in source or "::" in source or _SHORT.fullmatch(source) is not None)


def check_address(address: str) -> None:
    """Raise :class:`RepositoryError` unless the address is allowed."""
    if not address.isprintable() or " " in address:
        raise RepositoryError(f"{clipped(address)}: the address of a repository cannot contain spaces or control characters")
    if short := _SHORT.fullmatch(address):
        _check_host(address, short["user"], short["host"])
        if short["path"].startswith("-"):
            raise RepositoryError(f"{clipped(address)}: the path of a repository cannot begin with a dash")
        return
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - raises ValueError if it is not a number
    except ValueError:
        raise RepositoryError(f"{clipped(address)} is not the address of a repository") from None
    if parts.scheme not in _PROTOCOLS or not address.startswith(f"{parts.scheme}://"):
        raise RepositoryError(f"{clipped(address)}: only {', '.join(_PROTOCOLS)} repositories can be cloned")
    if parts.password is not None:
        raise RepositoryError(f"{parts.hostname}: leave the password out of the address; git's credential helper is asked for it")
    if parts.scheme != "file" or parts.netloc:
        _check_host(address, parts.username, parts.hostname or "")


def check_commit(commit: str) -> None:
    """Raise :class:`RepositoryError` unless ``commit`` looks like an id, a branch or a tag."""
    if not _NAME.fullmatch(commit) or ".." in commit:
        raise RepositoryError(f"{clipped(commit)!r} is not a commit, a branch or a tag")


@contextmanager
def open_clone(
    address: str, cache_dir: Path, attempt: Callable[[Callable[[], None]], None] = lambda act: act()
) -> Iterator[Clone]:
    """The clone of ``address`` below ``cache_dir``, locked for this process. ``attempt`` makes it if it does not exist.

    Raises :class:`RepositoryError` on failure.
    """
    check_address(address)
    for name in ("clones", "tmp"):
        (cache_dir / name).mkdir(parents=True, exist_ok=True)
    clone = Clone(address, cache_dir)
    with FileLock(clone.git_dir.with_suffix(".lock")):
        if not touch(clone.git_dir):
            attempt(clone.make)
        yield clone


class Clone:
    """The clone of one address; use :func:`open_clone`. ``commit_id`` is set by :meth:`need`."""

    def __init__(self, address: str, cache_dir: Path) -> None:
        self.address = address
        self.cache_dir = cache_dir
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", address.removesuffix(".git").partition(":")[2]).strip("-.")[-60:]
        self.git_dir = cache_dir / "clones" / f"{slug}-{hashlib.sha256(address.encode()).hexdigest()[:16]}.git"
        self.commit_id = ""
        self._before = folder_bytes(self.git_dir)

    def added(self) -> int:
        """Growth of the clone, in bytes on disk."""
        return folder_bytes(self.git_dir) - self._before

    def need(self, commit: str) -> None:
        """Fetch ``commit`` if it is missing and set ``commit_id``. A branch or tag is fetched again each time."""
        if ID.fullmatch(commit):
            if not self._has(commit):
                self._fetch(*_ONLY, "--no-write-fetch-head", "origin", commit)
            self.commit_id = commit
            return
        try:
            self._fetch(*_ONLY, "origin", commit)
            self.commit_id = (self.git_dir / "FETCH_HEAD").read_text(encoding="utf-8").split()[0]
        except RepositoryError:
            if not self._has(commit):  # servers do not know short ids
                raise
            self.commit_id = commit

    def fetch_blobs(self, tree_id: str, blobs: set[str]) -> None:
        """Fetch the missing ones of a tree's ``blobs`` in one request."""
        with Git(self.git_dir) as git:
            absent = sorted(git.absent(tree_id) & blobs)
        self.fetch_ids(absent, blobs=True)

    def refresh(self) -> None:
        """Update all branches from the remote."""
        self._fetch(*_ONLY, "--no-write-fetch-head", "origin", "+refs/heads/*:refs/heads/*")

    def fetch_ids(self, ids: Iterable[str], *, blobs: bool = False) -> None:
        """Fetch commits (or with ``blobs``, files) by id in one request, which fails if the remote lacks one of them."""
        if wanted := sorted(set(ids)):
            # no negotiation, which is how git itself fetches objects of a partial clone
            settings = ("-c", "fetch.negotiationAlgorithm=noop") if blobs else ()
            sent = "".join(f"{object_id}\n" for object_id in wanted)
            self._fetch(*_ONLY, "--no-write-fetch-head", "--stdin", "origin", settings=settings, sent=sent)

    def _has(self, commit: str) -> bool:
        with Git(self.git_dir) as git:
            try:
                git.resolve(commit)
            except RepositoryError:
                return False
        return True

    def make(self) -> None:
        """Clone the remote."""
        work = Path(tempfile.mkdtemp(dir=self.cache_dir / "tmp"))
        options = ("--quiet", "--bare", "--filter=blob:none", "--template=", "--no-hardlinks")
        try:
            self._run([*git_command(work / "git", *_configured()), "clone", *options, "--", self.address, str(work / "git")])
            os.rename(work / "git", self.git_dir)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _fetch(self, *arguments: str, settings: tuple[str, ...] = (), sent: str = "") -> None:
        self._run(git_command(self.git_dir, *_configured(), *settings, "fetch", *arguments), sent)

    def _run(self, command: list[str], sent: str = "") -> None:
        """Run git in a process group of its own, so that its helpers end with it."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, env=_environment(), stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            raise RepositoryError(f"git cannot be started: {error.strerror}") from None
        try:
            errors = process.communicate(sent.encode("ascii"), timeout=TIMEOUT_SECONDS)[1]
        except subprocess.TimeoutExpired:
            raise RepositoryError(f"{self.address}: no end after {TIMEOUT_SECONDS:.0f} s") from None
        finally:
            child.end(process)
        if process.returncode != 0:
            raise RepositoryError(f"{self.address}: {one_line(errors) or 'git failed'}")


def _configured() -> list[str]:
    return [part for setting in _SETTINGS for part in ("-c", setting)]


def _environment() -> dict[str, str]:
    """This process's environment without ``GIT_*``, with few protocols and without password prompts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_ASKPASS"))}
    silent = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20"}
    return {**kept, **silent, "GIT_ALLOW_PROTOCOL": ":".join(_PROTOCOLS), "LC_ALL": "C"}


def _check_host(address: str, user: str | None, host: str) -> None:
    if not _HOST.fullmatch(host) or (user is not None and not _USER.fullmatch(user)):
        raise RepositoryError(f"{clipped(address)}: {clipped(host)!r} is not a valid host name")
