"""Drills in looking things up: a list of made-up definitions, then queries for the same places by name and by line.

After the start of a name, everything that follows (the rest of the name, its path, its line) can only be copied from the list.
A model of four layers learns that from repeated lists many times faster than from code, where most words can be guessed. The
names of one drill combine a few words, so that one word alone does not determine the rest of a name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from fusesearch.training.nano.renaming import Names


def drill_rows(count: int, pool: Names, tokenizer: Any, seed: int) -> Iterator[dict[str, list[int]]]:
    """``input_ids`` and ``labels`` of ``count`` drills; labels are -100 for the list of definitions."""
    for number in range(count):
        texts = drill(random.Random(f"{seed}-drill-{number}"), pool)
        context, queries = (tokenizer(text)["input_ids"] for text in texts)
        yield {"input_ids": context + queries, "labels": [-100] * len(context) + queries}


def drill(draw: random.Random, pool: Names) -> tuple[str, str]:
    """Returns (context, queries): random definitions, then lines that repeat each of them twice, to be copied from the context.

    Names are made from ``pool``.
    """
    words = [pool.draw(draw) for _ in range(draw.randint(6, 20))]
    paths = [_path(draw, words) for _ in range(draw.randint(2, 5))]
    names = list(dict.fromkeys(_name(draw, words) for _ in range(draw.randint(4, 9))))
    lines = draw.sample(range(1, 1500), len(names))
    places = [(name, draw.choice(paths), line) for name, line in zip(names, lines, strict=True)]
    definitions = [f"/repo/{path}:{line}:def {name}(" for name, path, line in places]
    queries = [f"{name} /repo/{path}, line {line}" for name, path, line in places]
    queries += [f"{line} of /repo/{path} has {name}" for name, path, line in places]
    draw.shuffle(queries)
    return "\n".join(definitions) + "\n", "\n".join(queries) + "\n"


def _name(draw: random.Random, words: list[str]) -> str:
    chosen = draw.choices(words, k=draw.randint(1, 4))
    if draw.random() < 0.25:
        return "".join(word[0].upper() + word[1:] for word in chosen)
    return draw.choice(("", "", "_")) + "_".join(chosen)


def _path(draw: random.Random, words: list[str]) -> str:
    return "/".join("_".join(draw.choices(words, k=draw.randint(1, 2))) for _ in range(draw.randint(1, 3))) + ".py"
