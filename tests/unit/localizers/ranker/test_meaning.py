from __future__ import annotations

import logging
import math
from pathlib import Path

import pytest

from fusesearch.core.errors import ArtifactError
from fusesearch.localizers.ranker import encoder as encoders
from fusesearch.localizers.ranker import ranking_of
from fusesearch.localizers.ranker.columns import COLUMNS, SIMILARITIES, WITH_MEANING
from fusesearch.localizers.ranker.encoder import IDENTITY, MINILM, SHIPPED, Encoder, encoder, minilm
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.meaning import FUNCTIONS, add_meaning, in_words, queries, summary
from fusesearch.search.repository import Repository

np = pytest.importorskip("numpy")
pytest.importorskip("onnxruntime")

FILES = {
    "shop/mail.py": '"""Letters to customers."""\n\n\ndef deliver(message):\n    server.push(message)\n',
    "shop/money.py": "def total(prices):\n    return sum(prices)\n\n\ndef currency(value):\n    return f'{value} EUR'\n",
    "shop/other.py": "def run():\n    pass\n",
}
ISSUE = "deliver does not post an email, total is right"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch):
    """Sets the encoder that answers use."""

    def use(name: str | Path) -> None:
        monkeypatch.setenv("FUSESEARCH_ENCODER", str(name))

    return use


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The encoder of the extra as a folder."""
    found = tmp_path / "encoder"
    found.mkdir()
    for package, name, _ in MINILM:
        path = Path(next(iter(__import__("importlib.util").util.find_spec(package).submodule_search_locations))) / name
        (found / path.name).symlink_to(path)
    return found


class Recorder(Encoder):
    """The encoder of the extra, which remembers what it encoded."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        shipped = minilm()
        self.__dict__ |= shipped.__dict__

    def encode(self, texts, tokens):
        self.texts += texts
        return super().encode(texts, tokens)


def columns(root: Path, cache: Path, found: Encoder, issue: str = ISSUE) -> dict[str, dict[str, float]]:
    with Index(Repository(root), cache) as index:
        candidates = candidates_of(issue, index)
        add_meaning(candidates, issue, index, found)
    return {one.entity: one.columns for one in [*candidates.files, *candidates.functions]}


def test_texts_of_like_meaning_are_near_and_every_vector_has_length_one():
    vectors = minilm().encode(["send an e-mail", "deliver a letter by mail", "add up the prices", "", "邮件 📮"], 64)
    assert vectors.shape == (5, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    near = vectors @ vectors[0]
    assert near[1] > near[2] + 0.2


def test_a_vector_depends_on_its_own_first_tokens_alone():
    found = minilm()
    text = "word " * 50
    together = found.encode(["short", text + "and more " * 10_000, "another one"], 16)
    for place, alone in enumerate(("short", text, "another one")):
        assert together[place] == pytest.approx(found.encode([alone], 16)[0], abs=0.03)  # int8: the batch sets the scale


def test_the_identity_is_that_of_the_shipped_models():
    assert minilm().identity == IDENTITY


def test_candidates_have_all_columns_and_what_was_not_compared_is_unknown(tmp_path: Path):
    many = tmp_path / "tree" / "many.py"
    many.parent.mkdir()
    many.write_text("".join(f"def word_{number}(word):\n    return word + {number}\n\n\n" for number in range(FUNCTIONS + 9)))
    found = columns(many.parent, tmp_path / "index", minilm(), "word is wrong")
    functions = {entity: values for entity, values in found.items() if "::" in entity}
    assert all(set(WITH_MEANING["function"]) - set(COLUMNS["function"]) <= values.keys() for values in functions.values())
    assert sum(math.isnan(values["body_title"]) for values in functions.values()) == 9
    assert {math.isnan(values["summary_text_gap"]) for values in functions.values()} == {False}
    file = found["many.py"]
    assert all(f"{part}_{name}" in file for part in ("summary", "inside") for name in SIMILARITIES)
    assert (file["summary_title_rank"], file["summary_title_gap"]) == (1, 0)
    assert file["inside_title"] == max(values["body_title"] for values in functions.values() if values["body_title"] >= -1)


def test_the_nearest_file_is_the_one_about_the_same_thing(root: Path, tmp_path: Path):
    found = columns(root, tmp_path / "index", minilm())
    assert found["shop/mail.py"]["summary_title_rank"] == 1
    assert found["shop/mail.py"]["summary_title"] > found["shop/money.py"]["summary_title"]


def test_only_what_changed_is_encoded_again(root: Path, tmp_path: Path):
    first, second = Recorder(), Recorder()
    before = columns(root, tmp_path / "index", first)
    assert columns(root, tmp_path / "index", second) == before
    assert second.texts == list(queries(ISSUE))
    (root / "shop/money.py").write_text(FILES["shop/money.py"].replace("sum(prices)", "sum(prices) / 100"))
    third = Recorder()
    columns(root, tmp_path / "index", third)
    assert [text for text in third.texts if text not in queries(ISSUE)] == ["total def total(prices):\n    return sum(prices) / 100"]


def test_vectors_of_another_encoder_or_a_damaged_length_are_not_used(root: Path, tmp_path: Path):
    before = columns(root, tmp_path / "index", minilm())
    with Index(Repository(root), tmp_path / "index") as index:
        index._write("UPDATE vectors SET vector = ?", [(b"short",)])
    assert columns(root, tmp_path / "index", minilm()) == before
    other = Recorder()
    other.identity = "another"
    columns(root, tmp_path / "index", other)
    assert len(other.texts) > 2


def test_a_folder_may_say_how_it_pools_and_what_stands_before_an_issue(folder: Path):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "find the code of: "}}')
    found = Encoder.in_folder(folder)
    assert (found.pooling, found.query, found.dimensions) == ("first", "find the code of: ", 384)
    assert found.identity == IDENTITY
    assert not np.allclose(found.encode(["a text"], 32), minilm().encode(["a text"], 32))


