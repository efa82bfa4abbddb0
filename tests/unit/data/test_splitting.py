"""Splits: by repository, stable, near their shares, and free of what is held out."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.config import Split
from fusesearch.core.dropped import write_dropped
from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import write_instances
from fusesearch.data.contamination import barred_instances
from fusesearch.data.splitting import MANY, SPLITS, TableSplit, assign, check_filled, counts_of, plan_splits

PATCH = "--- a/{0}.py\n+++ b/{0}.py\n@@ -1 +1 @@\n-x = {0}\n+y = {0}\n"


def instance(repo, number=0, **changes):
    name = f"{repo}-{number}"
    row = {"instance_id": name, "repo": repo, "base_commit": "c", "problem_statement": f"issue {name}"}
    return Instance.model_validate(row | {"patch": PATCH.format(name)} | changes)


def many(count=40):
    return [instance(f"owner{repo}/name", number) for repo in range(count) for number in range(3)]


RULES = Split(validation_owners=["owner1", "OWNER2"])


def split_and_count(instances, rules, seed):
    """The splits of a table, and how many instances each reason dropped."""
    with TemporaryDirectory() as folder:
        write_instances(Path(folder, "table.parquet"), instances)
        table = TableSplit(Path(folder, "table.parquet"), rules, seed)
        parts = {name: list(table.instances(name)) for name in SPLITS}
    check_filled({name: len(part) for name, part in parts.items()}, rules, len(table.dropped))
    return parts, counts_of(table.dropped)


def test_every_repository_is_in_exactly_one_split_and_owners_are_held_out():
    parts, _ = split_and_count(many(), RULES, 0)
    assert list(parts) == list(SPLITS)
    assert sorted(i.instance_id for part in parts.values() for i in part) == sorted(i.instance_id for i in many())
    repos = [{i.repo for i in part} for part in parts.values()]
    assert not repos[0] & repos[1]
    assert repos[2] == {"owner1/name", "owner2/name"}


def test_shares_are_met_roughly_and_seeds_differ():
    for sft, rl in ((0.5, 0.5), (0.8, 0.2), (1.0, 0.25), (0.0, 1.0)):
        counts = Counter(assign(f"o/{number}", Split(sft=sft, rl=rl), 3) for number in range(4000))
        assert counts["sft"] / 4000 == pytest.approx(sft / (sft + rl), abs=0.03)
    counts = Counter(assign(f"o/{number}", Split(sft=0.5, rl=0.1, validation=0.4), 3) for number in range(4000))
    assert [counts[name] / 4000 for name in SPLITS] == pytest.approx([0.5, 0.1, 0.4], abs=0.03)
    assert [assign(f"o/{n}", RULES, 0) for n in range(64)] != [assign(f"o/{n}", RULES, 1) for n in range(64)]
    small, large = Split(sft=0.3, rl=0.7), Split(sft=0.6, rl=0.7)  # a share that grows takes repositories in and lets none go
    moved = {(assign(f"o/{n}", small, 0), assign(f"o/{n}", large, 0)) for n in range(300)}
    assert moved == {("sft", "sft"), ("rl", "sft"), ("rl", "rl")}


WORDS = " ".join(f"word{n}" for n in range(100))
STEPS = "".join(f"+    step{n}(value)\n" for n in range(20))


def test_training_is_cleared_of_benchmarks_under_any_name_and_of_validation_and_of_what_is_like_them(tmp_path):
    long_patch = "--- a/x.py\n+++ b/x.py\n@@ -1 +1,20 @@\n-old\n{0}"
    bench = [
        instance("Bench/Project", 1), instance("pylint-dev/pylint", 1),
        instance("other/thing", 2, problem_statement="The  same: ISSUE", patch=PATCH.format("p")),
        instance("other/thing", 3, problem_statement=WORDS, patch=long_patch.format(STEPS)),
    ]  # fmt: skip
    (tmp_path / "bench.jsonl").write_text("".join(i.model_dump_json() + "\n" for i in bench))
    dirty = [
        instance("bench/project", 7),
        instance("project/part", 7, provenance={"source": "synthetic"}),
        instance("PyCQA/pylint", 3),
        instance("someone/fork", 4, provenance={"fork_of": "pylint-dev/pylint"}),
        instance("owner5/name", 70, problem_statement="the same issue!"),
        instance("owner6/name", 71, patch="diff --git a/p.py b/p.py\n" + PATCH.format("p").replace("-1 +1", "-9 +9")),
        instance("owner7/name", 72, problem_statement="issue owner1/name-0"),
        instance("clean/one", 5, problem_statement=f"Please help! {WORDS} thanks"),
        instance("clean/two", 6, patch=long_patch.format("+import one\n" + STEPS)),
    ]
    innocent = instance("project/part2", 8)
    rules = Split(validation_owners=["owner1"], benchmarks=[tmp_path / "bench.jsonl"])
    parts, drops = split_and_count([*many(), *dirty, innocent], rules, 0)
    assert drops == {"benchmark_repository": 4, "same_issue": 2, "same_patch": 1, "similar_issue": 1, "similar_patch": 1}
    training = {i.instance_id for i in parts["sft"] + parts["rl"]}
    assert not training & {i.instance_id for i in dirty}
    assert innocent.instance_id in training
    assert len(training) == 39 * 3 + 1


def test_an_empty_split_is_a_clear_error_unless_its_share_is_nothing_and_so_is_a_table_of_another_kind(tmp_path):
    (tmp_path / "ids.csv").write_text("instance_id\na-1\n")
    for error, said, rules in (
        (ConfigError, r"validation would be empty .*validation_owners", {"validation_owners": ["nobody"]}),
        (ConfigError, r"rl would be empty .*data_seed", {"sft": 1, "rl": 1e-9}),
        (ConfigError, "all 0", {"sft": 0, "rl": 0}),
        (ArtifactError, r"ids\.csv lacks the columns id and rule", {"without": [tmp_path / "ids.csv"]}),
    ):
        with pytest.raises(error, match=said):
            split_and_count(many(), Split(**{"validation_owners": ["owner1"]} | rules), 0)
    for empty, rules in (("rl", {"sft": 1, "rl": 0}), ("sft", {"sft": 0, "rl": 1})):
        assert split_and_count(many(), Split(**rules, validation_owners=["owner1"]), 0)[0][empty] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", "{"), ("a.json", "3"), ("a.parquet", "x"), ("a.jsonl", '{"repo": 1}'), ("b.jsonl", "\udcff")],
)
def test_a_benchmark_that_cannot_be_read_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ArtifactError, match=name):
        list(barred_instances(tmp_path / name))
    with pytest.raises(ArtifactError, match=r"none\.jsonl is missing"):
        list(barred_instances(tmp_path / "none.jsonl"))


FAMILY = {
    "fork/b": {"fork_of": "first/a"},
    "new/a": {"renamed_from": "first/a"},
}


@given(st.integers(0, 40))
def test_forks_and_renamed_repositories_share_a_split(seed):
    rules = Split(sft=0.4, rl=0.3, validation=0.3)
    plan = plan_splits([("first/a", {}), *FAMILY.items(), *((f"o/{n}", {}) for n in range(20))], rules, seed)
    assert len({plan.split_of[name] for name in ("first/a", "fork/b", "new/a")}) == 1
    assert plan.split_of["first/a"] == assign("first/a", rules, seed)
    held = plan_splits([("owner1/x", {}), ("other/y", {"fork_of": "owner1/x"})], RULES, seed)
    assert set(held.split_of.values()) == {"validation"}


SHARES = Split(sft=0.5, rl=0.25, validation=0.25, validation_owners=["owner1"])


def dated(repo, number, **changes):
    """The ``number``th fix of a history, one a day."""
    when = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number)
    return instance(repo, number, provenance={"merged_at": when.isoformat()}, **changes)


def test_few_histories_are_divided_by_time_and_an_owner_is_held_out_whole_besides():
    repos = ("a/one", "b/two", "owner1/x")
    parts, _ = split_and_count([dated(repo, n) for n in reversed(range(20)) for repo in repos], SHARES, 0)
    for name, days in zip(SPLITS, (range(10), range(10, 15), range(15, 20)), strict=True):
        found = {row.instance_id for row in parts[name] if row.repo != "owner1/x"}
        assert found == {f"{repo}-{day}" for repo in repos[:2] for day in days}
    assert sum(row.repo == "owner1/x" for row in parts["validation"]) == 20


@pytest.mark.parametrize(
    ("repos", "share", "undated"),
    [(MANY, 0.25, []), (MANY - 1, 0.0, []), (MANY - 2, 0.25, [("o/new", {})])],
)
def test_a_repository_stays_whole_among_many_or_where_no_share_or_no_time_divides_it(repos, share, undated):
    rows = [(f"o/{n}", dated("o/n", day).provenance) for n in range(repos) for day in range(9)]
    assert not plan_splits([*rows, *undated], SHARES.model_copy(update={"validation": share}), 0).cuts
    assert len(plan_splits(rows[:-9], SHARES, 0).cuts) == repos - 1


def test_nothing_of_a_newer_fix_trains_as_a_near_copy_or_as_what_it_does_to_one_file():
    def change(path, lines):
        added = "".join(f"+{line}\n" for line in lines)
        return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,9 @@\n-old\n{added}"

    backport = change("core.py", [f"step{n}(value)" for n in range(9)])
    rows = [dated("a/one", n) for n in range(16)] + [
        dated("a/one", 0.1, problem_statement=f"Well: {WORDS}"),
        dated("a/one", 0.2, patch=backport + change("old.py", ["import this", "x = 1", "y = 2", "z = 3"])),
        dated("a/one", 30, problem_statement=WORDS),
        dated("a/one", 31, patch=change("new.py", ["a = 1", "b = 2", "c = 3", "d = 4"]) + backport),
    ]
    parts, drops = split_and_count(rows, SHARES, 0)
    assert {row.instance_id for row in parts["validation"]} >= {"a/one-30", "a/one-31"}
    assert (drops["similar_issue"], drops["similar_patch"], sum(drops.values())) == (1, 1, 2)


@given(st.integers(0, 20), st.sets(st.integers(0, 200), max_size=30))
def test_data_that_is_added_moves_nothing_from_training_to_validation(seed, added):
    rules = Split(sft=0.5, rl=0.3, validation=0.2)
    before = plan_splits([(f"o/{n}", {}) for n in range(50)], rules, seed).split_of
    more = [(f"more/{n}", {"fork_of": f"o/{n}"} if n % 2 else {"renamed_from": f"o/{n}"}) for n in added]
    after = plan_splits([*((f"o/{n}", {}) for n in range(50)), *more], rules, seed).split_of
    assert {repo: after[repo] for repo in before} == before


def test_nothing_trains_on_an_instance_of_a_table_and_its_reason_is_counted(tmp_path):
    parts, before = split_and_count(many(), RULES, 0)
    names = [parts[name][0].instance_id for name in SPLITS]
    write_dropped(tmp_path / "left_out.csv", [(name, "trivial") for name in names])
    rules = RULES.model_copy(update={"without": [tmp_path / "left_out.csv"]})
    now, counts = split_and_count(many(), rules, 0)
    assert now == {**{name: parts[name][1:] for name in ("sft", "rl")}, "validation": parts["validation"]}
    assert counts == before | {"trivial": 2}
