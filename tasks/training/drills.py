"""Drills in reading and repeating: a list of made-up definitions, then the same places asked for by name and by line.

Once the beginning of a name is said, all that follows (its rest, its path, its line) can only be looked up above. A model
of four layers learns that from repeated lists many times faster than from code, where most words can be guessed. The names
of one drill are put together from few words, so that a word alone does not tell how its name goes on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tasks.training.renaming import Names


def drill_rows(count: int, pool: Names, tokenizer: Any, seed: int) -> Iterator[dict[str, list[int]]]:
    """``input_ids`` and ``labels`` of ``count`` drills; labels are -100 on the list that is told."""
    for number in range(count):
        told, asked = (tokenizer(text)["input_ids"] for text in drill(random.Random(f"{seed}-drill-{number}"), pool))
        yield {"input_ids": told + asked, "labels": [-100] * len(told) + asked}


def drill(draw: random.Random, pool: Names) -> tuple[str, str]:
    """The list that is told, of which nothing can be foreseen, and the lines that ask for all of it twice.

    Names are made of ``pool``.
    """
    words = [pool.draw(draw) for _ in range(draw.randint(6, 20))]
    paths = [_path(draw, words) for _ in range(draw.randint(2, 5))]
    names = list(dict.fromkeys(_name(draw, words) for _ in range(draw.randint(4, 9))))
    lines = draw.sample(range(1, 1500), len(names))
    places = [(name, draw.choice(paths), line) for name, line in zip(names, lines, strict=True)]
    told = [f"/repo/{path}:{line}:def {name}(" for name, path, line in places]
    asked = [f"{name} /repo/{path}, line {line}" for name, path, line in places]
    asked += [f"{line} of /repo/{path} has {name}" for name, path, line in places]
    draw.shuffle(asked)
    return "\n".join(told) + "\n", "\n".join(asked) + "\n"


def _name(draw: random.Random, words: list[str]) -> str:
    chosen = draw.choices(words, k=draw.randint(1, 4))
    if draw.random() < 0.25:
        return "".join(word[0].upper() + word[1:] for word in chosen)
    return draw.choice(("", "", "_")) + "_".join(chosen)


def _path(draw: random.Random, words: list[str]) -> str:
    return "/".join("_".join(draw.choices(words, k=draw.randint(1, 2))) for _ in range(draw.randint(1, 3))) + ".py"
