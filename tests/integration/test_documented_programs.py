"""Each program that a page or the Makefile names says how it is used."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile"))]
PROGRAM = re.compile(r"-m ((?:fusesearch|tasks|flows|dashboards|experiments\.[a-z])[\w.]*)")
NAMED = {name for page in PAGES for name in PROGRAM.findall(page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_program_that_a_page_names_says_how_it_is_used(name):
    done = subprocess.run([sys.executable, "-m", name, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "usage:" in (done.stdout + done.stderr).lower()
    assert "Traceback" not in done.stderr
