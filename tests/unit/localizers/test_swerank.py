"""SweRank's parts: the encoder, the vectors on disk, and the sliding window."""

import json
import shutil
import sqlite3

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from fusesearch.core.errors import ArtifactError, InfrastructureError
from fusesearch.localizers.swerank import vectors
from fusesearch.localizers.swerank.encoder import Encoder, encoder_named
from fusesearch.localizers.swerank.vectors import read_order, vectors_of, windows
from tests.fakes.encoder import SIZE, keep, tiny_encoder

TEXTS = ["def total(self): return 1", "", "class Basket:", "def price(item): return item.price", "x" * 500, "\ud800 \u0101 \n\t"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder"), prefix="query: ")


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_vectors_have_length_one_and_do_not_depend_on_the_other_texts(folder):
    encoder = Encoder(folder)
    found = encoder.embed(TEXTS)
    assert found.shape == (len(TEXTS), SIZE)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    alone = np.concatenate([encoder.embed([text]) for text in TEXTS])
    assert alone == pytest.approx(found, abs=1e-5)
    assert encoder.embed([]).shape == (0, SIZE)
    assert encoder.prefix == "query: "


@pytest.mark.parametrize(
    ("mode", "pool"),
    [
        ("mean_tokens", lambda hidden: hidden.mean(0)),
        ("cls_token", lambda hidden: hidden[0]),
        ("lasttoken", lambda hidden: hidden[-1]),
    ],
)
def test_pooling_is_what_the_folder_says(tmp_path, mode, pool):
    encoder = Encoder(tiny_encoder(tmp_path, mode=mode))
    ids = torch.tensor([encoder._tokenizer("def f(x)")["input_ids"]])
    with torch.inference_mode():
        expected = pool(encoder._model(ids).last_hidden_state[0])
    assert encoder.embed(["def f(x)", "another text, which is longer"])[0] == pytest.approx(
        (expected / expected.norm()).numpy(), abs=1e-5
    )
    keep(tmp_path, "1_Pooling/config.json", {"pooling_mode": {"mean_tokens": "mean", "cls_token": "cls"}.get(mode, mode)})
    assert Encoder(tmp_path).embed(["def f(x)"])[0] == pytest.approx((expected / expected.norm()).numpy(), abs=1e-5)


def test_texts_are_cut_at_the_folders_limit(copy):
    keep(copy, "sentence_bert_config.json", {"max_seq_length": 10, "do_lower_case": True})
    encoder = Encoder(copy)
    found = encoder.embed(["abcdefgh", "abcdefghij", "ABCDEFGH", "abcdefg", "abcdefgh" + "x" * 10**6])
    assert all(row == pytest.approx(found[0], abs=1e-5) for row in found[[1, 2, 4]])
    assert found[0] != pytest.approx(found[3], abs=1e-3)


def remove(name):
    return lambda folder: (folder / name).unlink()


def write(name, text):
    return lambda folder: (folder / name).write_text(text)


def change(name, **values):
    return lambda folder: keep(folder, name, json.loads((folder / name).read_text()) | values)


def without_a_layer(folder):
    kept = load_file(folder / "model.safetensors")
    save_file({key: value for key, value in kept.items() if ".1." not in key}, folder / "model.safetensors", {"format": "pt"})


def with_dense(folder):
    rows = json.loads((folder / "modules.json").read_text())
    keep(folder, "modules.json", [*rows, {"path": "3_Dense", "type": "sentence_transformers.models.Dense"}])


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (remove("modules.json"), "no encoder"),
        (write("modules.json", "{"), "not valid JSON"),
        (write("modules.json", "[1]"), "does not list modules"),
        (with_dense, "Transformer, Pooling, Normalize, Dense"),
        (remove("1_Pooling/config.json"), "is missing"),
        (write("1_Pooling/config.json", "[]"), "not a JSON object"),
        (write("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'), "pools by max"),
        (write("1_Pooling/config.json", '{"pooling_mode_max_tokens": true, "pooling_mode_cls_token": true}'), "pools by"),
        (change("1_Pooling/config.json", include_prompt=False), "over all tokens"),
        (remove("config.json"), "is missing"),
        (change("config.json", auto_map={"AutoModel": "code.Model"}), "code of its own, which is not run"),
        (change("config.json", hidden_size=32), "cannot be loaded"),
        (remove("model.safetensors"), "cannot be loaded"),
        (write("model.safetensors", "nothing"), "cannot be loaded"),
        (without_a_layer, "its weights lack encoder.layer.1"),
        (write("tokenizer.json", "{}"), "cannot be loaded"),
    ],
)
def test_a_damaged_encoder_is_one_clear_line(copy, damage, fault):
    damage(copy)
    with pytest.raises(ArtifactError, match=fault) as raised:
        Encoder(copy)
    assert "\n" not in str(raised.value)


def test_a_name_is_a_folder_or_one_of_the_hub(tmp_path, monkeypatch):
    for missing in (str(tmp_path / "nothing"), "./a/b", "~/b", "/b", "nothing", "a/"):
        with pytest.raises(ArtifactError, match="is missing: name the folder"):
            encoder_named(missing)

    def unreachable(name, **_):
        raise OSError("no network\nand so on")

    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(InfrastructureError, match=r"owner/name is not a folder .*: no network$"):
        encoder_named("owner/name")
    made = tiny_encoder(tmp_path / "made")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(made))
    assert encoder_named("owner/name").folder == made


