"""The commands of a light install where only what Windows and macOS also have is there."""

import json
import os
import subprocess
import sys

import pytest

from fusesearch.core import systems
from fusesearch.search.repository import Repository
from tests.fakes.git import write

WITHOUT = """
import os, select, signal, sys
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
posix = "fork forkpty killpg getpgid setsid sched_getaffinity pread O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK"
for module, names in ((os, posix), (signal, "SIGPROF SIGXCPU SIGALRM setitimer"), (select, "poll epoll")):
    for name in names.split():
        delattr(module, name)
os.supports_dir_fd = set()
from fusesearch.cli import main
main()
"""
SOURCE = "def perimeter(side):\n    return 3 * side\n" + "# padding\n" * 60_000  # two files of it are read by other processes


@pytest.mark.parametrize("command", [["localize", "perimeter(3) is wrong"], ["context", "perimeter"]], ids=lambda words: words[0])
def test_an_answer_needs_nothing_that_only_posix_has(tmp_path, command):
    write(tmp_path / "tree", {"shapes.py": SOURCE, "more.py": SOURCE.replace("perimeter", "area"), "link.py": "x = 1\n"})
    line = [sys.executable, "-c", WITHOUT, *command, "--repo", str(tmp_path / "tree"), "--format", "json"]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found.get("places") or found["definitions"])[0]["path"] == "shapes.py"


def test_no_link_leads_out_where_a_folder_cannot_be_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "supports_dir_fd", set())
    write(tmp_path, {"tree/in/a.py": "inside\n", "out/b.py": "outside\n"})
    (tmp_path / "tree/link").symlink_to(tmp_path / "out")
    (tmp_path / "tree/in/c.py").symlink_to(tmp_path / "out/b.py")
    root = Repository(tmp_path / "tree").root
    descriptor = systems.open_below(root, ("in", "a.py"))
    assert os.read(descriptor, 10) == b"inside\n"
    os.close(descriptor)
    for parts in (("link", "b.py"), ("in", "c.py"), ("in", "gone.py")):
        with pytest.raises(OSError, match=r"is a link|No such file"):
            systems.open_below(root, parts)
