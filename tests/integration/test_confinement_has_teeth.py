"""The tests of the confinement fail when it is taken out, layer by layer: what they assert is owed to it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.rare
ROOT = Path(__file__).parents[2]
CONFINEMENT = "tests/integration/test_confinement.py::"
TREES = "tests/integration/test_hostile_trees.py::"
REPOSITORY = "tests/unit/search/test_repository.py::"
LEAK = "CANARY"

LAYERS = [
    ("paths", REPOSITORY + "test_paths_that_lead_out_are_refused", "DID NOT RAISE"),
    ("paths", TREES + "test_a_snapshot_of_hard_links_leads_to_no_other_snapshot", LEAK),
    ("paths", CONFINEMENT + "test_every_link_out_is_refused_by_every_tool", "is outside /repo"),
    ("opening", REPOSITORY + "test_opening_follows_no_link_put_there_after_resolving", "DID NOT RAISE"),
    ("links", TREES + "test_no_configuration_of_ripgrep_or_git_has_a_say", LEAK),
    ("hidden", CONFINEMENT + "test_a_search_of_everything_finds_only_what_is_inside", ".env"),
    ("ignore-check", REPOSITORY + "test_an_ignore_file_that_is_no_regular_file_is_never_opened[link]", "assert"),
    ("empty-environment", TREES + "test_no_configuration_of_ripgrep_or_git_has_a_say", LEAK),
]


@pytest.mark.parametrize(
    ("layer", "test", "shown"), LAYERS, ids=[f"{layer}-{test.rpartition('::')[2]}" for layer, test, _ in LAYERS]
)
def test_without_a_layer_its_tests_fail(layer, test, shown):
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "tests.fakes.unconfined", f"--without={layer}", test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert shown in done.stdout
