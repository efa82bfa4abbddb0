"""SweRank over a real git tree, with a tiny encoder and a scripted model: what it retrieves, asks, answers and survives."""

import pytest
from sentence_transformers import SentenceTransformer

from fusesearch.agents.models.base import Completion
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.core.config import Agent
from fusesearch.core.errors import ArtifactError, ConfigError, OptionError
from fusesearch.localizers import swerank
from fusesearch.localizers.base import Setup
from fusesearch.localizers.searcher import SearchOptions
from fusesearch.localizers.swerank import SweRankEmbedLocalizer, candidates_of, read_order
from fusesearch.search.repository import Repository
from tests.fakes.dialogue import localized
from tests.fakes.encoder import shared_encoder, tiny_encoder
from tests.fakes.git import write

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


async def run(repository, reply=None, issue=ISSUE, encoder=None, **agent):
    """The encoder alone, or with a model that replies."""
    settings = Agent(options={"encoder": encoder or shared_encoder()}, **agent)
    return await localized("swerank" if reply else "swerank-embed", ScriptedModel(reply or []), repository, issue, settings)


def retrieved(repository):
    localizer = SweRankEmbedLocalizer(Setup(agent=Agent(options={"encoder": shared_encoder()})))
    return [name for name, _ in swerank.retrieve(localizer, ISSUE, repository)]


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


async def test_the_encoder_alone_ranks_functions_and_files_by_their_first(repository):
    done = await run(repository)
    assert (done.localizer, done.model, done.stop, done.error) == ("swerank-embed", "", "answer", None)
    ranked = retrieved(repository)
    assert sorted(ranked) == sorted({name for name, _ in candidates_of(repository)})
    assert done.answer.functions == ranked[:15]
    assert done.answer.files == list(dict.fromkeys(entity.partition("::")[0] for entity in ranked))
    assert (await run(repository)).answer == done.answer


async def test_a_tree_is_embedded_once_and_the_issue_after_the_encoders_own_prefix(tmp_path, monkeypatch):
    seen, encode = [], SentenceTransformer.encode
    monkeypatch.setattr(
        SentenceTransformer, "encode", lambda own, texts, **more: seen.append(texts) or encode(own, texts, **more)
    )
    tree, own = write(tmp_path / "tree", FILES), str(tiny_encoder(tmp_path / "encoder", prefix="Find: "))
    for issue in (ISSUE, "other"):
        await run(Repository(tree), issue=issue, encoder=own)
    assert [len(texts) for texts in seen] == [29, 1, 1]
    assert seen[1:] == [[f"Find: {ISSUE}"], ["Find: other"]]


async def test_the_model_reorders_windows_from_the_end_to_the_top(repository):
    prompts = []

    def reply(messages):
        prompts.append(messages)
        lines = messages[-1].content.splitlines()
        best = next((line[1 : line.index("]")] for line in lines if line.endswith("/price_7")), "1")
        return f"<think>[5] > [6]</think>[{best}] > [{1 if best != '1' else 2}]"

    done = await run(repository, reply)
    others = [entity for entity in retrieved(repository) if not entity.endswith("price_7")]
    assert done.answer.functions == ["shop/prices.py::price_7", *others[:14]]
    assert len(done.turns) == len(prompts) == 5  # 28 functions: ..28, ..23, ..18, ..13, ..8
    system, first = prompts[0]
    assert (system.role, first.role) == ("system", "user")
    assert first.content.count("`Basket.total` is too low.") == 2
    assert "[1] shop/" in first.content
    assert "'(3)'" in "".join(messages[-1].content for messages in prompts)


@pytest.mark.parametrize("unreadable", ["All of them matter.", Completion(text="", finish_reason="context")])
async def test_a_reply_that_names_no_candidate_or_never_comes_leaves_the_order(repository, unreadable):
    done = await run(repository, lambda messages: unreadable if "/price_1\n" in messages[-1].content else "[1] > [2]")
    assert (done.stop, done.error) == ("answer", None)
    assert done.answer.functions == retrieved(repository)[:15]
    assert 1 <= sum(turn.text != "[1] > [2]" for turn in done.turns) < len(done.turns) == 5


@pytest.mark.parametrize(("count", "windows"), [(1, 1), (10, 1), (11, 2), (16, 3), (120, 19)])
async def test_the_best_replies_bring_the_best_to_the_top_in_nineteen_windows_of_ten_at_most(tmp_path, count, windows):
    tree = Repository(write(tmp_path, {"a.py": "\n".join(f"def f{number:03}(): pass" for number in range(count))}))
    sizes = []

    def reply(messages):
        lines = [line for line in messages[-1].content.splitlines() if "a.py/f" in line]
        sizes.append(len(lines))
        return " > ".join(line[: line.index("]") + 1] for line in sorted(lines, key=lambda line: line[-3:]))

    done = await run(tree, reply)
    assert (len(sizes), max(sizes)) == (windows, min(count, 10))
    assert done.answer.functions[:5] == sorted(retrieved(tree))[:5]


async def test_odd_issues_end_well_and_without_functions_there_is_no_answer_and_no_request(repository, tmp_path):
    for issue in ("", " \n", "?" * 10**6, "wört " * 10**5, "\ud800\x00"):
        done = await run(repository, lambda messages: "[2]", issue)
        assert (done.stop, done.error) == ("answer" if issue.strip() else "no_answer", None)
    write(tmp_path / "tree", {"README.md": "# No code", "a.py": "X = 1\n", "tests/test_a.py": "def test(): pass\n"})
    done = await run(Repository(tmp_path / "tree"), lambda messages: 1 / 0)
    assert (done.stop, done.answer, done.turns, done.error) == ("no_answer", None, [], None)


async def test_an_encoder_that_is_missing_or_damaged_is_one_line_and_one_that_fails_no_answer(repository, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"needs --encoder \(agent.options"):
        await localized("swerank-embed", ScriptedModel([]), repository, ISSUE)
    for options in ({"localizer": "swerank-embed"}, {"localizer": "bm25", "encoder": "x"}, {"encoder": "x"}):
        with pytest.raises(OptionError, match=r"encoder: (swerank-embed needs one|is for swerank and swerank-embed alone)"):
            SearchOptions(**options)
    folder = tiny_encoder(tmp_path / "damaged")
    (folder / "model.safetensors").write_text("{")
    for path in (folder, tmp_path / "gone"):
        with pytest.raises(ArtifactError, match=r"is missing, or is no encoder that can be loaded: .*$"):
            await run(repository, encoder=str(path))

    def full(*_, **options):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory\nat ...")

    monkeypatch.setattr(SentenceTransformer, "encode", full)
    done = await run(repository, issue="another")
    assert (done.stop, done.answer) == ("error", None)
    assert done.error == "the encoder failed: RuntimeError: DefaultCPUAllocator: can't allocate memory at ..."


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[2] > [1]", [1, 0, 2]), ("[3]", [2, 0, 1]), ("3 > 1", [2, 0, 1]),
        ("Of the 3 functions, [1]: [3]>[2]  >\n[1]", [2, 1, 0]),
        ("[2] > [2] > [9] > [0] > [1]", [1, 0, 2]),
        ("I cannot say.", [0, 1, 2]), ("", [0, 1, 2]), ("[0] > [17]", [0, 1, 2]), ("[²]", [0, 1, 2]),
        ("9" * 10_000 + " [2]", [1, 0, 2]),
    ],
)  # fmt: skip
def test_replies(reply, order):
    assert read_order(reply, 3) == order
