"""The committed pages are made of the committed results, and say of the papers what their tables say."""

from experiments.evidence.page import made
from fusesearch.evaluation.quality import combined_f1
from fusesearch.reporting.experiment.pages import overview, page
from fusesearch.reporting.experiment.results import read_results
from tasks.experiments.paper import paper_figures
from tasks.experiments.spec import experiment_names, load_experiment
from tasks.running.places import EXPERIMENTS


def test_the_pages_of_experiments_and_the_page_over_all_are_fresh():
    every = {name: read_results(EXPERIMENTS / name) for name in sorted(experiment_names())}
    made = {f"{name}/RESULTS.md": page(results).render("md") for name, results in every.items()}
    made["RESULTS.md"] = overview(list(every.values()))
    assert [name for name, text in made.items() if (EXPERIMENTS / name).read_text() != text] == []


def test_the_page_of_the_evidence_is_fresh():
    folder = EXPERIMENTS / "evidence"
    assert {name: (folder / name).read_text() for name in ("RESULTS.md", "quality_cost.svg")} == made(folder)


def test_what_a_committed_experiment_says_of_a_paper_stands_in_the_papers_table():
    """A claim in F1 0.7/0.3 is held against the same combination of the paper's file and function F1."""
    wrong = []
    for committed in map(load_experiment, experiment_names()):
        claims = [claim for claim in committed.claims if claim.paper]
        wanted = {claim.metric for claim in claims} | {"file_micro_f1", "function_micro_f1"}
        paper = paper_figures(committed.model_copy(update={"metrics": sorted(wanted)}))
        for claim in claims:
            better, than = (printed(paper.get(arm, {}), claim.metric) for arm in (claim.better, claim.than))
            if better is not None and than is not None and not (better < than if claim.lower else better > than):
                wrong.append((committed.name, claim))
    assert wrong == []


def printed(figures, metric):
    if metric not in ("f1_macro", "f1_micro"):
        return figures.get(metric)
    return combined_f1(figures["file_micro_f1"], figures["function_micro_f1"])
