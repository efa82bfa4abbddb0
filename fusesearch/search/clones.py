"""Bare clones: partial ones of remote repositories, with all commits and trees, and only those files that were requested; copies.

A clone is a bare repository in ``folder/clones``. A lock beside it lets one process at a time use it. It grows on demand: a
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
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

from fusesearch.core import child
from fusesearch.core.errors import RepositoryError
from fusesearch.core.storage import replacing_folder
from fusesearch.search.git import ID, Git, git_command, git_environment, one_line

TIMEOUT_SECONDS = 1800.0
"""Most wall time of one git command on a remote."""
PAUSE_SECONDS = 2.0
"""Pause between tries of a remote."""

_PROTOCOLS = ("https", "ssh", "file")
_ADDRESS = re.compile(r"(?:https|ssh)://(?:\w[\w.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?/[!-~]+|file:///[!-~]+", re.ASCII)
"""Nothing begins with a dash, and a password has no place."""
_SETTINGS = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60", "-c", "protocol.version=2")
_ONLY = ("--quiet", "--no-tags", "--recurse-submodules=no", "--filter=blob:none")


def address_on_github(repo: str) -> str:
    """Where git finds ``owner/name``: on the server that ``GITHUB_SERVER_URL`` names, as on GitHub's runners, or github.com."""
    return f"{os.environ.get('GITHUB_SERVER_URL', '').strip().rstrip('/') or 'https://github.com'}/{repo}.git"


@contextmanager
def open_clone(address: str, folder: Path, tries: int = 1) -> Iterator[Clone]:
    """The clone of ``address`` below ``folder``, created if needed and locked for this process.

    A remote that fails is asked ``tries`` times. Raises :class:`RepositoryError` on failure.
    """
    if not _ADDRESS.fullmatch(address):  # which is not shown, as it may hold a password
        raise RepositoryError("the server of repositories needs an https, ssh or file address, without a password in it")
    clone = Clone(address, folder, tries)
    clone.git_dir.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(clone.git_dir.with_suffix(".lock")):
        if not clone.git_dir.is_dir():
            clone.make()
        yield clone


class Clone:
    """The clone of one address; use :func:`open_clone`."""

    def __init__(self, address: str, folder: Path, tries: int) -> None:
        self.address = address
        self._tries, self._fresh = tries, False
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", address.removesuffix(".git").partition(":")[2]).strip("-.")[-60:]
        self.git_dir = folder / "clones" / f"{slug}-{hashlib.sha256(address.encode()).hexdigest()[:16]}.git"

    def have_commits(self, commits: Iterable[str]) -> set[str]:
        """Fetch missing commits by their full ids; returns those that the remote no longer has.

        Fetches the branches once, then commits on no branch by id: together if the remote has them all, else one by one.
        """
        given = set(commits)
        unclear = {commit for commit in given if not ID.fullmatch(commit)}
        missing = self._lacking(given - unclear)
        if missing:
            self.refresh()
            missing = self._lacking(missing)
        for together in (True, False):
            for group in [sorted(missing)] if together else [[commit] for commit in sorted(missing)]:
                with suppress(RepositoryError):  # missing ones are tried one by one, then given up
                    self._fetch_ids(group)
            missing = self._lacking(missing)
        return missing | unclear

    def refresh(self) -> None:
        """Update all branches from the remote, once."""
        if not self._fresh:
            self._trying(lambda: self._fetch(*_ONLY, "--no-write-fetch-head", "origin", "+refs/heads/*:refs/heads/*"))
            self._fresh = True

    def have_blobs(self, commits: Iterable[str], blobs: set[str] | None = None) -> None:
        """Fetch the missing files of ``commits`` (or trees), or only ``blobs`` of them, in one request."""
        with Git(self.git_dir) as git:
            missing = git.absent(commits)
        wanted = missing if blobs is None else missing & blobs
        # no negotiation, which is how git itself fetches objects of a partial clone
        self._trying(lambda: self._fetch_ids(wanted, "-c", "fetch.negotiationAlgorithm=noop"))

    def publish(self, target: Path, commits: Iterable[str]) -> None:
        """Copy the clone with all files of ``commits`` to ``target``, atomically, with hard links for its packs if possible."""
        self.have_blobs(commits)
        left = shutil.ignore_patterns("*.lock", "tmp_*", "hooks")
        with replacing_folder(target) as partial:
            shutil.copytree(self.git_dir, partial, copy_function=_link_objects, ignore=left)

    def _lacking(self, commits: Iterable[str]) -> set[str]:
        with Git(self.git_dir) as git:
            return git.lacking(commits)

    def _fetch_ids(self, ids: Iterable[str], *settings: str) -> None:
        """Fetch objects by id in one request, which fails if the remote lacks one of them."""
        if wanted := sorted(set(ids)):
            sent = "".join(f"{object_id}\n" for object_id in wanted)
            self._fetch(*_ONLY, "--no-write-fetch-head", "--stdin", "origin", settings=settings, sent=sent)

    def _trying(self, act: Callable[[], None]) -> None:
        """Repeat ``act`` when the remote fails."""
        for tries_left in reversed(range(self._tries)):
            try:
                return act()
            except RepositoryError:
                if not tries_left:
                    raise
                time.sleep(PAUSE_SECONDS)

    def make(self) -> None:
        """Clone the remote."""
        self._trying(self._make)

    def _make(self) -> None:
        options = ("--quiet", "--bare", "--filter=blob:none", "--template=", "--no-hardlinks")
        for left in self.git_dir.parent.glob(f".partial-*-{self.git_dir.name}"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        with replacing_folder(self.git_dir) as work:
            self._run([*git_command(work, *_SETTINGS), "clone", *options, "--", self.address, str(work)])

    def _fetch(self, *arguments: str, settings: tuple[str, ...] = (), sent: str = "") -> None:
        self._run(git_command(self.git_dir, *_SETTINGS, *settings, "fetch", *arguments), sent)

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


def clone_bare(git_dir: Path, target: Path) -> None:
    """Clone a local repository as a bare one, atomically, with hard links for its objects if possible."""
    with replacing_folder(target) as partial:
        command = ["git", "-c", "safe.directory=*", "clone", "--quiet", "--bare", "--template=", "--", str(git_dir), str(partial)]
        done = subprocess.run(command, env=git_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise RepositoryError(f"{git_dir}: {one_line(done.stderr) or 'git clone failed'}")


def _link_objects(source: str, target: str) -> None:
    """Link objects, which never change; copy everything else."""
    try:
        if f"{os.sep}objects{os.sep}" not in source:
            raise OSError
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _environment() -> dict[str, str]:
    """This process's environment without ``GIT_*``, with few protocols and without password prompts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_ASKPASS"))}
    silent = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20"}
    return {**kept, **silent, "GIT_ALLOW_PROTOCOL": ":".join(_PROTOCOLS), "LC_ALL": "C"}
