"""The ranker on a tree of 100,000 files, through the real command."""

import os
import resource
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.rare, pytest.mark.timeout(1800)]


def test_a_tree_of_a_hundred_thousand_files_has_an_answer_in_bounded_memory(tmp_path):
    for folder in range(100):
        (tmp_path / f"tree/package_{folder}").mkdir(parents=True)
        for number in range(1000):
            source = f"def collect_{folder}_{number}(rows):\n    return sorted(rows)\n"
            (tmp_path / f"tree/package_{folder}/module_{number}.py").write_text(source)
    command = [sys.executable, "-c", "from fusesearch.cli.app import main; main()", "localize", "--repo", tmp_path / "tree"]
    for _ in ("cold", "warm"):
        done = subprocess.run(
            [*command, "--issue", "collect_42_777 loses rows"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30)),
        )
        assert done.returncode == 0, done.stderr
        assert "package_42/module_777.py:1-2  collect_42_777" in done.stdout
