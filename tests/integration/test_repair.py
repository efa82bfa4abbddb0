"""Repairing faults of small made-up packages: real candidates in the real sandbox."""

import json
import signal
import textwrap

import pytest
from typer.testing import CliRunner

from experiments.repair.__main__ import app
from experiments.repair.inverses import OUTSIDE
from experiments.repair.orders import ALONE, ANSWER, PRE_SEARCH, RANDOM, SUB_AGENT, TRUE
from experiments.repair.repairing import JOURNAL, OUTCOMES, Repairs, repair, sample
from fusesearch.core.config import Mine
from fusesearch.core.errors import AGAIN, DataError, InfrastructureError
from fusesearch.core.storage import silent, write_instances
from fusesearch.data.sources.synthetic import Synthetic
from fusesearch.data.sources.synthetic.packages import parse_packages
from fusesearch.evaluation.predictions import Prediction

SHAPES = '''
    """Shapes."""


    def area(width, height=1):
        """The area of a rectangle.

        >>> area(3, 4)
        12
        >>> area(3)
        3
        """
        if width < 0 or height < 0:
            raise ValueError("negative")
        return width * height


    def total(values):
        """The sum.

        >>> total([1, 2, 3])
        6
        """
        result = 0
        for value in values:
            result += value
        return result


    def scale(sides, factor, upper=100):
        """Sides made longer, each at most ``upper``.

        >>> scale([1, 2, 30], 5)
        [5, 10, 100]
        >>> scale([1, 2, 30], 5, upper=7)
        [5, 7, 7]
        """
        return [clamp(side * factor, 0, upper) for side in sides]


    def clamp(value, low, high):
        """The value within bounds.

        >>> clamp(5, 1, 3)
        3
        >>> clamp(0, 1, 3)
        1
        """
        if value < low:
            return low
        if value > high:
            return high
        return value
    '''
TRAPS = '''
    """Functions whose wrong repairs do harm."""

    import os


    def careful(values, forks=False, writes=False, loops=False, eats=False, leaves=False, kills=False):
        """The sum of larger ones.

        >>> careful([1, 2, 3])
        5
        """
        if forks:
            os.fork()
        if writes:
            open(__file__ + ".harm", "w").close()
        while loops:
            pass
        if eats:
            values = [bytearray(1 << 40) for value in values] and values
        if leaves:
            os._exit(0)
        if kills:
            os.kill(os.getppid(), 9)
        result = 0
        for value in values:
            if value > 1:
                result += value
        return result
    '''


