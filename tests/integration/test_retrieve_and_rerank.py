"""SweRank over a real git tree, with a tiny encoder and a scripted model: what it retrieves, asks, answers and survives."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from fusesearch.agents.models.base import Completion
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent
from fusesearch.core.errors import ArtifactError, ConfigError, OptionError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import read_trajectories
from fusesearch.localizers import swerank
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.localizers.searcher import SearchOptions
from fusesearch.localizers.swerank import candidates_of
from fusesearch.search.repository import Repository
from tests.fakes.commands import app
from tests.fakes.encoder import SIZE, shared_encoder, tiny_encoder
from tests.fakes.git import committed

ISSUE = "`Basket.total` is too low.\n\nIt ignores [12] prices."
BASKET = """\
class Basket:
    @property
    def total(self):
        return prices[0]

    class Inner:
        def f(self):
            return '[3]'
"""
FILES = {
    "shop/basket.py": BASKET,
    "shop/prices.py": "\n\n".join(f"async def price_{n}(item):\n    return {n} + item" for n in range(24)),
    "shop/twice.py": "if x:\n    def one(): return 1\nelse:\n    def one(): return 2\n",
    "web/cart.ts": "export class Cart { add(item: string) { return item; } }\n",
    "shop/tests/test_basket.py": "def test_total():\n    pass\n",
    "README.md": "# Shop\n",
}


def made(name, tmp_path, reply=None, **agent):
    model = ScriptedModel(reply) if reply else None
    agent = Agent(**{"options": {"encoder": shared_encoder()}, **agent})
    return make_localizer(name, Setup(model, agent, caches=Caches(tmp_path)))


def instance(issue=ISSUE):
    return Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement=issue)


def test_vectors_have_length_one_and_do_not_depend_on_the_other_texts():
    encoder, texts = swerank.encoder_named(shared_encoder()), ["def total(self): return 1", "", "x" * 500, "\ud800 \u0101 \n\t"]
    found = swerank.embedded(encoder, tuple(texts))
    assert (found.shape, found.dtype) == ((4, SIZE), np.float32)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert np.concatenate([swerank.embedded(encoder, (text,)) for text in texts]) == pytest.approx(found, abs=1e-5)


@pytest.mark.parametrize("damage", ["modules.json", "model.safetensors", "config.json"])
def test_a_damaged_encoder_is_one_clear_line(tmp_path, damage):
    folder = tiny_encoder(tmp_path)
    (folder / damage).write_text("{")
    with pytest.raises(ArtifactError, match="is no encoder that can be loaded: ") as raised:
        swerank.encoder_named(str(folder))
    assert "\n" not in str(raised.value)


def test_the_text_of_a_function_is_its_path_its_class_and_its_code(repository):
    found = dict(candidates_of(repository))
    for entity, start in {
        "shop/basket.py::Basket.total": "shop/basket.py/Basket/total\nclass Basket:    @property\n    def total",
        "shop/basket.py::Basket.Inner.f": "shop/basket.py/Basket/Inner/f\nclass Inner:        def f",
        "shop/prices.py::price_3": "shop/prices.py/price_3\nasync def price_3(item):\n    return 3 + item",
        "web/cart.ts::Cart.add": "web/cart.ts/Cart.add\n",
    }.items():
        assert found[entity].startswith(start)
    assert not any("test" in entity for entity in found)


async def test_the_encoder_alone_ranks_functions_and_files_by_their_first(repository, tmp_path):
    localizer = made("swerank-embed", tmp_path)
    done = await localizer.localize(instance(), repository)
    assert (done.localizer, done.model, done.stop, done.error) == ("swerank-embed", "", "answer", None)
    every = list(dict.fromkeys(name for name, _ in candidates_of(repository)))
    ranked = [name for name, _ in swerank.retrieve(localizer, ISSUE, repository)]
    assert sorted(ranked) == sorted(every)
    assert done.answer.functions == ranked[:15]
    assert done.answer.files == list(dict.fromkeys(entity.partition("::")[0] for entity in ranked))
    again = await localizer.localize(instance(), repository)
    assert again.answer == done.answer


async def test_the_model_reorders_windows_from_the_end_to_the_top(repository, tmp_path):
    wanted = "price_7"
    prompts = []

    def reply(messages):
        prompts.append(messages)
        lines = messages[-1].content.splitlines()
        best = next((line[1 : line.index("]")] for line in lines if line.endswith(f"/{wanted}")), "1")
        return f"<think>[5] > [6]</think>[{best}] > [{1 if best != '1' else 2}]"

    localizer = made("swerank", tmp_path, reply)
    done = await localizer.localize(instance(), repository)
    retrieved = [name for name, _ in swerank.retrieve(localizer, ISSUE, repository)]
    assert done.answer.functions[0] == "shop/prices.py::price_7"
    assert done.answer.functions[1:] == [entity for entity in retrieved if not entity.endswith(wanted)][:14]
    assert len(done.turns) == len(prompts) == 5  # 28 functions: ..28, ..23, ..18, ..13, ..8
    system, first = prompts[0]
    assert (system.role, first.role) == ("system", "user")
    assert first.content.count("`Basket.total` is too low.") == 2
    assert "[1] shop/" in first.content
    assert "'(3)'" in "".join(messages[-1].content for messages in prompts)


@pytest.mark.parametrize("unreadable", ["All of them matter.", Completion(text="", finish_reason="context")])
async def test_a_reply_that_names_no_candidate_or_never_comes_leaves_the_order(repository, tmp_path, unreadable):
    localizer = made("swerank", tmp_path, lambda messages: unreadable if "/price_1\n" in messages[-1].content else "[1] > [2]")
    done = await localizer.localize(instance(), repository)
    assert (done.stop, done.error) == ("answer", None)
    assert done.answer.functions == [name for name, _ in swerank.retrieve(localizer, ISSUE, repository)][:15]
    assert 1 <= sum(turn.text != "[1] > [2]" for turn in done.turns) < len(done.turns) == 5


@pytest.mark.parametrize(("count", "windows"), [(1, 1), (5, 1), (6, 1), (10, 1), (11, 2), (12, 2), (16, 3), (100, 19), (120, 19)])
async def test_the_best_replies_bring_the_best_to_the_top_in_nineteen_windows_of_ten_at_most(tmp_path, count, windows):
    committed(tmp_path / "tree", {"a.py": "\n".join(f"def f{number:03}(): pass" for number in range(count))})
    sizes = []

    def reply(messages):
        lines = [line for line in messages[-1].content.splitlines() if "a.py/f" in line]
        sizes.append(len(lines))
        return " > ".join(line[: line.index("]") + 1] for line in sorted(lines, key=lambda line: line[-3:]))

    localizer, tree = made("swerank", tmp_path, reply), Repository(tmp_path / "tree")
    retrieved = sorted(name for name, _ in swerank.retrieve(localizer, ISSUE, tree))
    done = await localizer.localize(instance(), tree)
    assert (len(sizes), max(sizes)) == (windows, min(count, 10))
    assert done.answer.functions[:5] == retrieved[:5]


async def test_the_issue_is_cut_before_functions_lose_too_much(tmp_path):
    long = "\n".join(f"def f{n}():\n" + "    x = 1\n" * 2000 for n in range(12))
    committed(tmp_path / "long", {"a.py": long})
    prompts = []

    def reply(messages):
        prompts.append(messages[-1].content)
        return "[1]"

    await made("swerank", tmp_path, reply, issue_chars=10**6).localize(instance("word " * 10**5), Repository(tmp_path / "long"))
    assert prompts[0].count("x = 1") >= 10 * 80
    assert len(prompts[0]) <= 4 * Agent().max_context_tokens
    prompts.clear()
    await made("swerank", tmp_path, reply).localize(instance("short"), Repository(tmp_path / "long"))
    assert prompts[0].count("x = 1") == pytest.approx(10 * 4096 / 10, rel=0.05)


@pytest.mark.parametrize("name", ["swerank", "swerank-embed"])
async def test_odd_issues_end_well_and_without_functions_there_is_no_answer_and_no_request(repository, tmp_path, name):
    for issue in ("", " \n", "?" * 10**6, "wört " * 10**5, "\ud800\x00"):
        done = await made(name, tmp_path, lambda messages: "[2]").localize(instance(issue), repository)
        assert (done.stop, done.error) == ("answer" if issue.strip() else "no_answer", None)
    committed(tmp_path / "tree", {"README.md": "# No code", "a.py": "X = 1\n", "tests/test_a.py": "def test(): pass\n"})
    done = await made("swerank", tmp_path, lambda messages: 1 / 0).localize(instance(), Repository(tmp_path / "tree"))
    assert (done.stop, done.answer, done.turns, done.error) == ("no_answer", None, [], None)


@pytest.fixture
def embedded(monkeypatch):
    """The texts of each call of the encoder."""
    seen = []
    encode = SentenceTransformer.encode
    monkeypatch.setattr(
        SentenceTransformer, "encode", lambda self, texts, **options: seen.append(texts) or encode(self, texts, **options)
    )
    return seen


async def test_a_tree_is_embedded_once_and_the_issue_after_the_encoders_own_prefix(tmp_path, embedded):
    committed(tmp_path / "tree", FILES)
    own = str(tiny_encoder(tmp_path / "encoder", prefix="Find: "))
    for issue in (ISSUE, "other"):
        found = made("swerank-embed", tmp_path / "kept", options={"encoder": own})
        await found.localize(instance(issue), Repository(tmp_path / "tree"))
    assert [len(texts) for texts in embedded] == [29, 1, 1]
    assert embedded[1:] == [[f"Find: {ISSUE}"], ["Find: other"]]


async def test_an_encoder_that_fails_is_an_error_and_no_answer(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(SentenceTransformer, "encode", lambda *_, **options: (_ for _ in ()).throw(RuntimeError("no memory")))
    done = await made("swerank-embed", tmp_path).localize(instance(), repository)
    assert (done.stop, done.error, done.answer) == ("error", "the encoder failed: no memory", None)


async def test_without_an_encoder_nothing_starts(repository, tmp_path):
    with pytest.raises(ConfigError, match=r"needs --encoder \(agent.options"):
        made("swerank-embed", tmp_path, options={"encoder": ""})
    with pytest.raises(ArtifactError, match="is missing"):
        await made("swerank-embed", tmp_path, options={"encoder": str(tmp_path / "gone")}).localize(instance(), repository)
    for options in ({"localizer": "swerank-embed"}, {"localizer": "bm25", "encoder": "x"}, {"encoder": "x"}):
        with pytest.raises(OptionError, match=r"encoder: (swerank-embed needs one|is for swerank and swerank-embed alone)"):
            SearchOptions(**options)


def test_the_commands_take_an_encoder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    commit = committed(tmp_path / "repos/o__n.git", FILES)
    chosen = ["--localizer", "swerank-embed", "--encoder", shared_encoder()]
    done = CliRunner().invoke(app, ["localize", ISSUE, "--repo", str(tmp_path / "repos/o__n.git"), "--format", "json", *chosen])
    assert done.exit_code == 0, done.output
    assert sum(len(place["functions"]) for place in json.loads(done.stdout)["places"]) >= 15
    row = {"instance_id": "o__n-1", "repo": "o/n", "base_commit": commit, "problem_statement": ISSUE, "patch": ""}
    row["truth"] = {"files": ["shop/prices.py"], "functions": ["shop/prices.py::price_0"]}
    (tmp_path / "issues.jsonl").write_text(json.dumps(row))
    words = ["--instances", str(tmp_path / "issues.jsonl"), "--repos", str(tmp_path / "repos"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["evaluate", *chosen, *words])
    assert done.exit_code == 0, done.output
    (kept,) = read_trajectories(next((tmp_path / "out/cells").iterdir()) / "trajectories.jsonl")
    assert (kept.stop, len(kept.answer.functions)) == ("answer", 15)
    settings = json.loads(next((tmp_path / "out/cells").glob("*/settings.json")).read_text())
    assert settings["agent"]["options"] == {"encoder": shared_encoder()}
