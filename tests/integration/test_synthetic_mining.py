"""Mining a small made-up package: real instances, the same ones each time, also after being killed."""

import os
import platform
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from fusesearch.core.config import Mine
from fusesearch.core.errors import AGAIN, DataError, InfrastructureError
from fusesearch.core.storage import silent
from fusesearch.data.sources.synthetic import Synthetic, mining
from fusesearch.data.truth import truth_in_git
from tests.fakes.git import files_in, git, write

FILES = files_in(Path(__file__).parent / "littlepkg.txt")
CONFIG = Mine(packages=["littlepkg"], per_repository=12, attempts_per_repository=60, workers=1)


def mine(config, seed, folder, progress=silent):
    return Synthetic(config, seed, folder / "journal").mine(folder / "repos", progress)


@contextmanager
def importable(folder):
    write(folder, FILES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.fixture
def site(tmp_path):
    with importable(tmp_path / "a site") as folder:
        yield folder


@pytest.fixture(scope="module")
def little(tmp_path_factory):
    """What is mined of ``littlepkg``, where, and the progress that was said."""
    seen, folder = [], tmp_path_factory.mktemp("little")
    with importable(folder / "a site") as found:
        return mine(CONFIG, 0, folder, lambda *progress: seen.append(progress)), folder, found, seen


def test_the_patch_of_an_instance_fixes_its_failing_doctest(little, tmp_path):
    mined, folder, site, seen = little
    git_dir = folder / "repos" / "littlepkg__littlepkg.git"
    assert len(mined.instances) >= 8
    assert len({instance.provenance["kind"] for instance in mined.instances}) >= 5
    assert {instance.provenance["hops"] for instance in mined.instances} >= {0, 1}
    assert seen[-1] == (len(mined.instances), 12)
    assert mined.figures == {"ended_by_clock": 0, "unsteady": {}}
    assert "littlepkg/tests/test_shapes.py" not in git(git_dir, "ls-tree", "-r", "--name-only", "main")
    for number, instance in enumerate(mined.instances):
        assert truth_in_git(git_dir, instance.base_commit, instance.patch).functions == [instance.provenance["function"]]
        assert git(git_dir, "rev-parse", f"refs/instances/{instance.instance_id}") == instance.base_commit
        assert str(site) not in instance.problem_statement
        assert ">>>" in instance.problem_statement or "```" in instance.problem_statement
        work = tmp_path / f"work {number}"
        work.mkdir()
        git(git_dir, f"--work-tree={work}", "checkout", "-q", "-f", instance.base_commit, "--", ".")
        broken = run_statement(instance, work)
        git(work, "apply", "-", given=instance.patch)
        assert run_statement(instance, work) != broken
        path = instance.provenance["function"].split("::")[0]
        assert (work / path).read_text().strip() == git(git_dir, "show", f"main:{path}")
        raised = instance.provenance["exception"]
        assert raised in broken if raised else broken == instance.provenance["got"]


def test_an_issue_of_two_faults_has_them_in_two_files(site, tmp_path):
    asked = CONFIG.model_copy(update={"tasks": ["pairs"], "per_repository": 8, "attempts_per_repository": 30})
    made = mine(asked, 0, tmp_path).instances
    assert made
    for instance in made:
        truth = truth_in_git(tmp_path / "repos" / "littlepkg__littlepkg.git", instance.base_commit, instance.patch)
        assert (len(truth.files), len(truth.functions)) == (2, 2)
        assert instance.provenance["function"] in truth.functions
        assert len(re.findall(r"^>>> (?!from|import)|^```", instance.problem_statement, re.MULTILINE)) >= 2


def run_statement(instance, work):
    """Output of the issue's statements over the files in ``work``."""
    lines = re.findall(r"^(?:>>> |\.\.\. )(.*)$", instance.problem_statement, re.MULTILINE)
    fence = re.search(r"```python\n(.*?)```", instance.problem_statement, re.DOTALL)
    lines = fence[1].splitlines() if fence else lines
    script = "\n".join([*lines[:-1], "import sys", f"exec(compile({lines[-1]!r}, '<x>', 'single'))"])
    command, environment = [sys.executable, "-B", "-c", script], os.environ | {"PYTHONPATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, cwd=work, env=environment)
    return done.stdout + done.stderr


def test_the_same_seed_gives_the_same_commits_and_texts_and_another_seed_others(little, site, tmp_path):
    config = CONFIG.model_copy(update={"per_repository": 4})
    same, other = (mine(config, seed, tmp_path / f"run {seed}").instances for seed in (0, 1))
    assert same == little[0].instances[:4]
    assert [instance.problem_statement for instance in same] != [instance.problem_statement for instance in other]


LUCK = """
import random

_dice = random.Random()
""" + "".join(
    f'''

def {name}(count):
    """Numbers in any order.

    >>> sorted({name}(9))
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
    """
    numbers = list(range(9))
    {generator}.shuffle(numbers)
    return numbers[0:count]
'''
    for name, generator in (("drawn", "_dice"), ("fresh", "random.Random()"))
)


def test_generators_that_a_package_seeds_from_the_system_give_the_same_numbers_in_every_run(site, tmp_path):
    write(site, {"luckpkg/__init__.py": LUCK})
    config = CONFIG.model_copy(update={"packages": ["luckpkg"]})
    runs = [mine(config, 0, tmp_path / f"run {n}").instances for n in range(2)]
    assert any("drawn" in instance.problem_statement for instance in runs[0])
    assert any("fresh" in instance.problem_statement for instance in runs[0])
    assert runs[0] == runs[1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc fills memory")
def test_memory_that_nobody_wrote_is_the_same_in_every_run(tmp_path):
    program = "import numpy; ['x' * 2000 for _ in range(9)]; print(len(set(numpy.empty(300).tobytes())))"
    environment = mining.environment(str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_a_package_that_cannot_be_used_is_skipped_with_its_reason_and_nothing_else_is_an_error(site, tmp_path):
    config = CONFIG.model_copy(update={"packages": ["brokenpkg", "littlepkg", "notinstalledpkg"], "per_repository": 1})
    mined = mine(config, 0, tmp_path)
    assert {instance.repo for instance in mined.instances} == {"littlepkg/littlepkg"}
    assert sorted(mined.table["skipped"]) == ["brokenpkg/brokenpkg", "notinstalledpkg/notinstalledpkg"]
    assert "not installed" in mined.table["skipped"]["notinstalledpkg/notinstalledpkg"]
    with pytest.raises(DataError, match="brokenpkg"):
        mine(config.model_copy(update={"packages": ["brokenpkg"]}), 0, tmp_path / "nothing")


KILLED = """
import os, signal, sys
from pathlib import Path
from fusesearch.core.config import Mine
from fusesearch.data.sources.synthetic import Synthetic

def die(kept, total):
    if kept >= 3:
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
Synthetic(Mine.model_validate_json(sys.argv[2]), 0, folder / "journal").mine(folder / "repos", die)
"""


def test_a_killed_run_goes_on_and_rows_are_neither_lost_nor_doubled(site, tmp_path):
    write(site, {"minipkg/__init__.py": FILES["littlepkg/numbers.py"]})
    config = CONFIG.model_copy(update={"packages": ["littlepkg", "minipkg"], "per_repository": 2})
    whole = mine(config, 0, tmp_path / "whole").instances
    command = [sys.executable, "-c", KILLED, str(tmp_path), config.model_dump_json()]
    environment = os.environ | {"PYTHONPATH": f"{Path(__file__).parents[2]}{os.pathsep}{site}"}
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    (tmp_path / "repos").mkdir(exist_ok=True)
    (tmp_path / "repos" / ".partial-00000000-x.git").mkdir()
    resumed = mine(config, 0, tmp_path)
    assert resumed.instances == whole
    assert not list((tmp_path / "repos").glob(".partial-*"))
    worked = []
    again = mine(config, 0, tmp_path, lambda kept, total: worked.append(kept))
    assert (again.instances, worked) == (whole, [])


DYING = """
import gc, io, os, pathlib, signal, time
flag = pathlib.Path({flag!r})
if not flag.exists():
    flag.write_text("")
    channel = next(it for it in gc.get_objects() if isinstance(it, io.TextIOWrapper) and it.name not in (0, 1, 2))
    {death}
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("death", "said"),
    [
        pytest.param(f'os.write(channel.fileno(), b\'{{"row": {{"re\'); {KILL}', "was killed by SIGKILL", marks=pytest.mark.rare),
        (f"os.fork() and {KILL}; flag.write_text(str(os.getpid())); time.sleep(600); os._exit(0)", "was killed by SIGKILL"),
        pytest.param("os._exit(3)", "ended with status 3", marks=pytest.mark.rare),
    ],
    ids=["killed in the middle of a line", "outlived by a child", "gone by itself"],
)
def test_a_worker_that_dies_ends_the_run_and_the_next_run_has_all_packages(site, tmp_path, death, said):
    config = CONFIG.model_copy(update={"packages": ["littlepkg", "dyingpkg"], "per_repository": 2, "workers": 2})
    text = DYING.format(flag=str(tmp_path / "flag"), death=death) + FILES["littlepkg/numbers.py"]
    write(site, {"dyingpkg/__init__.py": text})
    with pytest.raises(InfrastructureError, match=f"dyingpkg/dyingpkg: its process {said}.*{AGAIN}"):
        mine(config, 0, tmp_path)
    if child := (tmp_path / "flag").read_text():
        os.kill(int(child), signal.SIGKILL)  # it still runs: nobody waited for it
    counts = []
    mined = mine(config, 0, tmp_path, lambda kept, total: counts.append(kept))
    assert {instance.repo for instance in mined.instances} == {"littlepkg/littlepkg", "dyingpkg/dyingpkg"}
    assert (min(counts) >= 2, mined.table["skipped"]) == (True, {})


def test_a_worker_without_end_is_killed_and_its_package_not_left_out_in_silence(site, tmp_path, monkeypatch):
    monkeypatch.setattr(mining, "SPARE_SECONDS", 2.0)
    monkeypatch.setattr(mining, "SECONDS_PER_REPOSITORY", 0.01)
    write(site, {"hangingpkg/__init__.py": '"""\n>>> 1\n1\n"""\nimport time\ntime.sleep(60)\n'})
    config = CONFIG.model_copy(update={"packages": ["hangingpkg"]})
    with pytest.raises(InfrastructureError, match=rf"hangingpkg: its process was killed after 3 s.*{AGAIN}"):
        mine(config, 0, tmp_path)
