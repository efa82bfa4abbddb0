"""An experiment beside a reproduction, as a user runs it: only what differs runs, killed on the way, and once only.

The tests go on in the project that the tests of the reproduction left, and build on each other.
"""

import pytest
import yaml

from tasks.running.places import NODES

pytestmark = [pytest.mark.rare, pytest.mark.timeout(1500)]

EXPERIMENT = {
    "title": "Fewer trajectories",
    "question": "Are four trajectories enough?",
    "hypothesis": "No.",
    "paper": {"table": "fusesearch_table4_filtering.csv", "caption": "table 4"},
    "arms": {
        "few": {"set": {"select.max_trajectories": 4}, "paper_row": {"filtering": "none"}},
        "all": {"label": "As in params.yaml", "paper_row": {"filtering": "joint"}},
    },
    "seeds": [0],
    "metrics": ["f1_macro", "efficiency", "turns"],
    "primary": "f1_macro",
    "claims": [{"metric": "f1_macro", "better": "all", "than": "few", "paper": True}],
}


def nodes(project):
    """The experiment's own nodes, by stage."""
    return {
        stage: name
        for stage, names in yaml.safe_load((project.root / "experiments/nodes.yaml").read_text()).items()
        for name in names
    }


def lock(project):
    stages = yaml.safe_load((project.root / "experiments/dvc.lock").read_text())["stages"]
    return [name.rpartition("@")[2] for name in stages]


def test_a_dry_run_names_what_differs_and_runs_nothing(project):
    folder = project.root / "experiments/few"
    folder.mkdir(parents=True)
    (folder / "experiment.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
    done = project.run("flows", "experiment", "run", "few", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert all(f"  {name}" in done.stdout for name in ("select-", "sft-", "evaluate-", "results-few"))
    assert "main pipeline" not in done.stdout
    assert "4 of" in done.stdout
    assert not (project.root / NODES).exists()


def test_a_killed_run_goes_on_where_it_was_and_shares_what_is_there(project):
    before = (project.root / "dvc.lock").read_bytes()
    trained = project.root / ".fusesearch/progress"

    def saved_a_step():
        return any(trained.glob("sft-*-*/trainer/checkpoint-1/trainer_state.json"))

    project.kill_during(("flows", "experiment", "run", "few"), saved_a_step)
    assert lock(project) == [nodes(project)["select"]]

    done = project.run("flows", "experiment", "run", "few")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{nodes(project)['select']}: " not in done.stdout + done.stderr
    assert set(lock(project)) == set(nodes(project).values())
    assert (project.root / "dvc.lock").read_bytes() == before
    assert not list(trained.iterdir())


def test_a_second_run_does_nothing(project):
    before = sorted((path, path.stat().st_mtime_ns) for path in (project.root / NODES).rglob("*"))
    done = project.run("flows", "experiment", "run", "few")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nothing to do")
    assert project.run("dvc", "repro", "experiments/dvc.yaml").stdout.count("Running stage") == 1, "that of the code"
    assert before == sorted((path, path.stat().st_mtime_ns) for path in (project.root / NODES).rglob("*"))
