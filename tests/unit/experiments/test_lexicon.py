"""The lexicon's study: lists from a history, and weights from lists."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.lexicon.learn import Choice, Weights, first_right, fit, read_lists
from experiments.lexicon.mine import message_of, mine
from fusesearch.localizers.ranker.lexicon import Lexicon
from tests.fakes.git import committed
from tests.fakes.git import git as _git

LISTS = [
    Choice("a/b", f"{word} breaks it", [f"{place}.py::{word}\nfound", f"{place}.py::other\nbreaks"], [True, False])
    for word in ("parser", "queue", "lexer", "buffer")
    for place in ("left", "right", "upper", "lower", "inner", "outer")
]


def test_words_that_tell_gain_weight_over_words_that_do_not(tmp_path: Path) -> None:
    model = Weights(LISTS)
    fit(model, LISTS, batch=8, epochs=30, words=True)
    (tmp_path / "lexicon.txt").write_text(model.document({"seed": 0}))
    known = Lexicon.read(tmp_path / "lexicon.txt")
    gained = {word: known.weights[word] / model.idf[model.number[word]] for word in ("parser", "breaks")}
    assert gained["parser"] > gained["breaks"]
    assert first_right(model, LISTS) == 1
    good, bad = known.scores(LISTS[0].issue, LISTS[0].texts)
    assert good is not None
    assert bad is not None
    assert good > bad  # the package scores as the study does


def test_places_alone_leave_the_weights_of_words(tmp_path: Path) -> None:
    model = Weights(LISTS)
    before = model.raised.tolist()
    fit(model, LISTS, batch=8, epochs=2, words=False)
    assert model.raised.tolist() == before


def test_messages_that_say_nothing_are_left_out() -> None:
    assert message_of("Merge branch 'main'") is None
    assert message_of("fix typo in the readme of the parser") is None
    assert (
        message_of("fix: queue drops the last job on restart (#1)\n\nSigned-off-by: A") == "queue drops the last job on restart"
    )


def test_a_history_gives_lists_whose_first_text_was_modified(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    files = {
        f"pkg/part{n}.py": "".join(f"def step{n}_{k}(job):\n    return job + {k}\n\n\n" for k in range(5)) for n in range(12)
    }
    committed(repo, files)
    for number, (path, text) in enumerate(sorted(files.items())):
        committed(repo, {path: text.replace("return job + 2", "return job - 2")})
        message = f"the second step of part {number} adds instead of taking away"
        _git(repo, "commit", "--amend", "-q", "-m", message)
    count = mine("a/repo", repo / ".git", tmp_path / "lists/a__repo.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "lists/a__repo.jsonl").read_text().splitlines()]
    assert len(rows) == count == 12
    assert all("_2\n" in row["texts"][0] and "return job + 2" in row["texts"][0] for row in rows)  # as it was before
    assert all(len(set(row["texts"])) == 8 for row in rows)
    assert {one.right.index(True) for one in read_lists(tmp_path / "lists")} <= {0}
    assert read_lists(tmp_path / "lists", ["a/repo"]) == []
