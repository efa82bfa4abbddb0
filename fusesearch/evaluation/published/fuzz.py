"""Patches that git refuses and GNU ``patch`` applies, as SWE-bench's harness does: with wrong counts or other context.

The harness tries ``git apply``, then ``patch --batch --fuzz=5 -p1``. That program itself applies the patch here, in a folder that
holds only the files that the patch names; ``git diff`` then says what it did.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from fusesearch.core.errors import DataError, InfrastructureError
from fusesearch.data.patches import named_paths
from fusesearch.data.truth import Reader
from fusesearch.search.git import git_environment, one_line

SECONDS = 20
MAX_FILES = 200
MAX_CHARS = 64 << 20
"""Of all files that a patch names."""

_PATCH = ("--batch", "--fuzz=5", "-p1", "--get=0", "--no-backup-if-mismatch", "--reject-file=-")
_ED = re.compile(r"^[ \tX]*\d[\d,]*[acdis][\d,]*[ \t]*\r?$", re.MULTILINE)
"""What makes ``patch`` take a text for a script of ``ed``, which it then runs. Its option ``--unified`` does not prevent that."""
_DIFF = ("diff", "--no-index", "--no-prefix", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", "a", "b")


def as_applied(patch: str, read: Reader) -> str:
    """The same change as git writes it, for files of which ``read`` returns the text.

    Raises :class:`DataError` if the patch does not apply, :class:`InfrastructureError` if there is no program ``patch``.
    """
    names = named_paths(patch)
    if not names or _ED.search(patch):
        raise DataError("the patch names no file, or looks like a script of `ed`")
    if len(names) > MAX_FILES:
        raise DataError(f"the patch names more than {MAX_FILES} files")
    if (program := shutil.which("patch")) is None:
        raise InfrastructureError("SWE-bench's harness tries GNU patch next, which is not installed: install it and import again")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            _write(folder, {path: text for path in names if (text := read(path)) is not None})
            (folder / "patch").write_bytes(patch.encode("utf-8", "replace"))
            done = _run([program, *_PATCH, "--input=../patch"], folder / "b")
            if done.returncode or any(path.is_symlink() for path in (folder / "b").rglob("*")):
                raise DataError(one_line(done.stdout) or "the patch does not apply")
            done = _run(["git", "-c", "core.quotePath=false", *_DIFF], folder)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise DataError(f"the patch cannot be applied: {' '.join(str(error).split())[:200]}") from None
    text = done.stdout.decode("utf-8", "replace")
    return re.sub(r"^((?:rename|copy) (?:from|to) )[ab]/", r"\1", text, flags=re.MULTILINE)


def _write(folder: Path, files: dict[str, str]) -> None:
    """The files twice, below ``a`` and ``b``: ``patch`` changes the second."""
    if sum(map(len, files.values())) > MAX_CHARS:
        raise DataError(f"the files that the patch names have more than {MAX_CHARS >> 20} MiB")
    for side in ("a", "b"):
        (folder / side).mkdir()
        for path, text in files.items():
            (folder / side / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / side / path).write_bytes(text.encode("utf-8", "replace"))


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, cwd=folder, env=git_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=SECONDS, check=False,
    )  # fmt: skip
