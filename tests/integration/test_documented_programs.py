"""Each program that a page or the Makefile names exists and says how it is used."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile"))]
PROGRAM = re.compile(r"-m ((?:fusesearch|tasks|flows|dashboards|experiments\.[a-z])[\w.]*)")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_programs_that_pages_name_say_how_they_are_used(monkeypatch, capsys):
    named = {name.rstrip(".") for page in PAGES for name in PROGRAM.findall(page.read_text(encoding="utf-8"))}
    assert named
    for name in sorted(named):
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        assert "usage:" in f"{capsys.readouterr().out}{ended.value.code}".lower(), name


def test_a_program_says_so_as_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-m", "flows", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "usage:" in done.stdout.lower()
