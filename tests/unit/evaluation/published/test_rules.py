"""The rules of other evaluations, on cases worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.code.names import Claim
from tasks.evaluation.published import rules
from tasks.evaluation.published.claims import Published
from tasks.evaluation.quality import recall_at

TRUTH = ["a.py::Shop.sell", "a.py::Shop", "b.py::total", "setup.py"]


def said(*labels: str, files: tuple[str, ...] = ("a.py",)) -> Published:
    return Published("i", files, tuple(Claim("z.py", label, label=label) for label in labels))


def test_names_are_compared_without_their_files_classes_too():
    given_names, wanted = rules.names_by_name(said("Shop", "", "other", "Shop", "total"), TRUTH)
    assert given_names == ["Shop", "other", "total"]
    assert wanted == ["Shop", "Shop.sell", "total"]
    assert math.isclose(recall_at(given_names, wanted, 3), 2 / 3)


def test_files_are_compared_as_they_are_written_and_five_count():
    many = tuple(f"{number}.py" for number in range(9))
    assert rules.files_by_name(said(files=("./a.py", "a.py", "a.py")), TRUTH) == (
        ["./a.py", "a.py"], ["a.py", "b.py", "setup.py"],
    )  # fmt: skip
    assert rules.files_by_name(said(files=many), TRUTH)[0] == list(many[:5])
    assert rules.names_by_name(said(*"abcdefg"), TRUTH)[0] == list("abcde")


def test_without_a_file_no_name_counts_and_without_an_answer_nothing():
    assert rules.names_by_name(said("Shop", files=()), TRUTH)[0] == []
    assert rules.names_by_name(None, TRUTH)[0] == rules.files_by_name(None, TRUTH)[0] == []


def test_locagents_levels_derive_from_the_edited_entities():
    edited = ["a.py:Shop.sell", "a.py:Shop.buy", "b.py:total"]
    one = Published("i", ("a.py",), (Claim("a.py", "Shop.sell", label="a.py:Shop.sell"),), ("a.py:Shop",))
    pairs = rules.locagent_pairs(one, edited)
    assert pairs["file"] == (("a.py",), ["a.py", "b.py"])
    assert pairs["module"] == (("a.py:Shop",), ["a.py:Shop", "b.py:total"])
    assert pairs["function"] == (("a.py:Shop.sell",), edited)
    assert rules.locagent_pairs(None, edited)["file"][0] == ()


@pytest.mark.parametrize(
    ("predicted", "true", "k", "found"),
    [
        (["a", "b"], ["b"], 1, False),
        (["a", "b"], ["b"], 2, True),
        (["a", "b", "x"], ["a", "b", "c"], 2, True),  # the first two are right, and no third counts
        (["a", "x", "b", "c"], ["a", "b", "c"], 3, False),
        ([], ["a"], 5, False),
    ],
)
def test_all_of_the_truth_must_be_among_the_first_k(predicted, true, k, found):
    assert rules.all_found(predicted, true, k) is found


@given(
    st.lists(st.sampled_from("abcdef"), unique=True),
    st.lists(st.sampled_from("abcdef"), unique=True, min_size=1),
    st.integers(1, 8),
)
def test_found_means_full_recall_where_the_truth_fits(predicted, true, k):
    if len(true) <= k:
        assert rules.all_found(predicted, true, k) == (recall_at(predicted, true, k) == 1)
