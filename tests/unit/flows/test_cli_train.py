"""``python -m flows train``: what it writes, what it says before it takes hours, and what it leaves as it is."""

import pytest

from flows.cli import train
from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from fusesearch.core.storage import write_json
from tasks.running.places import MAIN
from tests.fakes.checkout import NANO, checked_out

OWN = "profile: own\nmine: {source: git}\nsplit: {sft: 0.5, rl: 0.25, validation: 0.25}\n"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout in which stages are not run, but leave 80 fixes."""
    folder = checked_out(tmp_path, monkeypatch)
    (folder / "experiments/profiles/own.yaml").write_text(OWN)
    (folder / "experiments/profiles/tall.yaml").write_text("profile: tall\nsft: {epochs: 9}\n")
    monkeypatch.setattr(train, "_reproduce", lambda stage: leave(80))
    return folder


def leave(fixes):
    write_json(MAIN["mine.table"], {"repositories": [{"repo": "o/n", "pairs": 100}]})
    write_json(MAIN["filter.drops"], {"only_docs": 100 - fixes, "bot": 0})
    write_json(MAIN["filter.metrics"], {"instances": fixes})


def test_histories_become_the_profile_own_over_a_students_and_what_the_user_changes_there_stays(run, checkout):
    assert run("train", "--plan", "--repo", "o/n=clone").exit_code == 0
    first = run("train", "--plan", "--student", "tall")
    assert first.exit_code == 0, first.output
    assert "o/n: 100 commits tell of a fault\n80 fixes are left (dropped most: only_docs 20)" in first.stdout
    assert "about 60 train, the newest 20 are held out" in first.stdout
    assert "base checkpoint  the weights of ./no/base are not on this machine" in first.stdout
    stopped = run("train")
    assert (stopped.exit_code, "base checkpoint, tokenizer: what" in stopped.stderr) == (1, True)
    params = load_params(checkout / "params.yaml")
    assert (params.profile, params.sft.epochs, params.mine.source) == ("own", 9, "git")
    assert params.mine.git.repositories == [f"o/n={checkout / 'clone'}"]
    changed = (checkout / "params.yaml").read_text() + "# changed\n"
    (checkout / "params.yaml").write_text(changed)
    for again in ([], ["--repo", "o/n=clone"]):
        assert run("train", "--plan", *again).exit_code == 0
        assert (checkout / "params.yaml").read_text() == changed
    assert run("train", "--plan", "--repo", "o/other=clone").exit_code == 0
    assert "changed" not in (checkout / "params.yaml").read_text()
    assert run("profile", "use", "nano").exit_code == 0
    assert (checkout / "params.yaml").read_text() == NANO


def test_the_last_lines_are_the_table_and_whether_the_student_is_worth_serving(run, checkout, monkeypatch):
    def report(stage):
        leave(80)
        figures = {"sft_rl.f1_macro": 0.5, "sft_rl.f1_macro.low": 0.25, "sft_rl.f1_macro.high": 0.75, "sft_rl.errored": 0}
        write_json(MAIN["report.metrics"], figures | {"sft_rl-ranker.f1_macro": -0.1})
        MAIN["report.markdown"].write_text("# Page\n\n**open, not worth serving: by far**\n\n**Table**\n")

    monkeypatch.setattr(train, "_reproduce", report)
    monkeypatch.setattr(train, "_missing", list)
    done = run("train", "--repo", "o/n=clone").stdout
    assert all(text in done for text in ("sft_rl", "50.0", "[25.0, 75.0]", "\nopen, not worth serving: by far\n"))


def test_without_a_history_nothing_is_written_and_too_few_fixes_are_one_line(run, checkout, monkeypatch):
    assert run("train").exit_code == 2
    assert (checkout / "params.yaml").read_text() == NANO
    monkeypatch.setattr(train, "_reproduce", lambda stage: leave(12))
    few = run("train", "--repo", "o/n=clone")
    assert (few.exit_code, few.stderr.count("\n")) == (1, 1)
    assert "12 fixes are left, too few" in few.stderr


def test_a_stage_that_fails_is_said_in_its_own_words(monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.py").write_text(
        "import sys\nprint('Running')\nprint('error: no such git repository', file=sys.stderr)\nsys.exit(1)"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(DataError, match=r"^no such git repository$"):
        train._reproduce("filter")
    assert "Running" in capfd.readouterr().out
