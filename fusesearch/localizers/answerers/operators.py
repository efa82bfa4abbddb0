"""Operators as names: ``==`` in Ruby, Swift and Scala, ``operator==`` in C++."""

from __future__ import annotations

import re

SIGN = re.compile(r"\[\]=?|[-+*/%^&|~!=<>]{1,3}")


def parts(name: str) -> tuple[str, str]:
    """What holds a name, and its last part: an operator may have a dot."""
    owner, dot, operator = name.rpartition(".operator")
    if dot:
        return owner, f"operator{operator}"
    owner, _, last = name.rpartition(".")
    return owner, last
