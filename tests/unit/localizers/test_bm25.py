"""Words of code, the ranking made of them, and the bounds that need no model."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.config import Agent
from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.schema import Instance, Truth
from fusesearch.evaluation.metrics import score_trajectory
from fusesearch.localizers.base import Setup
from fusesearch.localizers.bm25 import Bm25Localizer, Index, query_of, split
from fusesearch.localizers.bounds import OracleLocalizer, RandomLocalizer
from fusesearch.localizers.direct import as_answer
from fusesearch.localizers.registry import LOCALIZERS, make_localizer
from fusesearch.search.repository import Repository
from tests.fakes.git import write

FILES = {
    "shop/till.py": "class Till:\n    def open_drawer(self):\n        return self.coins\n\n    def close(self):\n        pass\n",
    "shop/mail.py": "def send_receipt(customer):\n    return render(customer)\n\n\ndef render(customer):\n    return 1\n",
    "web/cart.js": "function addItem(cart, item) {\n  cart.push(item)\n}\n",
    "tests/test_mail.py": "def test_send_receipt():\n    send_receipt(send_receipt)\n",
    "README.md": "send_receipt\n",
    "bad.py": "def broken(:\n    receipt\n",
}


@pytest.fixture
def repository(tmp_path):
    write(tmp_path, FILES)
    (tmp_path / "raw.py").write_bytes(b"\xff\x00def f(): pass\n")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    return Repository(tmp_path)


def instance(issue, truth=None):
    return Instance(instance_id="i", repo="o/r", base_commit="c", problem_statement=issue, truth=truth)


def test_an_identifier_is_itself_and_its_parts_and_a_word_weighs_by_how_often_it_comes_and_more_in_the_title():
    for identifier, words in {
        "HttpResponse_base": ["httpresponse_base", "http", "response", "base"],
        "getHTTPHeader2": ["gethttpheader2", "get", "http", "header", "2"], "plain": ["plain"], "__init__": ["init"],
        "_": ["_"], "größe_ÄÖ": ["größe_äö", "größe", "äö"],
    }.items():  # fmt: skip
        assert list(split(identifier)) == words
    query = query_of("drawer stuck\ncoins coins coins coins")
    assert (query.count("drawer"), query.count("coins")) == (3, 3)


def test_files_and_functions_are_ranked_without_tests_and_documents_and_an_empty_tree_has_none(repository, tmp_path):
    (tmp_path / "empty").mkdir()
    trajectory = asyncio.run(Bm25Localizer(Setup()).localize(instance("anything at all"), Repository(tmp_path / "empty")))
    assert (trajectory.stop, trajectory.answer, trajectory.error) == ("no_answer", None, None)
    index = Index(repository)
    files, functions = index.best("`send_receipt` names the wrong customer", 5, 10)
    assert files[0] == "shop/mail.py"
    assert functions[0] == "shop/mail.py::send_receipt"
    assert not {"tests/test_mail.py", "README.md", "link.py"} & set(files)
    assert index.best("addItem puts an item into the cart twice", 1, 1) == (["web/cart.js"], ["web/cart.js::addItem"])
    assert index.best("??", 5, 10) == ([], [])
    assert all(entity.partition("::")[0] in files for entity in functions)


NAMES = st.sampled_from([f"{path}::{name}" for path in "abc" for name in "fgh"])


@given(st.permutations(["a", "b", "c"]), st.lists(NAMES, unique=True))
def test_one_answer_gives_back_both_rankings(files, functions):
    answer = as_answer(files, functions)
    assert answer.files == files
    assert answer.functions == functions


@given(st.lists(NAMES, unique=True), st.sets(st.sampled_from("abcd"), min_size=1))
def test_oracle_scores_exactly_one_and_needs_a_truth(functions, files):
    files = sorted({*files, *(name.partition("::")[0] for name in functions)})
    truth = Truth(files=files, functions=functions)
    trajectory = asyncio.run(OracleLocalizer(Setup()).localize(instance("issue", truth), Repository(".")))
    score = score_trajectory(trajectory, truth)
    assert (score.f1, score.file_f1, score.function_f1) == (1, 1, 1 if functions else None)
    with pytest.raises(DataError, match="no truth"):
        asyncio.run(OracleLocalizer(Setup()).localize(instance("issue"), Repository(".")))


def test_random_is_the_same_for_the_same_seed_and_differs_between_seeds(repository):
    localizer = RandomLocalizer(Setup())
    localizer.files = 2

    def answers(seed):
        return asyncio.run(localizer.localize(instance("issue"), repository, seed)).answer

    assert answers(1) == answers(1)
    assert len({answers(seed).model_dump_json() for seed in range(12)}) > 3
    sources = {"shop/till.py", "shop/mail.py", "web/cart.js", "bad.py", "raw.py"}
    assert all(set(answers(seed).files) <= sources for seed in range(12))


def test_the_registry_makes_what_asks_no_model_and_says_what_is_missing_for_the_others(repository):
    for name, entry in LOCALIZERS.items():
        if entry.asks_model:
            with pytest.raises(ConfigError, match="asks a model"):
                make_localizer(name, Setup())
        else:
            assert make_localizer(name, Setup(agent=Agent(options={"encoder": "any"}))).name == name
    with pytest.raises(ConfigError, match="unknown"):
        make_localizer("nobody", Setup())
