"""A confined read-only tree: maps virtual paths under ``/repo`` to the bytes of regular files below the root.

Confinement takes two steps. :meth:`Repository.resolve` follows every symbolic link and rejects a path that does not end
below the root. Opening then walks down from the root one component at a time without following links, so that a tree
that changes in between cannot lead outside either.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path, PurePosixPath

from fusesearch.core.errors import OutsideRootError, RepositoryError, ToolError
from fusesearch.core.stopping import check, checked
from fusesearch.core.systems import open_below
from fusesearch.core.text import decoded
from fusesearch.search import ripgrep
from fusesearch.search.git import tracked_files

VIRTUAL_ROOT = "/repo"

_LISTING_BYTES = 256 * 2**20
_MAX_PATH_CHARS = 1024
_FOLDERS_AT_ONCE = 1000
_CLOSE_NAMES = 3
_CLOSE_CANDIDATES = 5000


class Repository:
    """The tree below ``root``. Raises :class:`RepositoryError` if that is not a folder.

    Paths are *virtual* (``/repo/a/b.py``, as a model sees them) or *relative* (``a/b.py``, as in entities and answers). The
    tree does not include the folder ``.git``. :meth:`files` is cached: if the tree has changed, make a new object.
    ``history`` is the git directory and the commit that the tree is of, which may not exist.

    Searches find the files that git tracks, as the truth does: hidden ones (below a name with a leading dot) and those that an
    ignore file matches too. In a ``snapshot`` every file is tracked; in a folder with ``.git`` the index says which ones are.
    Of all other files, searches leave out the hidden and the ignored ones.

    Answers name the files that ``within`` allows, by default all (:mod:`fusesearch.localizers.ranker.within`).
    """

    def __init__(self, root: Path, snapshot: bool = False) -> None:
        self.root = Path(os.path.realpath(root))
        self.snapshot = snapshot
        if not self.root.is_dir():
            raise RepositoryError(f"{root} is not a folder that can be read")
        self.history = (self.root / ".git", "HEAD")
        self.within: Callable[[str], bool] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Repository({str(self.root)!r})"

    def resolve(self, virtual: str) -> Path:
        """Real path of a virtual, or relative, path, with all links followed.

        Raises :class:`OutsideRootError` if it leads outside the root, :class:`ToolError` if it does not exist or is malformed.
        """
        relative = self.relative(virtual)
        real = Path(os.path.realpath(self.root / relative))
        if not real.is_relative_to(self.root):
            raise self.outside(virtual)
        if any(part.lower() == ".git" for part in real.relative_to(self.root).parts):
            raise ToolError(f"{clipped(virtual)}: the folder .git cannot be searched or read")
        try:
            missing = stat.S_ISLNK(os.lstat(real).st_mode)
        except OSError as error:
            if error.errno == errno.EACCES:
                raise ToolError(f"{clipped(virtual)} cannot be read: {error.strerror}") from None
            missing = True
        if missing:
            close = self._close_names(relative)
            raise ToolError(f"no such file or folder: {clipped(virtual)}{f'; close: {close}' if close else ''}")
        return real

    def relative(self, virtual: str) -> str:
        """``a/b.py`` for ``/repo/a/b.py``, without looking at the disk. The root is ``""``."""
        if problem := _malformed(virtual):
            raise ToolError(f"the path {problem}")
        if virtual == VIRTUAL_ROOT or virtual.startswith(VIRTUAL_ROOT + "/"):
            return virtual[len(VIRTUAL_ROOT) :].strip("/")
        if virtual.startswith("/"):
            raise self.outside(virtual)
        path = str(PurePosixPath(virtual))
        return "" if path == "." else path

    def virtual(self, real: Path) -> str:
        """``/repo/a/b.py`` for a real path below the root. Raises :class:`OutsideRootError` for any other path."""
        if not real.is_relative_to(self.root):
            raise OutsideRootError(f"{real} is outside the repository {self.root}")
        return virtual_path(real.relative_to(self.root).as_posix())

    @property
    def in_git(self) -> bool:
        """Whether the root is the work tree of a git repository."""
        return os.path.lexists(self.root / ".git")

    def files(self) -> list[str]:
        """Relative paths of all files that a search can find, in path order, without links."""
        return self._listing[0]

    def is_visible(self, relative: str) -> bool:
        """Whether :meth:`files` has ``relative``."""
        return relative in self._listing[1]

    def allowed(self, relative: str) -> bool:
        """Whether an answer may name a file."""
        return self.within is None or self.within(relative)

    def read_text(self, relative: str) -> str:
        """Text of a file (:func:`~fusesearch.core.text.decoded`). Raises :class:`RepositoryError` if it is missing or outside."""
        try:
            return decoded(self.read_bytes(self.resolve(relative)))
        except ToolError as error:
            raise RepositoryError(str(error)) from None

    def read_bytes(self, real: Path, limit: int = ripgrep.MAX_FILE_BYTES) -> bytes:
        """First ``limit`` bytes of a file from :meth:`resolve`. Raises :class:`ToolError` unless it is a regular file."""
        return self._opened(self.virtual(real), real.relative_to(self.root).parts, limit)

    def read_listed(self, relative: str, limit: int = ripgrep.MAX_FILE_BYTES) -> bytes:
        """As :meth:`read_bytes`, faster for a path of :meth:`files`: no link led to it, so it is opened without resolving it."""
        if self.is_visible(relative):
            with suppress(ToolError):
                return self._opened(virtual_path(relative), tuple(relative.split("/")), limit)
        return self.read_bytes(self.resolve(relative), limit)

    def _opened(self, virtual: str, parts: tuple[str, ...], limit: int) -> bytes:
        name = clipped(virtual)
        try:
            descriptor = open_below(self.root, parts)
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {error.strerror}") from None
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                what = f"is a folder; glob with path {name} lists it" if stat.S_ISDIR(mode) else "is not a regular file"
                raise ToolError(f"{name} {what}")
            return _read(descriptor, limit)
        finally:
            os.close(descriptor)

    @cached_property
    def search_flags(self) -> list[str]:
        """Extra ripgrep flags for this tree, so that it opens no ignore file that is a link or a device and no huge file."""
        return sorted(set(_flags_needed(self.root, self.snapshot)))

    def walks(self, globs: list[str], place: str) -> list[list[str]]:
        """The arguments of the ripgrep runs that together reach every file of :meth:`files` in the folder ``place``.

        They reach other files too, because globs override ignore files.
        """
        if self.snapshot:
            return [[*self.search_flags, *ripgrep.ALL, *globs, "--", f"./{place}"]]
        inside = f"{place}/" if place else ""
        with self._lock:
            folders = sorted({path.rpartition("/")[0] for path in self._left_out if path.startswith(inside)})
        parts = [folders[start : start + _FOLDERS_AT_ONCE] for start in range(0, len(folders), _FOLDERS_AT_ONCE)]
        direct = [*ripgrep.ALL, ripgrep.MAX_FILE_SIZE, "--max-depth=1", *globs]
        first = [*self.search_flags, *globs, ripgrep.NO_HIDDEN, "--", f"./{place}"]
        return [first, *([*direct, "--", *(f"./{folder}" for folder in part)] for part in parts)]

    @property
    def _listing(self) -> tuple[list[str], frozenset[str]]:
        with self._lock:
            return self._listed

    @cached_property
    def _listed(self) -> tuple[list[str], frozenset[str]]:
        # as path_order, and faster: no name has a control character
        files = sorted([*self._walked, *self._left_out], key=lambda path: path.replace("/", "\0"))
        return files, frozenset(files)

    @cached_property
    def _walked(self) -> list[str]:
        """What ripgrep lists, without hidden and ignored files unless this is a snapshot."""
        sure = set(_flags_needed(self.root, self.snapshot, sizes=False))  # ripgrep asks for sizes faster
        shown = ripgrep.ALL if self.snapshot else [ripgrep.NO_HIDDEN]
        arguments = ["--files", "--null", ripgrep.MAX_FILE_SIZE, *sure, *shown]
        output = ripgrep.RipgrepRun().run([*arguments, "--", "./"], self.root, _LISTING_BYTES)
        names = (name.removeprefix(b"./") for name in output.stdout.split(b"\0")[:-1])
        return list(filter(None, map(clean_name, checked(names))))

    @cached_property
    def _left_out(self) -> list[str]:
        """Tracked files that ripgrep leaves out of its list, as far as they are regular files below the root."""
        if self.snapshot or not self.in_git:
            return []
        missing = set(filter(None, map(clean_name, tracked_files(self.root)))).difference(self._walked)
        return [path for path in missing if self._is_plain(path)]

    def _is_plain(self, path: str) -> bool:
        """Whether a search may read the file of a name from git's index: no link on the way, not huge, not in ``.git``."""
        parts = path.split("/")
        real = self.root.joinpath(*parts)
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or os.path.realpath(real) != str(real):
            return False
        try:
            status = os.lstat(real)
        except OSError:
            return False
        return stat.S_ISREG(status.st_mode) and status.st_size <= ripgrep.MAX_FILE_BYTES

    def outside(self, virtual: str) -> OutsideRootError:
        """The error for a path that does not begin with ``/repo``, with files of its name."""
        close = self._close_names(virtual, similar=False)
        hint = f"; close: {close}" if close else ""
        return OutsideRootError(f"{clipped(virtual)} is outside {VIRTUAL_ROOT}, with which every path begins{hint}")

    def _close_names(self, path: str, similar: bool = True) -> str:
        """Up to three files: those of the same name that share the most folders, then those with a similar name."""
        folders, _, name = path.rpartition("/")
        name = name.partition(":")[0][:100]
        wanted = folders.split("/")
        same = [file for file in self.files() if file == name or file.endswith("/" + name)]
        same.sort(key=lambda file: -len(set(wanted).intersection(file.split("/"))))
        by_name = {file.rpartition("/")[2]: file for file in self.files()[:_CLOSE_CANDIDATES]} if similar else {}
        found = [*same, *(by_name[close] for close in get_close_matches(name, by_name, _CLOSE_NAMES))]
        return ", ".join(clipped(virtual_path(file)) for file in list(dict.fromkeys(found))[:_CLOSE_NAMES])


