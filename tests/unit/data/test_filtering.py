"""Filter rules: each drops what it says, under its own name, and nothing a row holds makes it stumble."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.config import Filter, parse_section
from fusesearch.core.errors import ConfigError
from fusesearch.core.presets import FILTER_PRESETS
from fusesearch.core.schema import Instance, Truth
from fusesearch.data.filtering import RULES, check_skip, contested_issues, drop_table, filter_pairs
from fusesearch.data.giveaways import leaks

FILES = {
    "pkg/a.py": "def f(x):\n    return x\n",
    "pkg/b.py": "def g(x):\n    return x\n",
    "pkg/c.c": "class ) { ]] ((\n" * 3,
    "tests/test_a.py": "def test():\n    assert f(1)\n",
    "README.md": "one\ntwo\n",
    "setup.cfg": "one\ntwo\n",
}
ISSUE = "Calling it with a number gives back the number itself, which is not what the manual says."


def edit(path: str, old: str = "    return x", new: str = "    return -x") -> str:
    lines = new.split("\n")
    return f"--- a/{path}\n+++ b/{path}\n@@ -2 +2,{len(lines)} @@\n-{old}\n" + "".join(f"+{line}\n" for line in lines)


def added(path: str) -> str:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"


CODE = edit("pkg/a.py")
LONG = edit("pkg/a.py", new="    return -x if x > 100 else x + 1")
TEST = edit("tests/test_a.py", "    assert f(1)", "    assert f(2)")
DOCS = edit("README.md", "two", "three")
CONFIG = edit("setup.cfg", "two", "three")


def pair(**changes: object) -> Instance:
    row = {"instance_id": "i", "repo": "o/n", "base_commit": "c", "problem_statement": ISSUE, "patch": CODE}
    return Instance.model_validate(row | changes)


def run(pairs: list[Instance], **rules: object) -> tuple[list[Instance], dict[str, int]]:
    drops: Counter[str] = Counter()
    kept = list(filter_pairs(pairs, Filter.model_validate(rules), lambda _: FILES.get, drops))
    assert len(kept) + drops.total() == len(pairs)
    assert sum(drop_table(drops).values()) == drops.total()
    return kept, {rule: count for rule, count in drop_table(drops).items() if count}


def test_a_kept_pair_has_its_truth_and_keeps_the_rest():
    kept, drops = run([pair(provenance={"source": "git"}, hints="kept")])
    assert drops == {}
    assert kept[0].truth == Truth(files=["pkg/a.py"], functions=["pkg/a.py::f"], lines={"pkg/a.py": [(2, 2)]})
    assert kept[0].provenance == {"source": "git", "leaks": []}
    assert kept[0].model_extra == {"hints": "kept"}
    # new tests, documents and their functions are no reason to drop
    more = edit("tests/test_a.py", "    assert f(1)", "    assert f(2)\ndef test_more(): pass")
    kept, drops = run([pair(patch=CODE + added("tests/test_new.py") + added("changelog/12.fix.rst") + more)])
    assert (drops, kept[0].truth.added_files) == ({}, ["tests/test_new.py", "changelog/12.fix.rst"])
    named = Truth(files=["pkg/a.py"], functions=["pkg/a.py::C.compute"])
    assert leaks("compute(1) in pkg/a.py fails", named) == ["file", "function"]
    assert leaks("recompute fails in a.py", named) == []


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"problem_statement": ISSUE + "\0"}, "binary_text"),
        ({"patch": CODE + "\0"}, "binary_text"),
        ({"problem_statement": "   bad \n" + " " * 100}, "short_issue"),
        ({"problem_statement": "x" * 1_000_000}, "long_issue"),
        ({"patch": CODE + "+" * 1_000_001}, "large_patch"),
        ({"provenance": {"bot": True}}, "bot"),
        ({"provenance": {"author": "dependabot[bot]"}}, "bot"),
        ({"provenance": {"author": "renovate-bot"}}, "bot"),
        ({"provenance": {"issues": [3, "a/b#3"]}}, "several_issues"),
        ({"provenance": {"pull": 12}, "problem_statement": ISSUE + " See #12."}, "links_fix"),
        ({"provenance": {"pull": 12}, "problem_statement": ISSUE + " PR 12 mends it"}, "links_fix"),
        ({"provenance": {"pull": 12}, "problem_statement": ISSUE + " https://github.com/o/N/pull/12/files"}, "links_fix"),
        ({"provenance": {"merge_commit": "abcdef0" * 5}, "problem_statement": ISSUE + " Fixed in abcdef0abcd."}, "links_fix"),
        ({"patch": LONG, "problem_statement": ISSUE + "\n+    return -x if x > 100 else x + 1"}, "shows_fix"),
        ({"patch": ""}, "malformed_patch"),
        ({"patch": "I fixed it, see the other branch."}, "malformed_patch"),
        ({"patch": CODE.replace("@@ -2 +2,1", "@@ -2,9 +2,9")}, "malformed_patch"),
        ({"patch": CODE.replace("b/pkg/a.py", "b/../../etc/passwd")}, "malformed_patch"),
        ({"patch": "".join(added(f"docs/{number}.md") for number in range(16)) + CODE}, "too_many_files"),
        ({"patch": TEST}, "only_tests"),
        ({"patch": DOCS}, "only_docs"),
        ({"patch": CONFIG}, "only_config"),
        ({"patch": TEST + DOCS + CONFIG}, "no_code_change"),
        ({"patch": CODE.replace("-    return x", "-    return y")}, "does_not_apply"),
        ({"patch": CODE.replace("pkg/a.py", "pkg/none.py")}, "does_not_apply"),
        ({"patch": CODE + added("pkg/new.py")}, "adds_file"),
        ({"patch": edit("pkg/a.py", new="    return -x\ndef h(): pass")}, "adds_function"),
        ({"patch": edit("pkg/c.c", "class ) { ]] ((", "class X;")}, "functions_unknown"),
        ({"patch": "--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -0,0 +1 @@\n+import os\n" + TEST}, "no_existing_function"),
    ],
)  # fmt: skip
def test_each_rule_drops_under_its_name(changes, rule):
    assert run([pair(**changes)]) == ([], {rule: 1})


@pytest.mark.parametrize(
    "changes",
    [
        {"provenance": {"bot": "maybe", "author": None, "issues": "many", "pull": "twelve", "merge_commit": 3}},
        {"provenance": {"issues": [3, 3, "o/n#3"], "author": "robot"}},
        {"provenance": {"pull": 12}, "problem_statement": ISSUE + " See other/repo#12, #123 and a/b/pull/12."},
        {"problem_statement": ISSUE + " See #12 and https://github.com/o/n/pull/12."},
        {"patch": LONG, "problem_statement": ISSUE + " It should return x + 1."},
    ],
)
def test_unknown_facts_and_disabled_rules_drop_nothing(changes):
    assert run([pair(**changes)])[1] == {}


def test_issues_that_several_pull_requests_close_are_dropped_with_all_of_them():
    pulls = [(1, [7]), (2, [7]), (3, [8]), (3, [9])]
    pairs = [
        pair(instance_id=str(n), problem_statement=f"{ISSUE} {n}", provenance={"pull": pull, "issues": issues})
        for n, (pull, issues) in enumerate(pulls)
    ]
    contested = contested_issues({"repo": row.repo, "provenance": row.provenance} for row in pairs)
    assert contested == {"o/n#7"}
    drops: Counter[str] = Counter()
    kept = list(filter_pairs(pairs, Filter(), lambda _: FILES.get, drops, contested))
    assert ([row.instance_id for row in kept], drops) == (["2", "3"], {"several_pulls": 2})


def test_near_duplicates_are_dropped_only_when_asked_for():
    words = [f"word{number}" for number in range(200)]
    pairs = [pair(instance_id=str(n), problem_statement=" ".join([*words[:150], *words[150 + 2 * n :]])) for n in range(2)]
    other = "\n".join(f"    y{number} = x" for number in range(20))
    pairs += [
        pair(instance_id=f"p{n}", problem_statement=f"{ISSUE} {n}" * 9**n, patch=edit("pkg/b.py", new=f"{other}\n    return {n}"))
        for n in range(2)
    ]
    assert run(pairs)[1] == {}
    kept, drops = run(pairs, near_duplicate=0.8)
    assert [row.instance_id for row in kept] == ["0", "p0"]
    assert drops == {"similar_issue": 1, "similar_patch": 1}


def test_presets_set_the_values_that_are_not_given_and_rules_can_be_skipped_but_not_those_truth_needs():
    assert run([pair(patch=TEST)], skip=["only_tests", "no_code_change", "no_existing_function"])[1] == {}
    for skip, said in (("tests_only", "unknown rule 'tests_only'"), ("does_not_apply", "does_not_apply cannot be skipped")):
        with pytest.raises(ConfigError, match=said):
            check_skip(Filter(skip=[skip]))
    assert set(FILTER_PRESETS) == {"fusesearch", "tooltrain", "strict"}
    for name in FILTER_PRESETS:
        check_skip(parse_section(Filter, {"preset": name}, "params"))
    adds = [pair(patch=CODE + added("pkg/new.py"))]
    assert run(adds, preset="tooltrain", min_issue_chars=40)[1] == {}
    assert run(adds, preset="fusesearch")[1] == {"adds_file": 1}
    with pytest.raises(ConfigError, match="preset"):
        parse_section(Filter, {"preset": "best"}, "params")


def test_duplicates_are_those_of_kept_pairs():
    again = "CALLING it, with a number: gives back `the number` itself,\n\nwhich is not what the manual says!"
    pairs = [pair(patch=DOCS), pair(), pair(), pair(instance_id="j", problem_statement=again), pair(instance_id="k", patch="")]
    kept, drops = run(pairs)
    assert [instance.instance_id for instance in kept] == ["i"]
    assert drops == {"malformed_patch": 1, "only_docs": 1, "duplicate_id": 1, "duplicate_issue": 1}


def test_pairs_stream_one_by_one():
    endless = (pair(instance_id=str(number), problem_statement=f"{ISSUE} {number}") for number in count())
    stream = filter_pairs(endless, Filter(), lambda _: FILES.get, Counter())
    assert [next(stream).instance_id for _ in range(3)] == ["0", "1", "2"]


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60), st.booleans()), max_size=5))
def test_no_row_makes_it_stumble(rows):
    pairs = [
        pair(instance_id=issue, problem_statement=issue * 3, patch=CODE + text if glued else text) for issue, text, glued in rows
    ]
    kept, drops = run(pairs)
    assert set(drops) <= set(RULES)
    assert all(instance.truth and instance.truth.functions for instance in kept)