@pytest.fixture
def site(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    for name, text in {"shapespkg": SHAPES, "trapspkg": TRAPS}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(textwrap.dedent(text))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    return folder


def mined(package, tmp_path):
    config = Mine(packages=[package], per_repository=14, attempts_per_repository=60, workers=1)
    return Synthetic(config, 0, tmp_path / "journal").mine(tmp_path / "repos", silent).instances


def settings(package, tmp_path, **changes):
    return Repairs(parse_packages([package]), tmp_path / "repos", draws=2, **changes)


def answers(faults, functions):
    return {row.instance_id: Prediction(instance_id=row.instance_id, functions=functions(row)) for row in faults}


def arms(outcomes):
    return {(row.instance_id, row.system, row.configuration, row.traced): row for row in outcomes}


def test_faults_in_the_space_are_resolved_and_a_better_answer_needs_fewer_candidates(site, tmp_path):
    faults = mined("shapespkg", tmp_path)
    wrong = {"area": "total", "total": "scale", "scale": "area", "clamp": "total"}
    given = {
        "right": answers(faults, lambda row: [row.provenance["function"]]),
        "wrong": answers(faults, lambda row: ["shapespkg/__init__.py::" + wrong[row.provenance["function"].rpartition("::")[2]]]),
    }
    seen = []
    out = tmp_path / "out"
    outcomes, skipped = repair(faults, given, settings("shapespkg", tmp_path), out, lambda *done: seen.append(done))
    assert skipped == {}
    assert seen[-1] == (len(faults), len(faults))
    found = arms(outcomes)
    assert len(found) == len(outcomes) == len(faults) * 2 * (2 + 2 + 3 * 2)
    assert {row.provenance["kind"] for row in faults} - OUTSIDE
    for fault in faults:
        name = fault.instance_id
        true = found[name, TRUE, TRUE, False]
        assert true.resolved or fault.provenance["kind"] in OUTSIDE
        right, missed = found[name, "right", ANSWER, False], found[name, "wrong", ANSWER, False]
        assert (right.resolved, right.candidates, right.place) == (true.resolved, true.candidates, 0)
        assert (missed.place, missed.resolved) == (None, False)
        once = found[name, "wrong", PRE_SEARCH, False]
        if true.resolved and missed.submitted_at is None:
            assert once.candidates == found[name, "wrong", SUB_AGENT, False].candidates >= missed.candidates + 1
        for row in outcomes:
            if row.instance_id == name and not row.traced:
                assert found[name, row.system, row.configuration, True].candidates <= row.candidates
    assert all(row.under(10).candidates <= 10 and row.under(10).resolved <= row.under(300).resolved for row in outcomes)
    lines = (out / OUTCOMES).read_text().splitlines()
    assert [json.loads(line)["instance_id"] for line in lines] == [row.instance_id for row in outcomes]

    journal = (out / JOURNAL).read_bytes()
    assert repair(faults, given, settings("shapespkg", tmp_path), out) == (outcomes, {})
    assert (out / JOURNAL).read_bytes() == journal
    again, _ = repair(faults[:3], given, settings("shapespkg", tmp_path), tmp_path / "again")
    untimed = [row.model_dump(exclude={"seconds", "seconds_at"}) for row in again]
    assert untimed == [row.model_dump(exclude={"seconds", "seconds_at"}) for row in outcomes[: len(again)]]


def test_a_candidate_that_loops_forks_writes_or_leaves_stays_in_the_sandbox_and_fails(site, tmp_path):
    faults = mined("trapspkg", tmp_path)
    outcomes, skipped = repair(faults, {}, settings("trapspkg", tmp_path), tmp_path / "out")
    assert skipped == {}
    true = [row for row in outcomes if row.system == TRUE and not row.traced]
    assert max(row.candidates for row in true) > 10  # those that switch a trap on are among the first
    assert {row.kind for row in true if not row.resolved} <= OUTSIDE
    assert any(row.resolved for row in true)
    assert not list(tmp_path.rglob("*.harm"))


def test_a_process_that_dies_ends_the_run_and_the_next_run_goes_on(site, tmp_path):
    flag = tmp_path / "flag"
    path = site / "shapespkg/__init__.py"
    path.write_text(
        path.read_text() + f"\nimport os\nif os.path.exists({str(flag)!r}):\n    os.kill(os.getpid(), {signal.SIGKILL:d})\n"
    )
    faults = mined("shapespkg", tmp_path)[:2]
    flag.touch()
    with pytest.raises(InfrastructureError, match=rf"shapespkg/shapespkg: its process ended.*{AGAIN}"):
        repair(faults, {}, settings("shapespkg", tmp_path), tmp_path / "out")
    flag.unlink()
    outcomes, _ = repair(faults, {}, settings("shapespkg", tmp_path), tmp_path / "out")
    assert {row.instance_id for row in outcomes} == {row.instance_id for row in faults}
    assert {row.system for row in outcomes} == {TRUE, ALONE, RANDOM}


def test_a_fault_that_cannot_be_repaired_is_skipped_with_its_reason(site, tmp_path):
    first, second, *_ = mined("shapespkg", tmp_path)
    other = first.model_copy(update={"provenance": first.provenance | {"version": "7"}})
    lost = second.model_copy(update={"provenance": second.provenance | {"example": "shapespkg/__init__.py::gone#0"}})
    outcomes, skipped = repair([other, lost], {}, settings("shapespkg", tmp_path), tmp_path / "out")
    assert outcomes == []
    assert "installed, and the fault is in 7" in skipped[first.instance_id]
    assert "does not pass here" in skipped[second.instance_id]
    with pytest.raises(DataError, match=r"not among mine\.packages"):
        repair([first], {}, settings("trapspkg", tmp_path), tmp_path / "out")
    with pytest.raises(DataError, match="synthetic fault"):
        sample([first.model_copy(update={"provenance": {}})], None)


def test_the_command_prints_what_was_resolved_at_what_cost(site, tmp_path, monkeypatch):
    faults = mined("shapespkg", tmp_path)
    write_instances(tmp_path / "faults.parquet", faults)
    (tmp_path / "params.yaml").write_text("mine: {packages: [shapespkg]}\n")
    predictions = [{"instance_id": row.instance_id, "functions": [row.provenance["function"]]} for row in faults]
    (tmp_path / "ours.jsonl").write_text("".join(json.dumps(row) + "\n" for row in predictions))
    options = [
        "--instances",
        "faults.parquet",
        "--repos",
        "repos",
        "--params",
        "params.yaml",
        "--budget",
        "40",
        "--max-instances",
        "3",
    ]
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["run", "ours=ours.jsonl", *options])
    assert result.exit_code == 0, result.output
    assert "sub-agent" in result.output
    assert len({json.loads(line)["instance_id"] for line in (tmp_path / "repairs" / OUTCOMES).read_text().splitlines()}) == 3
    result = CliRunner().invoke(app, ["run", "nothing", *options])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "nothing is neither a folder" in result.stderr
