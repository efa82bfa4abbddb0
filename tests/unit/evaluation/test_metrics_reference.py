"""Ranked metrics beside trec_eval's (through ir-measures), and the ones it lacks beside their definitions, to 1e-9."""

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, R, Success, nDCG
from sklearn.metrics import precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer

from fusesearch.core.schema import Score, Truth
from fusesearch.evaluation import metrics, quality, statistics
from fusesearch.evaluation.protocols import PROTOCOLS

NAMES = [f"pkg/f{index}.py" for index in range(14)]
CUTS = (1, 3, 5, 10)


def random_cases(count, seed):
    """Random rankings and truths, from empty predictions to perfect ones."""
    random = np.random.default_rng(seed)
    cases = []
    for index in range(count):
        true = random.choice(NAMES, size=random.integers(1, 8), replace=False).tolist()
        predicted = random.permutation(NAMES)[: random.integers(0, len(NAMES) + 1)].tolist()
        cases.append((predicted, true if index % 5 else predicted[: len(true)] or true))
    return cases


@pytest.fixture(scope="module")
def cases():
    return random_cases(400, seed=7)


@pytest.fixture(scope="module")
def reference(cases):
    """Per case and measure what trec_eval says."""
    qrels = {str(number): dict.fromkeys(true, 1) for number, (_, true) in enumerate(cases)}
    # a document that is never relevant stands behind every ranking: trec_eval leaves out queries without one
    run = {
        str(number): {name: float(100 - rank) for rank, name in enumerate([*predicted, "none.py"])}
        for number, (predicted, _) in enumerate(cases)
    }
    measures = [AP, RR, *(R @ k for k in CUTS), *(nDCG @ k for k in CUTS), *(Success @ k for k in CUTS)]
    found = ir_measures.iter_calc(measures, qrels, run)
    return {(int(row.query_id), str(row.measure)): row.value for row in found}


def check(cases, reference, measure, of):
    theirs = [reference[number, measure] for number in range(len(cases))]
    assert [of(*case) for case in cases] == pytest.approx(theirs, abs=1e-9)


def test_average_precision_and_reciprocal_rank(cases, reference):
    check(cases, reference, "AP", quality.average_precision)
    check(cases, reference, "RR", quality.reciprocal_rank)


@pytest.mark.parametrize("k", CUTS)
def test_recall_and_ndcg_at(cases, reference, k):
    check(cases, reference, f"R@{k}", lambda predicted, true: quality.recall_at(predicted, true, k))
    check(cases, reference, f"nDCG@{k}", lambda predicted, true: quality.ndcg_at(predicted, true, k))


@pytest.mark.parametrize("k", CUTS)
def test_accuracy_is_recall_of_everything(cases, reference, k):
    full = [float(reference[number, f"R@{k}"] == 1) for number in range(len(cases))]
    assert [quality.accuracy_at(*case, k) for case in cases] == full
    single = [(number, case) for number, case in enumerate(cases) if len(case[1]) == 1]
    assert single
    assert [quality.accuracy_at(*case, k) for _, case in single] == [reference[n, f"Success@{k}"] for n, _ in single]


def scores_of(cases):
    return [
        metrics.against(
            Score(instance_id=str(number), predicted_files=predicted, predicted_functions=entities(predicted[:6])),
            Truth(files=true[:1], functions=entities([true[0], *predicted[1:2]])),
        )
        for number, (predicted, true) in enumerate(cases)
    ]


def entities(paths):
    return [f"{path}::C{place % 2}.f" for place, path in enumerate(paths)]


@pytest.mark.parametrize(("protocol", "average"), [("fusesearch", "micro"), ("codescout", "samples")])
def test_a_protocols_row_is_scikit_learns(cases, protocol, average):
    scores = scores_of(cases)
    row = PROTOCOLS[protocol].read(scores)
    for level in ("file", "function"):
        pairs = [statistics.pair_of(score, level) for score in scores]
        labels = MultiLabelBinarizer(classes=sorted({name for pair in pairs for side in pair for name in side}))
        true, predicted = (labels.fit_transform([pair[side] for pair in pairs]) for side in (1, 0))
        expected = precision_recall_fscore_support(true, predicted, average=average, zero_division=0)[:3]
        assert [row[f"{level}_{name}"] for name in ("precision", "recall", "f1")] == pytest.approx(expected, abs=1e-9)


def test_tooltrains_row_is_trec_evals_mean(cases, reference):
    scores = [
        metrics.against(
            Score(instance_id=str(number), predicted_files=predicted, predicted_functions=predicted),
            Truth(files=true, functions=true),
        )
        for number, (predicted, true) in enumerate(cases)
    ]
    row = PROTOCOLS["tooltrain"].read(scores)
    names = {"recall@1": "R@1", "recall@3": "R@3", "recall@5": "R@5", "map": "AP", "mrr": "RR", "ndcg@5": "nDCG@5"}
    for ours, theirs in names.items():
        mean = np.mean([reference[number, theirs] for number in range(len(cases))])
        assert (row[f"file_{ours}"], row[f"function_{ours}"]) == pytest.approx((mean, mean), abs=1e-9)


def test_aggregate_and_protocols_are_one_definition(cases):
    scores = scores_of(cases)
    summary = metrics.aggregate(scores)
    for protocol, average in (("fusesearch", "micro"), ("codescout", "macro")):
        row = PROTOCOLS[protocol].read(scores)
        for level in ("file", "function"):
            for name in ("precision", "recall", "f1"):
                assert row[f"{level}_{name}"] == pytest.approx(summary[f"{level}_{average}_{name}"], abs=1e-12)
        assert row["f1"] == pytest.approx(summary[f"f1_{average}"], abs=1e-12)


def test_modules_are_classes_and_functions_outside_of_them():
    functions = ["a.py::C.f", "a.py::C.g", "a.py::h", "b.py::C.D.f"]
    assert quality.modules_of(functions) == ["a.py::C", "a.py::h", "b.py::C"]
    score = Score(instance_id="1", predicted_functions=["a.py::C.other"], true_functions=["a.py::C.f"], true_files=["a.py"])
    row = PROTOCOLS["locagent"].read([score])
    assert (row["module_acc@5"], row["function_acc@5"]) == (1, 0)
    assert statistics.estimate([score], PROTOCOLS["locagent"].columns[0]) == 0
