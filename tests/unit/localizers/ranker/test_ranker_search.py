"""A text that is no issue: what counts as one, and which places it gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch import context, localize
from fusesearch.localizers.ranker import answer_of
from fusesearch.localizers.ranker.search import forms_of, is_search
from fusesearch.search.repository import Repository
from tests.fakes.git import write

TREE = {
    "src/JsonWriter.java": "class JsonWriter {\n  void beginArray() { open(); }\n  void close() { }\n}\n",
    "src/JsonElement.java": "class JsonElement {\n  boolean isNull() { return false; }\n}\n",
    "src/Gson.java": "class Gson {\n  // a streaming JSON writer: streaming JSON\n  void write(JsonWriter w) { }\n}\n",
    "lib/response.js": "function send(body) { return body }\nmodule.exports = { send }\n",
    "lib/application.js": "// the response goes out: response, response\nfunction use(response) { return response.send(1) }\n",
    "net/policy.py": "class Policy:\n    def retry(self, request):\n        return self.again(request)\n",
    "net/cache.py": "class Cache:\n    def lookup(self, key):\n        return None\n",
    "net/session.py": "from net.policy import Policy\n\n\ndef open_session(key):\n    return Policy().retry(key)\n",
    "examples/walk.py": "class Tree:\n    def walk(self):\n        return []\n",
    "net/walk.py": "class Tree:\n    def walk(self):\n        return []\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    write(folder / "tree", TREE)
    return folder


def places(tree: Path, text: str) -> list[dict[str, object]]:
    found = answer_of(text, Repository(tree / "tree"), tree / "cache")
    assert (found["kind"], found.get("confidence")) == ("search", None)
    assert all("confidence" not in place and not place["likely"] for place in found["places"])
    return found["places"]


def first(tree: Path, text: str) -> dict[str, object]:
    return places(tree, text)[0]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("response", "lib/response.js"),  # a word that most issues have, as a whole name
        ("streaming JSON writer", "src/JsonWriter.java"),  # a name of two words of the text
        ("JSON element hierarchy", "src/JsonElement.java"),
        ("Policy", "net/policy.py"),  # the definition, not its use
        ("how are retries handled", "net/policy.py"),  # another form of a word
        ("caching", "net/cache.py"),
        ("walking a tree", "net/walk.py"),  # examples come later,
        ("walking a tree in the examples", "examples/walk.py"),  # unless the text asks for them
        ("net session", "net/session.py"),  # words of folders
        ("how the", "lib/application.js"),  # words that most texts have, where there are no others
    ],
)
def test_the_first_file_is_the_one_that_is_about_the_words(tree: Path, text: str, path: str):
    assert first(tree, text)["path"] == path


def test_a_place_has_true_reasons_and_its_best_functions_with_their_lines(tree: Path):
    place = first(tree, "where does the writer begin an array?")
    assert place["reasons"] == ["its name has writer", "in common with the search: writer, begin, array"]
    assert place["functions"] == [{"path": "src/JsonWriter.java", "function": "JsonWriter.beginArray", "lines": (2, 2)}]
    assert first(tree, "Policy")["reasons"] == ["its name has policy", "defines `Policy`", "in common with the search: policy"]
    assert [place["path"] for place in places(tree, "Policy")] == ["net/policy.py", "net/session.py"]  # the others lack it


def test_python_and_context_answer_a_search_too(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FUSESEARCH_CACHE", str(tree / "cache"))
    found = localize(tree / "tree", "how are retries handled", top=2)
    assert (found.kind, found.confidence, len(found.places)) == ("search", None, 2)
    assert found.files == [place.path for place in found.places]
    read = context(tree / "tree", "how are retries handled").excerpts[0]
    assert (read.path, read.function, read.confidence) == ("net/policy.py", "Policy.retry", None)


QUIET = ["it does not work", "Please help", "something is wrong", "???", "wie geht das?", "Body leak", "How does it work?"]


@pytest.mark.parametrize("text", QUIET)
def test_a_text_of_which_no_word_says_anything_here_is_refused(tree: Path, text: str):
    assert answer_of(text, Repository(tree / "tree"), tree / "cache") == {"modify": []}


@pytest.mark.parametrize(
    ("text", "search"),
    [
        ("how are retries handled", True), ("JSON response rendering", True), ("response", True), ("Depends", True),
        ("query parameter and URL path variable extraction", True), ("compile-time checks with FMT_STRING", True),
        ("where is the error raised?", True), ("error types and per-request error collection", True), ("fmt::arg", True),
        ("redirects are not followed", False), ("Fix the cache", False), ("perimeter(3) returns 9", False), ("", False),
        ("KeyError: 'a'", False), ("The session doesn\u2019t close", False), ("Session cookies\n\nThey get lost.", False),
        ("cookies " * 9, False), ("how " + "cookies " * 30, False),
    ],
)  # fmt: skip
def test_a_question_a_phrase_and_a_word_are_searches_and_what_complains_or_asks_for_a_change_is_an_issue(text: str, search: bool):
    assert is_search(text) is search


@pytest.mark.parametrize(
    "words",
    [
        "retry retries retrying retried",
        "cache caches cached caching",
        "validate validation validator",
        "cookie cookies",
        "log logging logger",
    ],
)
def test_forms_of_a_word_meet(words: str):
    known, *others = (forms_of(word) for word in words.split())
    assert all(known & other for other in others)


@given(
    text=st.text(max_size=80)
    | st.lists(st.sampled_from(["json", "writer", "retry", "(", "'", "\n", "?", "值", "the", "not"]), max_size=9).map(" ".join)
)
def test_any_text_gets_places_or_a_refusal(tree: Path, text: str):
    found = answer_of(text, Repository(tree / "tree"), tree / "cache")
    assert all(place["path"] in TREE for place in found.get("places", ()))
    assert bool(found["modify"]) == bool(found.get("places"))
