"""Plan the change of a user's file, then make it: whole or not at all, and only if the file is still as it was planned."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fusesearch.cli.installing.edits import Edit, OtherEntry
from fusesearch.core.errors import DataError
from fusesearch.core.storage import replacing

MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class Change:
    """A file before and after; None where it does not exist. ``kept`` says why an entry of our name stays as it is.

    ``inside`` is the project that the file belongs to, if any.
    """

    path: Path
    edit: Edit
    before: bytes | None
    after: bytes | None
    kept: str = ""
    inside: Path | None = None

    @property
    def what(self) -> str:
        """What happens to the file, in a few words."""
        if self.kept:
            return f"its entry `fusesearch` is kept: {self.kept}"
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "new"
        if self.after is None:
            return "deleted: nothing else is in it"
        return "changed"


def planned(path: Path, edit: Edit, *, undo: bool, inside: Path | None = None) -> Change:
    """The change that ``edit`` makes of a file, or takes back. Raises :class:`DataError` if it cannot be made safely.

    ``inside``: the folder that must hold the file, wherever links lead.
    """
    if inside is not None and not path.resolve().is_relative_to(inside.resolve()):
        raise DataError(f"{path} leads out of the project")
    before = _read(path)
    try:
        text = None if before is None else before.decode("utf-8")
        after = None if undo and text is None else edit.take(text or "") if undo else edit.put(text)
    except OtherEntry as other:
        return Change(path, edit, before, before, kept=str(other))
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text: correct it, then run this again") from None
    except DataError as error:
        raise DataError(f"{path}: {error}: correct it, then run this again") from None
    return Change(path, edit, before, None if after is None else after.encode(), inside=inside)


def make(change: Change) -> None:
    """Write or delete the file; links stay, and so do its permissions. Raises :class:`DataError` or :class:`OSError`."""
    path = change.path.resolve()
    if _read(path) != change.before:
        raise DataError(f"{change.path} was changed by another program meanwhile: run this again")
    if change.after is None:
        path.unlink()
        if change.inside is not None and path.parent != change.inside.resolve():
            with suppress(OSError):  # the folder has other files
                path.parent.rmdir()
        return
    with replacing(path) as temporary:
        temporary.touch(0o600 if change.before is not None else 0o666)
        temporary.write_bytes(change.after)
        if change.before is not None:
            shutil.copymode(path, temporary)


def _read(path: Path) -> bytes | None:
    if not path.exists():
        return None
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} is not a file of settings")
    return path.read_bytes()
