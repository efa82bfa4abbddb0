"""The split stage says of every instance where it went; the evaluate stage's grid is of the held-out ones."""

from fusesearch.core.config import Params, Split, parse_params
from fusesearch.core.schema import Instance
from fusesearch.core.storage import count_rows, read_csv, read_instances, write_instances, write_json
from tasks.evaluate import held_out_grid
from tasks.running.node import Job, Node
from tasks.running.places import MAIN, Places
from tasks.split import split_instances


def instance(repo, number, issue=""):
    name = f"{repo}-{number}"
    issue = issue or f"the issue of {name}"
    return Instance(instance_id=name, repo=repo, base_commit="c", problem_statement=issue, patch=f"+{name}\n")


def test_every_instance_is_in_one_split_or_dropped_with_a_reason(tmp_path):
    held_out, bench = instance("held/out", 0), instance("bench/mark", 0)
    copies = [instance("o/1", 90, held_out.problem_statement), instance("o/2", 91, bench.problem_statement.upper())]
    rows = [held_out, *(instance(f"o/{number}", number) for number in range(20)), *copies, instance("bench/mark", 92)]
    places = Places(root=tmp_path)
    (tmp_path / "bench.jsonl").write_text(bench.model_dump_json())
    write_instances(places["filter.instances"], rows)
    write_json(places["filter.drops"], {})
    write_json(places["mine.table"], {})
    places["mine.repos"].mkdir()
    params = Params(split=Split(validation_owners=["held"], benchmarks=[tmp_path / "bench.jsonl"]))
    (tmp_path / "scratch").mkdir()
    figures = split_instances(Job(Node(stage="split"), params, places, tmp_path / "scratch"))

    dropped = {row["id"]: row["rule"] for row in read_csv(places["split.dropped"])}
    assert dropped == {"o/1-90": "same_issue", "o/2-91": "same_issue", "bench/mark-92": "benchmark_repository"}
    kept = [row.instance_id for name in ("sft", "rl", "validation") for row in read_instances(places[f"split.{name}"])]
    assert sorted([*kept, *dropped]) == sorted(row.instance_id for row in rows)
    assert (figures["dropped_same_issue"], figures["dropped_benchmark_repository"]) == (2, 1)
    assert count_rows(places["split.validation"]) == 1


def test_an_agent_may_be_evaluated_otherwise_than_it_was_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_instances(
        MAIN["split.validation"], [Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement="It breaks.")]
    )
    params = parse_params({"agent": {"max_turns": 5, "mode": "sequential"}, "evaluate": {"agent": {"max_turns": 2}}})
    agent = held_out_grid(params, MAIN).agent
    assert (agent.max_turns, agent.mode, params.agent.max_turns) == (2, "sequential", 5)
