"""The command line ``fusesearch``: one file per command, heavy imports inside the functions that need them."""

from __future__ import annotations

import gc
import os
import sys
import time

_STARTED = time.perf_counter()


def seconds_since_start() -> float:
    """How long whoever called the command has waited."""
    return time.perf_counter() - _STARTED


def main() -> None:
    """Entry point of the console script. Ctrl-C is one line also while modules are imported."""
    if sys.argv[1:] == ["hint"]:  # for hooks of coding agents alone, which wait for it
        from fusesearch.cli import hint

        return hint.main()
    if sys.getfilesystemencoding() != "utf-8" and os.name == "posix" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"  # paths in UTF-8 cannot be opened in this locale, and Python reads it as it starts
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # to look for some reads what every installed package says
    gc.set_threshold(100_000, 20, 20)  # the imports make many objects and no garbage
    try:
        from fusesearch.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("fusesearch: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # Python would search all objects for garbage once more as it ends: a second for the index of 100,000 files
