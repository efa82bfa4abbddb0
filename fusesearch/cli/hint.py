"""``fusesearch hint``: what a coding agent's hook says when the agent greps over the tree. It imports nothing, since agents wait.

Claude Code describes the call as JSON on stdin and takes JSON on stdout. A hint never stops a call.
"""

import json
import os
import re
import sys
from contextlib import suppress
from typing import Any

HINT = (
    "fusesearch knows this tree: its MCP tool `localize` names the files and functions of an issue or a question, `context` "
    "returns the code to read for it, or for a name its definitions, callers and tests. One call saves many greps."
)
_GREP = re.compile(r"(?:^|[;&|(]\s*)(?:(?:rg|ag|ack|git grep)\s|grep\s+(?:\S+\s+)*?-\w*[rR])")


def hint(given: str) -> str:
    """What to print about the call ``given`` as JSON; empty if it does not search folders."""
    with suppress(ValueError, TypeError, AttributeError, LookupError, OSError):
        call = json.loads(given)
        if _over_folders(call["tool_input"], call.get("cwd") or "."):
            return json.dumps({"hookSpecificOutput": {"hookEventName": call["hook_event_name"], "additionalContext": HINT}})
    return ""


def _over_folders(call: dict[str, Any], folder: str) -> bool:
    if isinstance(call.get("command"), str):
        return bool(_GREP.search(call["command"]))
    return os.path.isdir(os.path.join(folder, call.get("path") or "."))


def main() -> None:
    """Read the call, and print what there is to say."""
    with suppress(OSError, ValueError, AttributeError):  # streams may be closed or full, and the call is not text
        os.write(1, hint(sys.stdin.read(1 << 20)).encode())
