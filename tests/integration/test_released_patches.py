"""A submission's patches against a real git repository, from the command line to the alternatives of a grid."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fusesearch.data.swe_bench import read_rows
from fusesearch.data.truth import truth_in_git
from fusesearch.evaluation.predictions import score_files
from tests.fakes.commands import app
from tests.fakes.git import committed, git

SHOP = "class Shop:\n    def sell(self, price):\n        return 1\n\n\ndef total(prices):\n    return 2\n"
BANK = "def interest(rate):\n    return rate\n"


def diff_of(folder: Path, path: str, text: str) -> str:
    """What git says of writing ``text`` to a file, which stays as it was."""
    (folder / path).write_text(text)
    patch = git(folder, "diff") + "\n"
    git(folder, "checkout", "-q", ".")
    return patch


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("released")
    work, repos = root / "work", root / "repos"
    repos.mkdir()
    older = committed(work, {"shop.py": SHOP.replace("1", "0"), "bank.py": BANK})
    stale = diff_of(work, "shop.py", SHOP.replace("1", "9"))
    base = committed(work, {"shop.py": SHOP})
    git(repos, "clone", "-q", "--bare", str(work), "o__n.git")
    assert older != base
    gold = diff_of(work, "shop.py", SHOP.replace("2", "3"))
    elsewhere = diff_of(work, "bank.py", BANK.replace("return rate", "return 0"))
    ids = ["as-gold", "elsewhere", "stale", "empty", "hostile"]
    rows = [
        {"instance_id": name, "repo": "o/n", "base_commit": base, "problem_statement": "2 is wrong", "patch": gold}
        for name in ids
    ]
    hostile = f"--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-\x1b[31m{'(' * 9000}\n+x\n"
    texts = [gold, elsewhere, stale, None, hostile]
    predictions = [
        {"instance_id": name, "model_name_or_path": "agent", "model_patch": text} for name, text in zip(ids, texts, strict=True)
    ]
    files = {"instances": rows, "predictions": [*predictions, {"instance_id": "other", "model_patch": gold}]}
    for name, lines in files.items():
        (root / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (root / "report.json").write_text(json.dumps({"resolved_ids": ["as-gold", "elsewhere", "empty", "other"]}))
    truth = truth_in_git(repos / "o__n.git", base, gold)
    assert truth.functions == ["shop.py::total"]
    return {"root": root, "repos": repos}


def run(given: dict[str, Path], *more: str, format_: str = "patches"):
    root = given["root"]
    files = [str(root / "predictions.jsonl"), "--instances", str(root / "instances.jsonl"), "--repos", str(given["repos"])]
    return CliRunner().invoke(app, ["import-predictions", "--format", format_, *files, "--out", str(root / "out.jsonl"), *more])


def test_patches_are_scored_as_localization_and_those_that_resolve_are_alternatives(given):
    root = given["root"]
    report, truth, others = root / "report.json", root / "truth.jsonl", root / "others.jsonl"
    done = run(given, "--truth", str(truth), "--resolved", str(report), "--alternatives", str(others))
    assert done.exit_code == 0, done.output
    first, *faults = done.output.splitlines()
    assert first.endswith(
        "out.jsonl: 5 of 5 instances have a patch; 2 modify 2 files and 2 functions; 2 are alternatives; "
        "1 patches for unknown instances left out"
    )
    assert sum(int(line.split()[0]) for line in faults) == 3
    assert {"no patch", "does not apply"} == {name for name in ("no patch", "does not apply") for line in faults if name in line}
    assert "\x1b" not in done.output
    scored = score_files(root / "out.jsonl", truth)
    assert (scored["instances"], scored["missing"]) == (5, 0)
    assert scored["file"]["macro"]["recall"] == pytest.approx(1 / 5)
    (elsewhere,) = [row for row in read_rows(others) if row["instance_id"] == "elsewhere"]
    assert (elsewhere["files"], elsewhere["functions"]) == (["bank.py"], ["bank.py::interest"])


def test_a_gold_patch_has_all_of_its_truth(given):
    root = given["root"]
    rows = [json.loads(line) for line in (root / "instances.jsonl").read_text().splitlines()]
    gold = root / "gold.jsonl"
    gold.write_text("".join(json.dumps({"instance_id": row["instance_id"], "model_patch": row["patch"]}) + "\n" for row in rows))
    arguments = [str(gold), "--instances", str(root / "instances.jsonl"), "--repos", str(given["repos"])]
    paths = ["--out", str(root / "g.jsonl"), "--truth", str(root / "t.jsonl")]
    done = CliRunner().invoke(app, ["import-predictions", "--format", "patches", *arguments, *paths])
    assert done.exit_code == 0, done.output
    assert score_files(root / "g.jsonl", root / "t.jsonl")["f1"]["micro"] == 1


@pytest.mark.parametrize(
    ("more", "format_", "message"),
    [
        (["--resolved", "report.json"], "patches", "go together"),
        (["--resolved", "report.json", "--alternatives", "a.jsonl"], "cosil", "with --format patches"),
        (["--resolved", "gone.json", "--alternatives", "a.jsonl"], "patches", "gone.json"),
        ([], "patch", "agentless, cosil, locagent, orcaloca, patches"),
    ],
)
def test_what_the_command_cannot_do_is_one_line(given, more, format_, message):
    done = run(given, *more, format_=format_)
    assert (done.exit_code, len(done.output.splitlines())) == (1, 1)
    assert message in done.output


def test_two_patches_for_an_instance_are_refused(given, tmp_path):
    twice = given["root"] / "predictions.jsonl"
    arguments = [str(twice), str(twice), "--instances", str(given["root"] / "instances.jsonl"), "--repos", str(given["repos"])]
    done = CliRunner().invoke(app, ["import-predictions", "--format", "patches", *arguments, "--out", str(tmp_path / "o.jsonl")])
    assert done.exit_code == 1
    assert "as-gold has two patches" in done.output
    assert not (tmp_path / "o.jsonl").exists()
