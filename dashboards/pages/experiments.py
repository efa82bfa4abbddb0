"""Experiments side by side."""

from dashboards.view.shown import begin, missing

begin("Experiments")
missing("No experiment has results: run `fusesearch experiment list`")