def test_too_little_memory_is_a_failure_of_the_infrastructure(folder, monkeypatch):
    encoder = Encoder(folder)

    def full(**_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory\nat ...")

    monkeypatch.setattr(encoder, "_model", full)
    with pytest.raises(InfrastructureError, match=r"failed: DefaultCPUAllocator: can't allocate memory$"):
        encoder.embed(["a"])


class Counting:
    """The encoder, and the texts that it embedded."""

    def __init__(self, folder):
        self._encoder = Encoder(folder)
        self.digest, self.dimensions, self.seen = self._encoder.digest, SIZE, []

    def embed(self, texts):
        self.seen += texts
        return self._encoder.embed(texts)


def test_only_new_texts_are_embedded(folder, tmp_path):
    first, second = Counting(folder), Counting(folder)
    found = vectors_of([*TEXTS, TEXTS[0]], first, tmp_path)
    assert sorted(first.seen) == sorted(TEXTS)
    again = vectors_of([*TEXTS[::-1], "new"], second, tmp_path)
    assert second.seen == ["new"]
    assert np.array_equal(again[:-1], found[:-1][::-1])
    assert np.array_equal(found[-1], found[0])


def test_another_encoder_does_not_see_these_vectors(folder, tmp_path):
    vectors_of(TEXTS, Counting(folder), tmp_path)
    other = Counting(tiny_encoder(tmp_path / "other", seed=1))
    vectors_of(TEXTS, other, tmp_path)
    assert sorted(other.seen) == sorted(TEXTS)


@pytest.mark.parametrize("rows", [b"short", "text", None, b"x" * 4 * SIZE * 2])
def test_vectors_of_another_length_are_made_again(folder, tmp_path, rows):
    encoder = Counting(folder)
    found = vectors_of(TEXTS, encoder, tmp_path)
    with sqlite3.connect(tmp_path / f"{encoder.digest}.sqlite") as connection:
        if rows is None:
            connection.execute("DROP TABLE vectors")
            connection.execute("CREATE TABLE vectors (other TEXT)")
        else:
            connection.execute("UPDATE vectors SET vector = ?", (rows,))
    assert np.array_equal(vectors_of(TEXTS, encoder, tmp_path), found)


def test_a_damaged_file_is_replaced_and_a_folder_that_cannot_be_written_keeps_nothing(folder, tmp_path):
    encoder = Counting(folder)
    kept = tmp_path / f"{encoder.digest}.sqlite"
    kept.write_bytes(b"not a database" * 1000)
    found = vectors_of(TEXTS, encoder, tmp_path)
    encoder.seen.clear()
    assert np.array_equal(vectors_of(TEXTS, encoder, tmp_path), found)
    assert encoder.seen == []
    (tmp_path / "file").write_text("")
    assert np.array_equal(vectors_of(TEXTS, encoder, tmp_path / "file"), found)


def test_above_the_limit_the_older_half_goes(folder, tmp_path, monkeypatch):
    encoder = Counting(folder)
    vectors_of(["old"], encoder, tmp_path)
    monkeypatch.setattr(vectors, "LIMIT_BYTES", 0)
    vectors_of(["new", "newer"], encoder, tmp_path)
    encoder.seen.clear()
    vectors_of(["old", "newer"], encoder, tmp_path)
    assert encoder.seen == ["old"]


@given(st.integers(0, 230), st.integers(2, 30), st.data())
def test_windows_reach_every_place_from_the_end_to_the_top(count, size, data):
    step = data.draw(st.integers(1, size))
    found = list(windows(count, size, step))
    assert {place for start, end in found for place in range(start, end)} == set(range(count))
    assert all(0 <= start < end <= start + size for start, end in found)
    assert [start for start, _ in found] == sorted({start for start, _ in found}, reverse=True)


def test_a_hundred_functions_are_nineteen_windows_of_ten():
    found = list(windows(100, 10, 5))
    assert (len(found), found[0], found[1], found[-1]) == (19, (90, 100), (85, 95), (0, 10))
    assert list(windows(5, 10, 5)) == [(0, 5)]
    assert list(windows(12, 10, 5)) == [(2, 12), (0, 7)]


@given(st.permutations(range(8)), st.sampled_from([" > ", ">", "  >\n"]), st.sampled_from(["", "Of the 8 functions, [1]: "]))
def test_a_whole_reply_is_applied_as_it_is(order, between, before):
    assert read_order(before + between.join(f"[{number + 1}]" for number in order), 8) == list(order)


@given(st.text() | st.lists(st.integers(0, 99)).map(lambda row: " > ".join(f"[{number}]" for number in row)), st.integers(1, 12))
def test_no_reply_loses_or_doubles_a_candidate(reply, count):
    assert sorted(read_order(reply, count)) in ([], list(range(count)))


@given(st.integers(1, 60), st.integers(2, 12), st.data())
def test_windows_with_the_best_reply_bring_the_best_to_the_top(count, size, data):
    worth = data.draw(st.permutations(range(count)))
    found = list(worth)
    for start, end in windows(count, size, max(size // 2, 1)):
        best = sorted(range(end - start), key=lambda place: -found[start:end][place])
        order = read_order(" > ".join(f"[{place + 1}]" for place in best), end - start)
        found[start:end] = [found[start:end][place] for place in order]
    assert sorted(found) == sorted(worth)
    assert found[: max(size // 2, 1)] == sorted(worth, reverse=True)[: max(size // 2, 1)]


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[2] > [1]", [1, 0, 2]),
        ("[3]", [2, 0, 1]),
        ("3 > 1", [2, 0, 1]),
        ("[2] > [2] > [9] > [0] > [1]", [1, 0, 2]),
        ("I cannot say.", []),
        ("", []),
        ("[0] > [17]", []),
        ("9" * 10_000 + " [2]", [1, 0, 2]),
        ("[²]", []),
    ],
)
def test_replies(reply, order):
    assert read_order(reply, 3) == order