def virtual_path(relative: str) -> str:
    """``/repo/a/b.py`` for ``a/b.py``."""
    return VIRTUAL_ROOT if relative in ("", ".") else f"{VIRTUAL_ROOT}/{relative}"


def path_order(relative: str) -> list[str]:
    """Sort key of ripgrep's ``--sort path``: by components, so that a folder's files stay together."""
    return relative.split("/")


def clean_name(name: bytes) -> str | None:
    """A file name as text; None if it is not UTF-8 or has control characters (such files are left out)."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None


def clipped(text: str, chars: int = 120) -> str:
    """``text`` as one printable line of at most ``chars`` characters, for messages."""
    line = "".join(character if character.isprintable() else "\ufffd" for character in text[: chars + 1])
    return line if len(line) <= chars else line[: chars - 1] + "…"


def _malformed(path: str) -> str | None:
    if len(path) > _MAX_PATH_CHARS:
        return f"has {len(path)} characters; at most {_MAX_PATH_CHARS} are possible"
    if not path.isprintable():
        return "holds a control character or an invalid one"
    return None


def _read(descriptor: int, limit: int) -> bytes:
    chunks = []
    while limit > 0 and (chunk := os.read(descriptor, min(limit, 1 << 20))):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)


def _flags_needed(root: Path, hidden: bool, sizes: bool = True) -> Iterator[str]:
    """``--no-ignore`` for each ``.gitignore`` that is not a regular file, because ripgrep would open the target of a link or
    FIFO of that name, and with ``sizes`` the size limit for each file above it. ``hidden`` folders are searched, or not."""
    folders = [str(root)]
    while folders:
        check()
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    folder = entry.is_dir(follow_symlinks=False)
                    if folder and (hidden or not entry.name.startswith(".")):
                        folders.append(entry.path)
                    elif not sizes and entry.name != ".gitignore":
                        continue
                    elif entry.is_file(follow_symlinks=False):
                        if sizes and entry.stat(follow_symlinks=False).st_size > ripgrep.MAX_FILE_BYTES:
                            yield ripgrep.MAX_FILE_SIZE
                    elif entry.name == ".gitignore" and not folder:
                        yield "--no-ignore"
        except OSError:
            continue
