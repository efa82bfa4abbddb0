"""Enforced calls, and that the committed page is made of the committed results."""

import asyncio
import json
from pathlib import Path

from experiments.budgets.enforced import TRIES, Enforced
from experiments.budgets.page import results_page
from experiments.evidence.page import sections
from fusesearch.agents.loop import calls_of
from fusesearch.agents.models.base import Completion, Sampling
from fusesearch.agents.parsing import format_calls
from fusesearch.core.schema import Usage
from fusesearch.core.storage import read_csv

FOLDER = Path(__file__).parents[2] / "experiments" / "budgets"
ANSWER = "## Locations to modify\n- /repo/x.py\n"


class Script:
    """Says one text after the other."""

    name = "script"

    def __init__(self, *texts):
        self.texts = list(texts)
        self.seeds = []

    async def complete(self, messages, tools, sampling):
        self.seeds.append(sampling.seed)
        return Completion(text=self.texts.pop(0), usage=Usage(prompt_tokens=10, completion_tokens=2, seconds=0.5))

    async def close(self):
        pass


def call(*names):
    return format_calls(("grep", {"pattern": name}) for name in names)


def asked(calls, *texts):
    script = Script(*texts)
    done = asyncio.run(Enforced(script, calls).complete([], [], Sampling(temperature=1.0, seed=5)))
    return done, [row.arguments["pattern"] for row in calls_of(done, 1)], script.seeds


def test_a_message_gets_the_calls_of_as_many_samples_as_it_takes():
    done, patterns, seeds = asked(3, call("a"), call("b"), ANSWER, call("c", "d"))
    assert patterns == ["a", "b", "c"]
    assert seeds == [5, 6, 7, 8]
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.seconds) == (10, 8, 2.0)


def test_a_longer_message_is_cut_and_an_answer_is_left_alone():
    assert asked(1, call("a", "b"))[1] == ["a"]
    done, _, seeds = asked(4, ANSWER)
    assert (done.text, len(seeds)) == (ANSWER, 1)


def test_a_model_that_will_not_call_again_is_not_asked_for_ever():
    _, patterns, seeds = asked(9, call("a"), *[ANSWER] * TRIES)
    assert patterns == ["a"]
    assert len(seeds) == TRIES + 1


def test_the_page_is_made_of_the_results():
    found = json.loads((FOLDER / "results.json").read_text())
    paper = read_csv(FOLDER.parent / "reference" / "fusesearch_figure1_redundancy.csv")
    page = results_page(found, sections((FOLDER / "text.md").read_text()), paper)
    assert page.without_figures().render("md") == (FOLDER / "RESULTS.md").read_text()
