"""The benchmark of published predictions from end to end, over small repositories that release them as the real ones do."""

import json

import pytest
from typer.testing import CliRunner

from experiments.benchmarks.published.runs import LITE, LOCAGENT_METRIC, TRUTH_FILE, VERIFIED, Sources, measure
from tests.fakes.git import committed

CODE = "class Shop:\n    def __init__(self):\n        self.open = 1\n\n\ndef total(prices):\n    return 2\n"
PATCHES = {
    "total": "@@ -6,2 +6,2 @@\n def total(prices):\n-    return 2\n+    return 3\n",
    "init": "@@ -1,3 +1,3 @@\n class Shop:\n     def __init__(self):\n-        self.open = 1\n+        self.open = 2\n",
}
ENTITIES = {"total": ["shop.py:total"], "init": ["shop.py:Shop"]}
LEFT_OUT = "o__n-3"


def json_lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Sources:
    root = tmp_path_factory.mktemp("released")
    base = committed(root / "repos/o__n.git", {"shop.py": CODE})
    patches = {"o__n-1": "total", "o__n-2": "init", LEFT_OUT: "total"}
    rows = [
        {
            "instance_id": name, "repo": "o/n", "base_commit": base, "problem_statement": "prices",
            "patch": f"diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n{PATCHES[patch]}",
        }
        for name, patch in patches.items()
    ]  # fmt: skip
    answers = [
        {
            "instance_id": "o__n-1",
            "found_files": ["shop.py"],
            "found_related_locs": {"shop.py": ["class: Shop\nfunction: total"]},
        },
        {"instance_id": "o__n-2", "found_files": ["gone.py"], "found_related_locs": {"gone.py": ["function: Shop.__init__"]}},
    ]
    truth = {"o__n-1": ["shop.py::total"], "o__n-2": ["shop.py::Shop.__init__"], LEFT_OUT: ["shop.py"]}
    committed(root / "cosil", {run.path: json_lines(answers) for run in VERIFIED} | {TRUTH_FILE: json.dumps(truth)})
    committed(root / "tooltrain", {TRUTH_FILE: json.dumps(truth)})
    located = [
        {
            "instance_id": row["instance_id"], "found_files": ["shop.py"], "found_modules": ["shop.py:Shop"],
            "found_entities": ["shop.py:Shop"],
            "meta_data": {key: value for key, value in row.items() if key != "instance_id"}
            | {"gt_file_changes": [{"file": "shop.py", "changes": {"edited_entities": ENTITIES[patches[row["instance_id"]]]}}]},
        }
        for row in rows
    ]  # fmt: skip
    committed(root / "locagent", {LITE.path: json_lines(located), LOCAGENT_METRIC: f"filtered = ['{LEFT_OUT}']\n"})
    (root / "verified.jsonl").write_text(json_lines(rows))
    return Sources(root / "cosil", root / "tooltrain", root / "locagent", root / "verified.jsonl", root / "repos")


def test_both_rules_are_applied_to_what_is_released(sources, tmp_path):
    figures = measure(sources, tmp_path, None)
    run = figures["verified"]["cosil_qwen-7b"]
    assert run["tooltrain_rule"]["file"]["recall@1"] == pytest.approx(1 / 3)
    # by name both are right, the second in a file that is not there; one of three instances has no function to find
    assert run["tooltrain_rule"]["function"]["recall@5"] == pytest.approx(2 / 3)
    assert run["luck"] == {"hits": 2, "in_another_file": 1}
    assert run["ours"]["function"]["recall@5"] == pytest.approx(1 / 3)
    assert run["ours"]["function"]["instances"] == 3
    assert run["tally"]["unmatched"] == {
        "file: no such file": 1,
        "function: a class, no function": 1,
        "function: no such file": 1,
    }
    assert sum(1 for _ in (tmp_path / "cosil_qwen-7b.jsonl").open()) == 2


def test_locagents_release_is_scored_with_its_own_truth_and_ours(sources, tmp_path):
    lite = measure(sources, tmp_path, None)["lite"]
    assert lite["acc"]["instances"] == 2
    assert lite["acc"]["function_acc@5"] == 0.5
    assert lite["acc_all"]["function_acc@5"] == pytest.approx(1 / 3)
    assert lite["ours"]["acc"]["function_acc@5"] == 0
    assert lite["ours_init"]["acc"]["function_acc@5"] == 0.5
    assert lite["ours_init"]["tally"]["found"]["function: class for its __init__"] == 3


def test_the_command_prints_theirs_beside_ours(sources, tmp_path):
    from typer import Typer

    from experiments.benchmarks.published.__main__ import main

    app = Typer()
    app.command()(main)
    options = {"--out": tmp_path, "--limit": 2} | {f"--{name}": getattr(sources, name) for name in sources.__dataclass_fields__}
    done = CliRunner().invoke(app, [str(part) for pair in options.items() for part in pair])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "tables.md").read_text() in done.output
    assert "| CoSIL | Qwen-7B | file | 50.00 (51.11) |" in done.output
    assert "| OrcaLoca | Qwen-32B | function |" in done.output
    assert json.loads((tmp_path / "figures.json").read_text())["lite"]["system"] == "LocAgent"
