"""Weights of words from lists of candidates: messages of fixes teach the words, real issues what a place counts."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from fusesearch.localizers.ranker.lexicon import VERSION, issue_words, text_words

LEAST = 5
"""Texts that have a word at least, for it to get a weight of its own."""
BATCH, EPOCHS, RATE, DECAY = 32, 2, 3e-3, 0.02
ISSUE_BATCH, ISSUE_EPOCHS = 4, 3
WARM_UP = 50
LISTS_EACH = {"function": 280, "file": 90}
"""Most lists of a repository."""
NAMED = 0.5
"""Share of the lists that are left out where the message says the right name: issues do so less often than messages."""


@dataclass(frozen=True)
class Choice:
    """An issue or message, texts of candidates, and whether each is right."""

    repo: str
    issue: str
    texts: Sequence[str]
    right: Sequence[bool]


def read_lists(folder: Path, barred: Sequence[str] = ()) -> list[Choice]:
    """The mined lists of repositories, but not of those ``barred``; the first text of a list is the right one."""
    draw, found = random.Random(0), []
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem.replace("__", "/", 1) in barred:
            continue
        taken: Counter[str] = Counter()
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        draw.shuffle(rows)
        for row in rows:
            head = row["texts"][0].partition("\n")[0]
            name = head.rpartition("::")[2].rpartition(".")[2] if row["level"] == "function" else head.rpartition("/")[2]
            if taken[row["level"]] >= LISTS_EACH[row["level"]] or (name in row["message"] and draw.random() < NAMED):
                continue
            taken[row["level"]] += 1
            found.append(Choice(row["repo"], row["message"], row["texts"], [True] + [False] * (len(row["texts"]) - 1)))
    return found


def read_issues(path: Path) -> list[Choice]:
    """The lists of real issues, one of files and one of functions of each; those without a right candidate say nothing."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    lists = [
        Choice(row["repo"], row["issue"], row[level], row[f"right_{level}"]) for row in rows for level in ("files", "functions")
    ]
    return [one for one in lists if any(one.right)]


class Weights(nn.Module):
    """The score of :mod:`fusesearch.localizers.ranker.lexicon` with parameters; word 0 stands for all rare ones."""

    def __init__(self, lists: Sequence[Choice]) -> None:
        super().__init__()
        texts = {text for one in lists for text in one.texts}
        having = Counter(word for text in texts for word in text_words(text))
        self.words = ["", *sorted(word for word, times in having.items() if times >= LEAST)]
        self.number = {word: place for place, word in enumerate(self.words)}
        often = [2, *(having[word] for word in self.words[1:])]
        self.idf = torch.tensor([math.log(1 + len(texts) / (1 + times)) for times in often])
        self.raised = nn.Parameter(torch.zeros(len(often)))
        self.shared = nn.Parameter(torch.tensor([[1.0, 0.7, 0.4], [0.6, 0.3, 0.0]]))
        self.place = nn.Parameter(torch.tensor([0.5, 0.0]))
        self.power, self.length, self.sharp = (nn.Parameter(torch.tensor(value)) for value in (0.5, 0.0, 0.0))

    def counted(self, one: Choice) -> Counted | None:
        """What the score needs of a list; None for an issue without words."""
        asked = [(word, place, self.number.get(word, 0)) for word, place in issue_words(one.issue).items()]
        texts = [text_words(text) for text in one.texts]
        hits = [
            (column, number, place, words[word])
            for column, words in enumerate(texts)
            for word, place, number in asked
            if word in words
        ]
        if not hits:
            return None
        return Counted(
            torch.tensor([(number, place) for _, place, number in asked]).T,
            torch.tensor(hits).T,
            torch.tensor([math.log(max(1, len(words))) for words in texts]),
            torch.tensor(one.right).float(),
        )

    def forward(self, one: Counted) -> torch.Tensor:
        """The scores of a list: (candidates,)."""
        weights = self.idf * torch.exp(self.raised)
        numbers, places = one.asked
        columns, words, at, inside = one.hits
        total = (weights[numbers] * torch.exp(self.place)[places]).sum() ** torch.sigmoid(self.power)
        sums = torch.zeros(len(one.sizes)).index_add(0, columns, weights[words] * torch.exp(self.shared)[at, inside])
        return torch.exp(self.sharp) * sums / total - self.length * one.sizes

    def document(self, provenance: dict[str, object]) -> str:
        """The lexicon as a file."""
        with torch.no_grad():
            weights = (self.idf * torch.exp(self.raised)).tolist()
            head = {
                "version": VERSION,
                "shared": [[round(value, 4) for value in row] for row in torch.exp(self.shared + self.sharp).tolist()],
                "place": [round(value, 4) for value in torch.exp(self.place).tolist()],
                "power": round(torch.sigmoid(self.power).item(), 4),
                "length": round(self.length.item(), 4),
                "rare": round(weights[0], 3),
                "provenance": provenance,
            }
        lines = (f"{word} {weight:.4g}" for word, weight in zip(self.words[1:], weights[1:], strict=True))
        return "\n".join([json.dumps(head), *lines]) + "\n"


