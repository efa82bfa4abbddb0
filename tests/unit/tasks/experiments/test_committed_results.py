"""The committed pages of the experiments are made of the committed results, and say of the papers what their tables say."""

import pytest

from fusesearch.evaluation.quality import combined_f1
from fusesearch.reporting.experiment.figures import FIGURES
from fusesearch.reporting.experiment.pages import overview, page
from fusesearch.reporting.experiment.results import read_results
from tasks.experiments.paper import paper_figures
from tasks.experiments.spec import experiment_names, load_experiment
from tasks.running.places import EXPERIMENTS
from tasks.stages import TRAINED


@pytest.mark.parametrize("name", experiment_names())
def test_a_committed_page_is_made_of_the_committed_results(name):
    folder = EXPERIMENTS / name
    assert (folder / "RESULTS.md").read_text() == page(read_results(folder), TRAINED).render("md")


def test_the_committed_page_over_all_experiments_is_made_of_their_results():
    every = [read_results(EXPERIMENTS / name) for name in sorted(experiment_names())]
    assert (EXPERIMENTS / "RESULTS.md").read_text() == overview(every)


@pytest.mark.parametrize("name", experiment_names())
def test_what_a_committed_experiment_says_of_a_paper_stands_in_the_papers_table(name):
    """A claim in F1 0.7/0.3 is held against the same combination of the paper's file and function F1."""
    committed = load_experiment(name)
    assert set(committed.figures) <= set(FIGURES)
    wanted = {claim.metric for claim in committed.claims if claim.paper} | {"file_micro_f1", "function_micro_f1"}
    paper = paper_figures(committed.model_copy(update={"metrics": sorted(wanted)}))
    for claim in committed.claims:
        if claim.paper:
            better, than = (printed(paper.get(arm, {}), claim.metric) for arm in (claim.better, claim.than))
            assert better is None or than is None or (better < than if claim.lower else better > than), claim


def printed(figures, metric):
    if metric not in ("f1_macro", "f1_micro"):
        return figures.get(metric)
    return combined_f1(figures["file_micro_f1"], figures["function_micro_f1"])
