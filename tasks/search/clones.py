"""Partial clones of remote repositories: all commits and trees, and of the files only those that were asked for.

A clone is bare and lies in ``cache_dir/clones``. One process at a time works on it, under a lock beside it. It grows by what
is asked: a commit it lacks is fetched by its id, and the blobs of a snapshot come in one request, not one by one as git's
own lazy fetching would. That is refused everywhere else (:func:`tasks.search.git.reading_environment`).

An address is data and may be hostile: only https, ssh and file are spoken, nothing in it is taken for an option, no hook
runs, nobody is asked for a password, and each command has a limit of time. The user's own git configuration is read for
these commands alone, since proxies and credentials stand there.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tasks.core.errors import RepositoryError
from tasks.search.eviction import folder_bytes, locked, touch
from tasks.search.git import ID, Git, git_command, one_line
from tasks.search.repository import shown

TIMEOUT_SECONDS = 1800.0
"""Wall time that one git command on a remote may take."""

_PROTOCOLS = ("https", "ssh", "file")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_USER = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_SHORT = re.compile(r"(?P<user>[^@/:]*)@(?P<host>[^@/:]*):(?P<path>[^:].*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_][\w./+-]*", re.ASCII)
_SETTINGS = ("http.lowSpeedLimit=1000", "http.lowSpeedTime=60", "protocol.version=2")
_ONLY = ("--quiet", "--no-tags", "--recurse-submodules=no", "--filter=blob:none")


def is_address(source: Path | str) -> bool:
    """Whether ``source`` is text that names a remote repository, of whatever kind; a :class:`Path` never is."""
    return isinstance(source, str) and ("://" in source or "::" in source or _SHORT.fullmatch(source) is not None)


def check_address(address: str) -> None:
    """Raise :class:`RepositoryError` unless the address is one that may be asked."""
    if not address.isprintable() or " " in address:
        raise RepositoryError(f"{shown(address)}: an address of a repository holds no spaces or control characters")
    if short := _SHORT.fullmatch(address):
        _check_host(address, short["user"], short["host"])
        if short["path"].startswith("-"):
            raise RepositoryError(f"{shown(address)}: the path of a repository cannot begin with a dash")
        return
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - raises ValueError when it is no number
    except ValueError:
        raise RepositoryError(f"{shown(address)} is no address of a repository") from None
    if parts.scheme not in _PROTOCOLS or not address.startswith(f"{parts.scheme}://"):
        raise RepositoryError(f"{shown(address)}: only {', '.join(_PROTOCOLS)} repositories can be cloned")
    if parts.password is not None:
        raise RepositoryError(f"{parts.hostname}: leave the password out of the address; git's credential helper is asked for it")
    if parts.scheme != "file" or parts.netloc:
        _check_host(address, parts.username, parts.hostname or "")


def check_commit(commit: str) -> None:
    """Raise :class:`RepositoryError` unless it has the form of an id, a branch or a tag."""
    if not _NAME.fullmatch(commit) or ".." in commit:
        raise RepositoryError(f"{shown(commit)!r} is not a commit, a branch or a tag")


@contextmanager
def opened(address: str, cache_dir: Path, attempt: Callable[[Callable[[], None]], None] = lambda act: act()) -> Iterator[Clone]:
    """The clone of ``address`` below ``cache_dir``, made if need be (by ``attempt``), for this process alone.

    Raises :class:`RepositoryError` when it cannot be had.
    """
    check_address(address)
    for name in ("clones", "tmp"):
        (cache_dir / name).mkdir(parents=True, exist_ok=True)
    clone = Clone(address, cache_dir)
    with locked(clone.git_dir.with_suffix(".lock")):
        if not touch(clone.git_dir):
            attempt(clone.make)
        yield clone


class Clone:
    """The clone of one address; use :func:`opened`. ``commit_id`` is set by :meth:`need`."""

    def __init__(self, address: str, cache_dir: Path) -> None:
        self.address = address
        self.cache_dir = cache_dir
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", address.removesuffix(".git").partition(":")[2]).strip("-.")[-60:]
        self.git_dir = cache_dir / "clones" / f"{slug}-{hashlib.sha256(address.encode()).hexdigest()[:16]}.git"
        self.commit_id = ""
        self._before = folder_bytes(self.git_dir)

    def added(self) -> int:
        """Bytes on disk by which the clone has grown."""
        return folder_bytes(self.git_dir) - self._before

    def need(self, commit: str) -> None:
        """Have ``commit`` in the clone, and its id in ``commit_id``. A branch or tag is asked for again each time."""
        if ID.fullmatch(commit):
            if not self._has(commit):
                self._fetch(*_ONLY, "--no-write-fetch-head", "origin", commit)
            self.commit_id = commit
            return
        try:
            self._fetch(*_ONLY, "origin", commit)
            self.commit_id = (self.git_dir / "FETCH_HEAD").read_text(encoding="utf-8").split()[0]
        except RepositoryError:
            if not self._has(commit):  # the short form of an id is nothing a server knows
                raise
            self.commit_id = commit

    def fetch_blobs(self, tree_id: str, blobs: set[str]) -> None:
        """Fetch those of a tree's ``blobs`` that the clone lacks, all in one request."""
        with Git(self.git_dir) as git:
            absent = sorted(git.absent(tree_id) & blobs)
        self.fetch_ids(absent, blobs=True)

    def refresh(self) -> None:
        """Have the remote's branches as they are now."""
        self._fetch(*_ONLY, "--no-write-fetch-head", "origin", "+refs/heads/*:refs/heads/*")

    def fetch_ids(self, ids: Iterable[str], *, blobs: bool = False) -> None:
        """Fetch commits, or with ``blobs`` files, by their ids in one request. One the remote lacks makes all of it fail."""
        if wanted := sorted(set(ids)):
            # Nothing is said about what is here: git itself fetches objects of a partial clone in this way.
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
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode != 0:
            raise RepositoryError(f"{self.address}: {one_line(errors) or 'git failed'}")


def _configured() -> list[str]:
    return [part for setting in _SETTINGS for part in ("-c", setting)]


def _environment() -> dict[str, str]:
    """This process's environment without ``GIT_*``, few protocols, and nobody who could be asked."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_ASKPASS"))}
    silent = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20"}
    return {**kept, **silent, "GIT_ALLOW_PROTOCOL": ":".join(_PROTOCOLS), "LC_ALL": "C"}


def _check_host(address: str, user: str | None, host: str) -> None:
    if not _HOST.fullmatch(host) or (user is not None and not _USER.fullmatch(user)):
        raise RepositoryError(f"{shown(address)}: {shown(host)!r} is no host that can be asked")
