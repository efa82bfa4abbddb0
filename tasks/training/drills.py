"""Drills in reading and repeating: lists of made-up definitions, and the same again in another order.

Once the beginning of a name is said, all that follows (its rest, its path, its line) can only be looked up above. A model
of four layers learns that from repeated lists many times faster than from code, where most words can be guessed.
"""

from __future__ import annotations

import random

from tasks.training.renaming import Names


def drill(draw: random.Random, pool: Names) -> str:
    """One list and its repetition; names are made of ``pool``."""
    paths = [_path(draw, pool) for _ in range(draw.randint(2, 5))]
    places = [(_name(draw, pool), draw.choice(paths), draw.randint(1, 1500)) for _ in range(draw.randint(6, 14))]
    told = [f"/repo/{path}:{line}:def {name}(" for name, path, line in places]
    draw.shuffle(places)
    asked = [f"{name} /repo/{path}, line {line}" for name, path, line in places]
    return "\n".join(told + asked)


def _name(draw: random.Random, pool: Names) -> str:
    words = [pool.draw(draw) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.25:
        return "".join(word[0].upper() + word[1:] for word in words)
    return draw.choice(("", "", "_")) + "_".join(words)


def _path(draw: random.Random, pool: Names) -> str:
    return "/".join(pool.draw(draw) for _ in range(draw.randint(1, 3))) + ".py"
