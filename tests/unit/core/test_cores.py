"""One OpenMP thread a process, unless the user chose."""

import os
import subprocess
import sys

PROGRAM = "import flows, os; print(os.environ['OMP_NUM_THREADS'])"


def threads(**chosen: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | chosen
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True).stdout


def test_a_stage_has_one_openmp_thread_unless_the_user_chose() -> None:
    assert threads().strip() == "1"
    assert threads(OMP_NUM_THREADS="2").strip() == "2"