@dataclass(frozen=True)
class Counted:
    """A list in numbers: words of the issue with their places; shared words by candidate, with both places; sizes; labels."""

    asked: torch.Tensor
    hits: torch.Tensor
    sizes: torch.Tensor
    right: torch.Tensor


def fit(model: Weights, lists: Sequence[Choice], batch: int, epochs: int, *, words: bool) -> float:
    """Lower the cross-entropy of the right candidates, by all parameters or by all but the weights of words; the last mean."""
    counted = [one for one in map(model.counted, lists) if one]
    few = [model.shared, model.place, model.power, model.length, model.sharp]
    groups = [{"params": few, "lr": 3 * RATE, "weight_decay": 0.0}]
    if words:
        groups.append({"params": [model.raised], "lr": RATE, "weight_decay": DECAY})
    optimizer, draw, losses = torch.optim.AdamW(groups), random.Random(0), []
    rates = [group["lr"] for group in optimizer.param_groups]
    steps = epochs * (len(counted) // batch)
    for step, part in enumerate(_batches(counted, batch, epochs, draw)):
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * min(1.0, (step + 1) / WARM_UP) * (1 - step / steps)
        loss = torch.stack([-(torch.log_softmax(model(one), 0) * one.right / one.right.sum()).sum() for one in part]).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return math.fsum(losses[-200:]) / max(1, len(losses[-200:]))


def _batches(lists: Sequence[Counted], batch: int, epochs: int, draw: random.Random) -> Iterator[Sequence[Counted]]:
    for _ in range(epochs):
        order = draw.sample(range(len(lists)), len(lists))
        for start in range(0, len(order) - batch + 1, batch):
            yield [lists[place] for place in order[start : start + batch]]


def first_right(model: Weights, lists: Sequence[Choice]) -> float:
    """The share of lists whose first candidate by the score is right; draws count as wrong."""
    right = []
    with torch.inference_mode():
        for one in lists:
            counted = model.counted(one)
            scores = model(counted) if counted else torch.zeros(1)
            right.append(bool(counted and counted.right[scores == scores.max()].min() > 0))
    return sum(right) / max(1, len(right))


def learned(folder: Path, issues: Path, without: Sequence[str], held_out: Sequence[str]) -> tuple[str, dict[str, float]]:
    """The lexicon as a file, and the share of lists whose first candidate is right, after each step."""
    lists, real = read_lists(folder, without), read_issues(issues)
    taught, judged = ([one for one in lists if (one.repo in held_out) is held] for held in (False, True))
    model = Weights(lists)
    figures = {"held out, before": first_right(model, judged), "issues, before": first_right(model, real)}
    fit(model, taught, BATCH, EPOCHS, words=True)
    figures |= {"held out, words": first_right(model, judged), "issues, words": first_right(model, real)}
    fit(model, real, ISSUE_BATCH, ISSUE_EPOCHS, words=False)
    figures["issues, words and places"] = first_right(model, real)
    about = {
        "words": {"lists": len(taught), "repositories": dict(sorted(Counter(one.repo for one in taught).items()))},
        "places": {"lists": len(real), "repositories": dict(sorted(Counter(one.repo for one in real).items()))},
        "seed": 0,
    }
    return model.document(about), figures