@pytest.mark.parametrize("damage", ["no folder", "no tokenizer", "cut model", "cut tokenizer", "other tokenizer"])
def test_an_encoder_that_cannot_be_used_leaves_an_answer_by_words_and_one_line(
    damage: str, folder: Path, root: Path, tmp_path: Path, asked, caplog: pytest.LogCaptureFixture
):
    words = ranking_of(ISSUE, Repository(root), tmp_path / "index")
    if damage == "no folder":
        folder = tmp_path / "none"
    elif damage == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    elif damage == "other tokenizer":
        data = (folder / "tokenizer.json").read_text().replace('"deliver":8116', '"deliver":999999')
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer.json").write_text(data)
    else:
        path = folder / ("model.onnx" if damage == "cut model" else "tokenizer.json")
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data[: len(data) // 2])
    asked(folder)
    with caplog.at_level(logging.WARNING):
        assert ranking_of(ISSUE, Repository(root), tmp_path / "index") == words
    (said,) = {record.message for record in caplog.records}
    assert said.startswith("ranked by words alone: ")
    assert "\n" not in said


def test_a_package_with_another_file_is_refused(monkeypatch: pytest.MonkeyPatch):
    wrong = tuple((package, name, "0" * 64) for package, name, _ in MINILM)
    monkeypatch.setattr(encoders, "MINILM", wrong)
    with pytest.raises(ArtifactError, match="damaged or another release"):
        minilm()


def test_an_answer_by_meaning_has_every_candidate_and_none_without_the_encoder(root: Path, tmp_path: Path, asked):
    asked(SHIPPED)
    assert encoder() is not None
    found = ranking_of(ISSUE, Repository(root), tmp_path / "index")
    assert found.files[0].candidate.path == "shop/mail.py"
    assert "summary_title" in found.files[0].candidate.columns
    asked("none")
    assert "summary_title" not in ranking_of(ISSUE, Repository(root), tmp_path / "index").files[0].candidate.columns


@pytest.mark.parametrize("issue", ["x" * 1_000_000, "```" * 100_000, "total \x00 \ud800 deliver", "邮件 deliver 🙂" * 1000])
def test_any_text_is_compared(issue: str, root: Path, tmp_path: Path, asked):
    asked(SHIPPED)
    assert all(0 <= one.probability <= 1 for one in ranking_of(issue, Repository(root), tmp_path / "index").files)


def test_a_summary_says_path_first_comment_and_names_in_words():
    assert in_words("pkg/HttpServer.py::App.send_all") == "pkg Http Server py App send all"
    said = summary("a/mail.py", '"""Letters to\ncustomers."""\n', ["Box.putIn", "Box.putIn"])
    assert said == 'a mail py. Letters to customers.""" Box put In'
