"""One OpenMP thread a process, unless the user chose."""

import importlib
import os

import flows


def test_a_stage_has_one_openmp_thread_unless_the_user_chose(monkeypatch):
    for chosen, threads in ((None, "1"), ("2", "2")):
        monkeypatch.delenv("OMP_NUM_THREADS") if chosen is None else monkeypatch.setenv("OMP_NUM_THREADS", chosen)
        importlib.reload(flows)
        assert os.environ["OMP_NUM_THREADS"] == threads
