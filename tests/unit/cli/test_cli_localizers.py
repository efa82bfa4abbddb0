"""``fusesearch localizers``: a line for each system."""

import json

from fusesearch.localizers.registry import LOCALIZERS


def test_every_localizer_is_listed_with_what_it_needs(run):
    listed = run("localizers")
    assert listed.exit_code == 0
    rows = {line.split()[0]: line.split()[1] for line in listed.stdout.splitlines() if line.split()[1:2] in (["asked"], ["none"])}
    assert rows == {name: "asked" if entry.asks_model else "none" for name, entry in LOCALIZERS.items()}
    found = json.loads(run("localizers", "--format", "json").stdout)
    assert found["cosil"] == {"asks_model": True, "questions": False, "summary": LOCALIZERS["cosil"].summary}


def test_the_help_of_localize_names_the_list_and_fits_a_screen_or_two(run):
    shown = run("localize", "--help").stdout
    assert "fusesearch localizers" in shown
    assert len(shown.splitlines()) < 120
