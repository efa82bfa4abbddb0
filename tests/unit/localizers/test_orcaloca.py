"""OrcaLoca's parts: the queue, the searches, pruning by distance, and replies of any kind."""

import json

import pytest

from fusesearch.code.graph.building import graph_of
from fusesearch.core.config import Tools
from fusesearch.localizers.orcaloca import Context, Result, node_of
from fusesearch.localizers.orcaloca.actions import DECOMPOSED, Action, Queue
from fusesearch.localizers.orcaloca.replies import MAX_ITEMS, Suspect, read_conclusion, read_names, read_scores, read_step
from fusesearch.localizers.orcaloca.searches import Searches
from fusesearch.search.repository import Repository
from tests.fakes.git import write

FILES = {
    "bank/account.py": '''\
from bank.ledger import Ledger


class Account:
    def __init__(self, owner):
        self.owner = owner

    def pay(self, amount):
        return check(amount)

    def close(self):
        return Ledger().book(0)


def check(amount):
    return amount  >  0
''',
    "bank/ledger.py": "class Ledger:\n    def book(self, amount):\n        pass\n\n    def close(self):\n        pass\n",
    "shop/account.py": "def check(item):\n    return item\n",
    "tests/test_account.py": "def check():\n    pass\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def searches(tmp_path_factory):
    root = tmp_path_factory.mktemp("bank")
    write(root, FILES)
    repository = Repository(root)
    return Searches(repository, graph_of(repository), Tools())


def callable_(name, path=""):
    return Action.of("search_callable", query_name=name, file_path=path)


def test_the_queue_goes_by_priority_and_age_and_a_repeated_request_rises_and_stays_one_entry():
    queue = Queue()
    queue.ask(callable_("first"))
    queue.ask(callable_("second"))
    queue.ask(callable_("urgent"), DECOMPOSED)
    assert [queue.pop().get("query_name") for _ in range(3)] == ["urgent", "first", "second"]
    assert queue.pop() is None
    queue.ask(callable_("decomposed"), DECOMPOSED)
    for _ in range(3):
        queue.ask(callable_("wanted"))
    assert queue.pop() == callable_("wanted")
    queue.ask(callable_("wanted"))
    assert queue.ranked(9) == [callable_("decomposed")]
    # a class is the same asked for as a class or as a callable
    queue.ask(Action.of("search_class", class_name="Account", file_path="a.py"))
    queue.ask(callable_("Account", "a.py"))
    assert len(queue.ranked(9)) == 2
    queue.ask(callable_("Account"))
    assert len(queue.ranked(9)) == 3


@pytest.mark.parametrize(
    ("action", "nodes"),
    [
        (callable_("pay"), ["bank/account.py::Account.pay"]),
        (callable_("Account.pay"), ["bank/account.py::Account.pay"]),
        (callable_("check"), ["bank/account.py::check", "shop/account.py::check"]),
        (callable_("check", "/repo/shop/account.py"), ["shop/account.py::check"]),
        (callable_("nothing"), []),
        (Action.of("search_class", class_name="Ledger"), ["bank/ledger.py::Ledger"]),
        (Action.of("search_class", class_name="check"), []),
        (Action.of("search_method_in_class", class_name="Account", method_name="pay"), ["bank/account.py::Account.pay"]),
        (Action.of("search_method_in_class", class_name="Account", method_name="book"), []),
        (Action.of("search_file_contents", file_name="account.py"), ["bank/account.py", "shop/account.py"]),
        (Action.of("search_file_contents", file_name="account.py", directory_path="/repo/shop"), ["shop/account.py"]),
        (Action.of("search_file_contents", file_name="shop/account.py"), ["shop/account.py"]),
        (Action.of("search_file_contents", file_name="test_account.py"), []),
        (Action.of("search_source_code", file_path="bank/account.py", source_code="\n amount > 0"), ["bank/account.py::check"]),
        (Action.of("search_file_tree"), ["/"]),
        (Action.of("search_file_tree", name="bank"), ["bank"]),
    ],
)
def test_searches_mean_what_their_arguments_say(searches, action, nodes):
    assert list(searches.meaning(action)) == nodes


def test_suspects_are_found_as_far_as_they_are_there_and_results_near_to_them_stay(searches):
    for suspect, node in (
        (("bank/account.py", "Account", "pay"), "bank/account.py::Account.pay"),
        (("bank/account.py", "Account", "gone"), "bank/account.py::Account"),
        (("bank/account.py", "", "gone"), "bank/account.py"),
        (("gone.py", "Account", "pay"), None), (("", "Account", "pay"), None),
    ):  # fmt: skip
        assert node_of(Suspect(*suspect), searches.graph) == node
    context = Context(searches.graph)
    for node in ("shop/account.py::check", "bank/ledger.py::Ledger", "bank/account.py::Account.pay", "bank/account.py::check"):
        context.add(Result(node, "search", node))
    suspected = [Suspect("/repo/bank/account.py", "Account", "pay"), Suspect("no/such.py", "", "f")]
    assert [result.node for result in context.kept(suspected, 3)] == [
        "bank/account.py::Account.pay", "bank/account.py::check", "shop/account.py::check",
    ]  # fmt: skip
    assert [result.node for result in context.kept([], 2)] == ["shop/account.py::check", "bank/ledger.py::Ledger"]


@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("```json\n", "\n```"), ("<think>{}</think>Well: ", " That is all."), ('{"a": 1} {', "")]
)
def test_steps_are_read_from_any_frame(before, after):
    useless = [{"action": "search_nothing", "action_input": {}}, {"action": "search_class", "action_input": {}}]
    reply = {
        "observation_feedback": "seen",
        "potential_bug_locations": [{"file_path": "/repo/a.py", "class_name": "", "method_name": "f"}],
        "new_search_actions": [{"action": "search_callable", "action_input": {"query_name": "f", "extra": 1}}, *useless],
    }
    step = read_step(before + json.dumps(reply) + after)
    assert (step.observation, step.suspects) == ("seen", [Suspect("/repo/a.py", "", "f")])
    assert step.actions == [callable_("f")]
    assert "some of the new_search_actions" in step.fault


def test_a_reply_without_an_object_is_a_fault_and_names_and_conclusions_are_read():
    assert read_step("I think it is in f.").fault
    assert read_step("").actions == []
    names = {"code_info_list": [{"keyword": "a.b.Thing()", "file_path": "a.py"}, {"keyword": "not a name"}, {"keyword": ""}, 3]}
    assert read_names(json.dumps(names)) == [Suspect("a.py", "", "Thing")]
    assert read_conclusion('{"bug_locations": [{"method_name": "f"}, {}, null]}') == [Suspect("", "", "f")]
    many = [{"method_name": f"f{number}"} for number in range(2 * MAX_ITEMS)]
    assert len(read_conclusion(json.dumps({"bug_locations": many}))) == MAX_ITEMS


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ('{"scores": [1, 2]}', [1, 2]), ('{"scores": ["90", true]}', [90, 0]), ('{"scores": [500, -3]}', [100, 0]),
        ('{"scores": [7]}', [7, 0]), ('{"scores": [7, 8, 9]}', [7, 8]), ('{"scores": 5}', [0, 0]),
        ("80, 20", [80, 20]), ("85", [85, 0]), ("", [0, 0]), ('{"scores": [1e400, NaN]}', [100, 0]),
    ],
)  # fmt: skip
def test_scores_are_one_for_each_piece(text, scores):
    assert read_scores(text, 2) == scores
