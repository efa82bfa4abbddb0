"""Writes bare git repositories in one stream; the SHAs of commits depend on their content alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fusesearch.core.errors import RepositoryError
from fusesearch.core.storage import replacing_folder
from fusesearch.search.git import git_environment

_WHO = "fusesearch <fusesearch@localhost> 1700000000 +0000"
_CONFIG = ("-c", "core.quotepath=off", "-c", "fastimport.unpackLimit=0", "-c", "pack.threads=1", "-c", "diff.algorithm=myers",
           "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false")  # fmt: skip

_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index", "--src-prefix=b/", "--dst-prefix=a/")
"""``-R`` makes the patch lead back to the parent and swaps the prefixes, which this swaps back."""


def write_repository(
    git_dir: Path, files: dict[str, bytes], changes: Mapping[str, Mapping[str, bytes]], message: str
) -> dict[str, tuple[str, str]]:
    """Write ``git_dir`` atomically: ``main`` holds ``files``, and each of ``changes`` is a commit on it.

    A change has a name, by which it is ``refs/instances/<name>``, and the content that each path gets. Returns (commit, patch)
    per name; the patch leads from the changed tree back to ``main``, and is empty for a change of no file.
    Raises :class:`RepositoryError` when git fails.
    """
    with replacing_folder(git_dir) as temporary:
        _git(None, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(temporary))
        _git(temporary, "fast-import", "--quiet", stdin=_stream(files, changes, message))
        return _commits_and_patches(temporary)


def _stream(files: dict[str, bytes], changes: Mapping[str, Mapping[str, bytes]], message: str) -> bytes:
    parts = [b"commit refs/heads/main\nmark :1\n", _header(message)]
    parts += [b"M 100644 inline " + _quoted(path) + b"\n" + _data(content) for path, content in sorted(files.items())]
    for name, changed in changes.items():
        parts += [f"commit refs/instances/{name}\n".encode(), _header(message), b"from :1\n"]
        parts += [b"M 100644 inline " + _quoted(path) + b"\n" + _data(content) for path, content in changed.items()]
    return b"".join(parts)


def _header(message: str) -> bytes:
    return f"author {_WHO}\ncommitter {_WHO}\n".encode() + _data(message.encode())


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _quoted(path: str) -> bytes:
    return b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _commits_and_patches(git_dir: Path) -> dict[str, tuple[str, str]]:
    """(commit, patch) per change, from one git process, because mining makes thousands."""
    refs = _git(git_dir, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/instances").decode().splitlines()
    commits = [line.split(" ", 1) for line in refs]
    listed = "".join(f"{commit}\n" for commit, _ in commits).encode()
    diff = _git(git_dir, "diff-tree", "--stdin", "-p", "-R", *_DIFF, stdin=listed).decode("utf-8", errors="surrogateescape")
    patches = dict(zip(*[iter(re.split(r"^([0-9a-f]{40})\n", diff, flags=re.MULTILINE)[1:])] * 2, strict=True))
    return {name: (commit, patches.get(commit, "")) for commit, name in commits}


def _git(git_dir: Path | None, *arguments: str, stdin: bytes | None = None) -> bytes:
    where = [f"--git-dir={git_dir}"] if git_dir else []
    command = ["git", *where, *_CONFIG, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, env=git_environment(), check=False)
    if done.returncode:
        raise RepositoryError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
    return done.stdout
