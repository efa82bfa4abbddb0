"""What several integration tests need."""

import json
import os
import shutil
from contextlib import ExitStack

import pytest
from filelock import FileLock

from fusesearch.agents.parsing import format_answer, format_calls
from fusesearch.core.config import parse_params
from fusesearch.core.schema import Answer, Instance, Location, Observation, ToolCall, Trajectory, Truth, Turn
from fusesearch.core.storage import read_instances, write_instances, write_json, write_jsonl
from fusesearch.search.snapshots import SnapshotStore
from tests.fakes.chat_server import ChatServer
from tests.fakes.git import committed, git
from tests.fakes.tiny_student import tiny_student
from tests.fakes.training import snapshots_in

SEARCH = format_calls([("grep", {"pattern": "def prime", "output_mode": "content"})])
ANSWER = format_answer(Answer(modify=[Location(path="a.py", function="prime")]))


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Makes what takes seconds once for all test processes: ``made_once(name, make)`` is the path that ``make`` wrote."""
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made(name, make):
        path, unfinished = folder / name, folder / f"{name}.made"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                make(unfinished)
                os.replace(unfinished, path)
        return path

    return made


@pytest.fixture(scope="session")
def empty_store(made_once):
    """An SQLite store of MLflow without a run, to be copied."""
    from tasks.tracking.store import make_client

    return made_once("mlflow.db", lambda path: make_client(f"sqlite:///{path}").search_experiments())


@pytest.fixture
def tracked(tmp_path, monkeypatch, empty_store):
    """A project under git, current, whose runs go to a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copyfile(empty_store, tmp_path / "mlflow.db")
    (tmp_path / ".gitignore").write_text(".fusesearch\nmlflow.db*\nmlruns\n")
    (tmp_path / "rows.jsonl").write_text("{}\n")
    (tmp_path / "dvc.lock").write_text("schema: '2.0'\n")
    committed(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def base(made_once):
    """A tiny random checkpoint, to be read."""
    texts = [SEARCH, ANSWER, "/repo/a.py:1:def prime(n):\n    return n % 2"] * 5
    return made_once("base", lambda path: tiny_student(path, texts, 380))


@pytest.fixture(scope="session")
def params(base):
    """Params for training it in seconds."""
    sft = {"epochs": 3, "batch_size": 2, "micro_batch": 2, "learning_rate": 1e-2, "max_length": 512, "save_steps": 4}
    grpo = {"steps": 2, "prompts_per_step": 2, "group": 2, "micro_batch": 2, "learning_rate": 1e-3, "kl": 0.01, "save_steps": 1}
    return parse_params({
        "tools": {"grep_lines": 3, "read_lines": 5, "output_chars": 300},
        "agent": {"prompt": "nano", "max_turns": 2, "max_new_tokens": 12, "max_context_tokens": 400},
        "model": {"base": str(base)}, "sft": sft | {"optimizer": "muon"}, "grpo": grpo,
    })  # fmt: skip


@pytest.fixture(scope="session")
def trajectory():
    """A search and an answer, as a teacher writes them."""
    call = ToolCall(id="c", name="grep", arguments={"pattern": "def prime", "output_mode": "content"})
    seen = Observation(call_id="c", output="/repo/a.py:1:def prime(n):", entities=["a.py:1"], gain_turn=1.0, gain_call=1.0)
    turns = [Turn(text=SEARCH, calls=[call], observations=[seen]), Turn(text=ANSWER)]
    return Trajectory(instance_id="i", localizer="lexical", system="guided", issue="prime(4) is wrong", turns=turns, guidance=3)


@pytest.fixture(scope="session")
def sft_run(made_once, params, trajectory):
    """SFT of the tiny checkpoint on eight trajectories, 12 steps, to be read: ``t.jsonl``, ``figures.json`` and ``out``."""

    def make(folder):
        from fusesearch.training.sft import train_sft

        write_jsonl(folder / "t.jsonl", [trajectory] * 8)
        write_json(folder / "figures.json", train_sft(params, folder / "t.jsonl", folder / "out", on_log=lambda row: None))

    return made_once("sft", make)


@pytest.fixture
def instances(tmp_path):
    """A file of three instances whose repository is in ``tmp_path``."""
    tree = tmp_path / "tree"
    commit = committed(tree, {"a.py": "def prime(n):\n    return n % 2\n"})
    git(tmp_path, "clone", "-q", "--bare", "tree", "repos/o__r.git")
    truth = Truth(files=["a.py"], functions=["a.py::prime"])
    rows = [
        Instance(instance_id=f"i{n}", repo="o/r", base_commit=commit, problem_statement=f"prime({n}) fails", truth=truth)
        for n in range(3)
    ]
    write_instances(tmp_path / "rl.parquet", rows)
    return tmp_path / "rl.parquet"


@pytest.fixture
def fourth(instances):
    """One instance more in that file, so that two can be held out."""
    rows = read_instances(instances)
    write_instances(instances, [*rows, rows[0].model_copy(update={"instance_id": "i3"})])


@pytest.fixture
def reinforce(tmp_path, params, instances, base, monkeypatch):
    """Runs GRPO on ``instances`` in the folder of a name, with changes of its section; returns the rows of its log."""
    from fusesearch.training.grpo import train_grpo

    monkeypatch.chdir(tmp_path)
    snapshot = snapshots_in(tmp_path)

    def run(name="out", given=params, pool=instances, on_log=lambda row: None, **changes):
        section = given.grpo.model_copy(update=changes)
        train_grpo(given, section, pool, base, snapshot, tmp_path / name, on_log=on_log)
        return [json.loads(line) for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]

    return run


@pytest.fixture(scope="module")
def repository(request, tmp_path_factory):
    """The snapshot of a commit with the files in ``FILES`` of the test's module."""
    folder = tmp_path_factory.mktemp("tree")
    committed(folder, request.module.FILES)
    return SnapshotStore(tmp_path_factory.mktemp("cache")).repository(folder, "HEAD")


@pytest.fixture
def chat_server():
    """Starts chat servers, each with the replies that it plays."""
    with ExitStack() as started:
        yield lambda *replies: started.enter_context(ChatServer(list(replies)))


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """The program that a stage starts as vLLM: one that speaks its token protocol."""
    from fusesearch.training import serving
    from tests.fakes.token_server import interpreter

    program = interpreter(tmp_path_factory.mktemp("engine") / "python")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "ENVIRONMENT", program)
        patch.setattr(serving, "START_SECONDS", 120.0)
        yield program
