"""The answer for people: which files it shows, what it says of them, and when it says that there is too little to go on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fusesearch.code.spans import FunctionSpan
from fusesearch.core.schema import Answer
from fusesearch.localizers.ranker.answer import Ranked, Ranking, as_answer, rank
from fusesearch.localizers.ranker.columns import Candidate
from fusesearch.localizers.ranker.features import Candidates
from fusesearch.localizers.ranker.places import FEW_FILES, fields_for_people, says_little
from fusesearch.localizers.ranker.reasons import Reason, joined
from fusesearch.localizers.ranker.trees import WEIGHTS, read_models


def ranking(
    files: list[float], functions: Sequence[tuple[int, float]] = (), columns: dict[str, float] | None = None, **words: int
) -> Ranking:
    found = [Ranked(Candidate(f"{number}.py", None, dict(columns or {})), sure) for number, sure in enumerate(files)]
    inside = [
        Ranked(Candidate(f"{file}.py", FunctionSpan(number + 1, number + 2, f"f{number}")), sure)
        for number, (file, sure) in enumerate(functions)
    ]
    return Ranking(found, inside, words)


def for_people(ranking: Ranking, issue: str, top: int | None = None) -> Answer:
    return as_answer(fields_for_people(ranking, issue, top))


def test_a_sure_ranking_answers_with_one_place_and_a_shared_one_with_more():
    sure = ranking([0.9, 0.05], [(0, 0.8), (0, 0.1), (1, 0.6)]).best()
    assert [location.entity for location in sure.modify] == ["0.py::f0"]
    shared = ranking([0.5, 0.45], [(0, 0.4), (1, 0.3), (0, 0.25), (1, 0.01)]).best()
    assert [location.entity for location in shared.modify] == ["0.py::f0", "1.py::f1", "0.py::f2"]
    assert ranking([0.2], [(0, 0.01)]).best().modify[0].entity == "0.py"
    assert ranking([], []).best().modify == []
    shown = ranking([0.5, 0.45, 0.1], [(0, 0.4), (1, 0.3)], NAMED)
    for top in (1, 2, 3):  # counts files, and leaves the scored set as it is
        found = for_people(shown, "", top)
        assert len(found.places) == top
        assert [one.entity for one in found.modify] == [one.entity for one in shown.best().modify]


@pytest.mark.parametrize(("sure", "files"), [
    ([0.9, 0.1, 0.1, 0.1, 0.1], 1), ([0.5] * 5, 5), ([0.5, 0.3, 0.3, 0.2, 0.05, 0.05, 0.05], 3), ([0.4, 0.15, 0.02], 1),
])  # fmt: skip
def test_an_answer_is_as_long_as_the_fall_of_its_probabilities_allows(sure, files):
    assert len(ranking(sure).best().files) == files


def test_an_answer_of_more_files_names_more_functions():
    inside = [(0, 0.5), (0, 0.2), (0, 0.2)]
    assert [len(ranking(sure, inside).best().functions) for sure in ([0.9], [0.9, 0.8, 0.7])] == [1, 3]


NAMED = {"defines_title": 1.0}


def test_at_most_five_files_each_with_at_most_three_functions_and_their_own_probability():
    found = for_people(ranking([0.7, 0.7, 0.1, 0.1, 0.1, 0.1], [(0, 0.9 - number / 10) for number in range(6)], NAMED), "")
    assert [place.path for place in found.places] == ["0.py", "1.py", "2.py", "3.py", "4.py"]
    assert [place.likely for place in found.places] == [True, False, False, False, False]
    assert [(one.function, one.confidence, one.lines) for one in found.places[0].functions] == [
        ("f0", 0.9, (1, 2)), ("f1", 0.8, (2, 3)), ("f2", 0.7, (3, 4)),
    ]  # fmt: skip
    assert found.places[1].functions == []


@pytest.mark.parametrize(
    ("columns", "sure", "likely"),
    [(NAMED, 0.7, True), (NAMED, 0.69, False), ({"all": 1.0}, 0.8, True), ({"all": 1.0}, 0.79, False)],
)
def test_words_alone_have_to_be_surer_than_a_name_to_be_acted_on(columns: dict[str, float], sure: float, likely: bool):
    assert for_people(ranking([sure, 0.1], [], columns, a=1, b=1, c=1), "").places[0].likely is likely


def test_the_reasons_of_a_file_are_never_those_of_its_function():
    file = Candidate("a.py", None, dict(NAMED), [Reason(4.0, "frame", "the last")])
    found = for_people(Ranking([Ranked(file, 0.9)], [Ranked(Candidate("a.py", FunctionSpan(1, 2, "f")), 0.5)]), "")
    assert found.places[0].reasons == ["named in the last frame of the traceback"]
    assert found.places[0].functions[0].reasons == []
    assert found.modify[0].reasons == []


def test_messages_whose_parts_go_on_are_put_together():
    for parts, whole in (
        ("", ""), ("abc", "abc"), ("abc bcd cde", "abcde"), ("abc xyz", "abc xyz"), ("aaa", "aaa"), ("abc bcd xyz", "abcd xyz"),
    ):  # fmt: skip
        found = joined([Reason(1.0, "message", " ".join(part)) for part in parts.split()])
        assert [reason.what.replace(" ", "") for reason in found] == whole.split()


@pytest.mark.parametrize(
    ("columns", "words", "little"),
    [
        ({}, {}, True),
        ({}, {"broken": 3}, True),
        ({}, {"memory": 1, "leak": 0}, True),
        ({}, {"a": 1, "b": 1, "c": 1}, False),
        ({}, {"a": 1, "b": 1, "c": 1, "d": 0, "e": 0, "f": 0, "g": 0}, True),
        ({"frame": 1.0}, {}, False),
        ({"defines_plain": 1.0}, {"broken": 1}, False),
    ],
)
def test_an_issue_says_little_if_it_names_nothing_and_shares_few_words(
    columns: dict[str, float], words: dict[str, int], little: bool
):
    found = ranking([0.9], [], columns, **words)
    assert says_little(found, "") is little


def test_what_running_text_has_by_chance_is_never_likely():
    for column in ("defines_plain", "phrase"):
        found = for_people(ranking([0.9], [(0, 0.8)], {column: 1.0}, broken=1), "broken")
        assert (found.confidence, found.places[0].likely, found.places[0].functions[0].confidence) == (0.5, False, 0.5)


def test_a_small_tree_is_surer_only_of_what_the_issue_names():
    file, function = read_models(WEIGHTS)
    for columns, lower in (({"all": 1.0, "title": 1.0}, True), ({"all": 1.0, "title": 1.0, "path_named": 1.0}, False)):
        candidates = Candidates([Candidate("a.py", None, columns), Candidate("b.py", None, {})], [])
        plain, padded = (rank(candidates, file, function, least).files[0].probability for least in (0, FEW_FILES))
        assert padded < plain if lower else padded == plain
