"""What is written of an experiment: figures, verdicts, the paper's orderings, and what is missing."""

import random
from dataclasses import replace

import pytest

from fusesearch.core.config import Params
from fusesearch.core.errors import ArtifactError, ConfigError
from fusesearch.core.storage import write_json
from fusesearch.reporting.experiment.pages import overview, page
from fusesearch.reporting.experiment.results import ordering, read_results
from tasks.experiments.mlflow_runs import varied
from tasks.experiments.outcome import ArmRun, scores_digest
from tasks.experiments.results import measured, write_overview, write_results
from tests.fakes.experiment_runs import experiment, reference, run, runs, score

BETTER, WORSE, EQUAL = {"none": 0.2, "joint": 0.8}, {"none": 0.8, "joint": 0.2}, {"none": 0.5, "joint": 0.5}


@pytest.fixture(scope="module", autouse=True)
def _undrawn():
    """Git is not asked for the revision."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "tasks.experiments.results.revision", lambda: {"git_revision": "c0ffee", "dirty": False, "dvc_revision": ""}
        )
        yield


@pytest.fixture
def root(tmp_path):
    return reference(tmp_path)


@pytest.fixture(scope="module")
def better(tmp_path_factory):
    """The results of an experiment whose second arm is clearly ahead, for tests that only read them."""
    root = reference(tmp_path_factory.mktemp("better"))
    return measured_of(root, runs(root, BETTER))


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """Results of arms that hardly differ, measured once on many instances."""
    root = reference(tmp_path_factory.mktemp("equal"))
    made = runs(root, {"none": 0.05, "joint": 0.05}, instances=600)
    claim = {"metric": "f1_macro", "better": "joint", "than": "none", "note": "no worse"}
    return measured_of(root, made, metrics=["f1_macro"], claims=[claim, {**claim, "margin": 0.001}])


def written(root, made, **changes):
    return write_results(experiment(**changes), made, root / "out", root)


def measured_of(root, made, **changes):
    """The results without their files."""
    return measured(experiment(**changes), made, root)


def test_results_are_read_again_as_they_were_written(root):
    made = runs(root, BETTER)
    results = written(root, made)
    assert read_results(root / "out") == results
    assert results.inputs == scores_digest(made[::-1]) != scores_digest(made[1:])
    assert [arm.figures["f1_macro"].seeds for arm in results.arms] == [3, 3]
    assert results.arm("none").figures["file_micro_f1"].paper == 75.44
    assert results.arm("joint").nodes[1] == {"sft": "sft-joint1"}
    assert results.missing == []


def test_the_same_runs_give_the_same_files_in_any_order(root):
    made = runs(root, BETTER)
    written(root, made)
    before = {path: path.read_bytes() for path in (root / "out").iterdir()}
    written(root, made[::-1])
    assert before == {path: path.read_bytes() for path in (root / "out").iterdir()}


@pytest.mark.parametrize(
    ("skill", "lower", "margin", "verdict"),
    [(BETTER, False, None, "confirmed"), (WORSE, False, None, "refuted"), (BETTER, True, None, "refuted"),
     (EQUAL, False, None, "undecided"), (EQUAL, False, 0.15, "confirmed"), (WORSE, False, 0.15, "refuted"),
     (EQUAL, True, 0.15, "confirmed"), (BETTER, True, 0.15, "refuted"), ({"none": 0.8, "joint": 0.65}, False, 0.15, "undecided")],
)  # fmt: skip
def test_a_verdict_follows_what_was_claimed_a_direction_or_not_worse_by_a_margin(root, skill, lower, margin, verdict):
    claim = {"metric": "f1_macro", "better": "joint", "than": "none", "lower": lower, "margin": margin}
    found = measured_of(root, runs(root, skill, instances=400 if margin else 60), claims=[claim], metrics=["f1_macro"]).claims[0]
    assert found.verdict == verdict
    opening = {"confirmed": "Confirmed", "refuted": "Refuted", "undecided": "Undecided at this scale"}[verdict]
    where = "below" if lower else "above"
    said = f"less than 15.0 points {'above' if lower else 'below'}" if margin else where
    assert found.sentence.startswith(f"{opening}: F1 and e {said} no filter in F1 0.7/0.3, mean")
    assert f"{100 * found.estimate:+.1f} points" in found.sentence


def test_a_claim_in_mean_f1_tells_the_papers_pooled_f1_beside_ours(root):
    results = measured_of(root, runs(root, BETTER), metrics=["f1_macro", "f1_micro"])
    assert results.arm("none").figures["f1_micro"].paper == pytest.approx(0.7 * 75.44 + 0.3 * 43.52, abs=0.005)
    assert "; pooled, as the paper's tables are, +" in results.claims[0].sentence
    assert results.claims[0].sentence.endswith("in the paper +3.72 points.")


@pytest.mark.parametrize("seeds", [(1,), (0, 1)])
def test_fewer_than_three_seeds_decide_nothing_however_large_the_difference(root, seeds):
    results = measured_of(root, runs(root, {"none": 0.0, "joint": 1.0}, seeds=seeds))
    assert results.claims[0].verdict == "undecided"
    assert "fewer than 3 seeds cannot tell" in results.claims[0].sentence
    assert {ordering(row) for row in results.differences} <= {None, "same direction", "no difference", "other direction"}


def test_an_undecided_claim_says_what_would_have_been_found_and_with_a_margin_nothing_that_its_correction_denies(equal):
    without, within = equal.claims
    assert (within.verdict, "below no filter in F1 0.7/0.3, mean (no worse): " in within.sentence) == ("undecided", True)
    assert "unlikely" not in within.sentence
    assert "a difference of 5 points or more is unlikely" in without.sentence
    (row,) = equal.differences
    seen = f"{100 * row.detectable(len(equal.claims)):.1f}"
    assert row.detectable() < row.detectable(len(equal.claims)) < 0.1
    assert f"a true difference of {seen} points would probably be found" in equal.claims[0].sentence


def test_seconds_and_what_the_paper_does_not_print_are_no_orderings(root):
    (root / "experiments/reference/table4.csv").write_text(
        "filtering,file_f1,function_f1,efficiency,time_s\nnone,75.44,43.52,55.77,9\njoint,78.86,47.94,62.03,5\n"
    )
    found = measured_of(root, runs(root, BETTER), metrics=["file_micro_f1", "f1_micro", "f1_macro", "seconds"])
    assert [row.metric for row in found.differences if ordering(row)] == ["file_micro_f1"]
    assert "Of 1 ordering in the paper's table" in found.summary
    assert found.arm("none").figures["seconds"].paper == 9
    text = page(found).render("md")
    assert "Seconds are of runs that had the machine to themselves or shared it" in text
    assert "The paper's F1 0.7/0.3, pooled is computed from its F1 of files and of functions" in text


def test_p_is_corrected_over_the_claims(root):
    claim = {"metric": "f1_macro", "better": "joint", "than": "none"}
    others = [{"metric": name, "better": "joint", "than": "none"} for name in ("file_micro_f1", "tokens_context")]
    alone = measured_of(root, runs(root, BETTER), claims=[claim]).claims[0]
    among = measured_of(root, runs(root, BETTER), claims=[claim, *others]).claims[0]
    assert alone.p_holm == alone.p == among.p
    assert among.p_holm == pytest.approx(3 * among.p) or among.p_holm == pytest.approx(2 * among.p)


def test_orderings_of_the_paper_are_counted_by_what_becomes_of_them_and_what_prints_as_zero_is_none(root, better):
    found = {row.metric: ordering(row) for row in better.differences if ordering(row)}
    assert found == {"file_micro_f1": "holds", "efficiency": "no difference"}
    assert better.summary.endswith("Of 2 orderings in the paper's table: 1 holds; 1 shows no difference that would be printed.")
    reverse = measured_of(root, runs(root, WORSE))
    assert {ordering(row) for row in reverse.differences if row.metric == "file_micro_f1"} == {"reversed"}
    (row,) = [row for row in better.differences if row.metric == "file_micro_f1"]
    assert ordering(row.model_copy(update={"estimate": 0.0004, "p_holm": 0.9})) == "no difference"
    assert ordering(row.model_copy(update={"estimate": 0.0006, "p_holm": 0.9})) == "same direction"


def test_the_page_says_what_was_noted_of_the_papers_table(better):
    noted = page(better.model_copy(update={"paper_notes": ["It prints e of joint twice."]})).render("md")
    assert "It prints e of joint twice." in noted[noted.index("## Claims") :]
    assert noted.splitlines()[2] == "**holds, 1 of 1 claims decided**"


def test_an_arm_is_recorded_with_every_param_that_some_arm_sets(tmp_path):
    arms = {"none": {"set": {"select.min_f1": 0.0, "select.min_efficiency": 0.0}}, "joint": {}}
    compared, params = experiment(arms=arms, paper=None, set={"grpo.steps": 3}), Params(select={"min_f1": 0.4})
    unfiltered = varied(compared, "none", 1, params)
    assert unfiltered == {"grpo.steps": 3, "select.min_efficiency": 0.0, "select.min_f1": 0.0}
    assert varied(compared, "joint", 0, params) == {
        "grpo.steps": 3, "select.min_efficiency": params.select.min_efficiency, "select.min_f1": 0.4
    }  # fmt: skip
    # and with params that usually go unsaid
    shown = {"agent.pre_search": "ranker", "evaluate.agent": {"max_turns": 2}}
    compared = experiment(arms={"none": {}, "joint": {"set": shown}}, paper=None)
    assert varied(compared, "joint", 0, Params()) == shown
    assert varied(compared, "none", 0, Params()) == {"agent.pre_search": "none", "evaluate.agent": {}}


def test_missing_runs_are_named_and_nothing_is_made_up_for_them(root):
    results = written(root, [*runs(root, {"none": 0.5}, seeds=(0, 2)), run(root, "joint", 1, 0.5)])
    assert results.missing == ["none seed 1", "joint seed 0", "joint seed 2"]
    assert results.claims[0].verdict == "not measured"
    page = (root / "out/RESULTS.md").read_text()
    assert "none seed 1, joint seed 0, joint seed 2. `python -m flows experiment run filtering` makes them." in page
    lone = measured_of(root, runs(root, {"none": 0.5}))
    assert lone.arm("joint").figures == {}
    with pytest.raises(ArtifactError, match="no run is finished: run `python -m flows experiment run filtering`"):
        measured_of(root, [])


def test_runs_on_other_instances_than_the_rest_are_named(root):
    made = runs(root, BETTER)
    assert measured_of(root, made).other_instances == []
    strange = replace(made[0], scores=made[0].scores[1:])
    results = written(root, [strange, *made[1:]])
    assert results.other_instances == [f"{strange.arm} seed {strange.seed}"]
    assert f"other instances than the rest: {strange.arm} seed {strange.seed}." in (root / "out/RESULTS.md").read_text()


def test_errored_episodes_are_counted_and_in_no_figure(root):
    made = runs(root, BETTER)
    broken = score(0, True, random.Random(0)).model_copy(update={"error": "endpoint down"})
    made[0] = ArmRun("none", 0, [broken, *made[0].scores[1:]], made[0].trajectories)
    arm = measured_of(root, made).arm("none")
    assert (arm.errored, arm.episodes, arm.instances) == (1, 179, 60)
    dead = [ArmRun("none", seed, [broken], root / "x") for seed in (0, 1, 2)]
    assert measured_of(root, [*dead, *runs(root, {"joint": 0.5})]).arm("none").figures == {}


def test_wrong_names_are_said_in_one_line(root):
    with pytest.raises(ValueError, match="not an ordering that a paper's table states"):
        experiment(claims=[{"metric": "f1_macro", "better": "joint", "than": "none", "margin": 0.1, "paper": True}])
    made = runs(root, BETTER)
    arms = {**experiment().model_dump()["arms"], "none": {"paper_row": {"filtering": "nothing"}}}
    with pytest.raises(ConfigError, match="0 rows with filtering=nothing: exactly one is needed"):
        measured_of(root, made, arms=arms)
    with pytest.raises(ArtifactError, match=r"results\.json is missing: run `python -m flows experiment run nowhere`"):
        read_results(root / "nowhere")
    (root / "out").mkdir(exist_ok=True)
    (root / "out/results.json").write_text('{"experiment": 1}')
    with pytest.raises(ArtifactError, match=r"results\.json: .*: .*; write the results again"):
        read_results(root / "out")


def test_the_page_over_all_experiments_is_written_from_what_they_wrote_with_every_claim(root, better):
    write_results(experiment(), runs(root, BETTER), root / "experiments/filtering", root)
    (root / "experiments/filtering/experiment.yaml").touch()
    write_json(root / "experiments/evidence/results.json", {"of": "another page"})
    page = write_overview(root / "experiments")
    assert page == root / "experiments/RESULTS.md"
    assert "[filtering](filtering/RESULTS.md)" in page.read_text()
    page = overview([better, measured_of(root, runs(root, {"none": 0.5}), name="other", title="a|b")])
    assert "[filtering](filtering/RESULTS.md)" in page
    assert "[other](other/RESULTS.md), 3 runs missing" in page
    assert "a\\|b" in page
    assert "| holds, 1 of 1 claims decided | F1 and e − no filter in F1 0.7/0.3, mean: +" in page  # noqa: RUF001
    assert "| open, 0 of 1 claims decided |" in page
