"""The hint to install says what is true for the copy that gives it."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from fusesearch.core import installation
from fusesearch.core.installation import how_to_install

ROOT = Path(__file__).parents[3]


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Pretends that this copy lies in site-packages, with what pip wrote down about its origin."""

    def origin(record):
        text = json.dumps(record) if record else None
        monkeypatch.setattr(installation, "__file__", str(tmp_path / "site-packages/fusesearch/core/installation.py"))
        monkeypatch.setattr(installation, "distribution", lambda name: SimpleNamespace(read_text=lambda path: text))

    return origin


def test_a_checkout_is_named_by_its_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert how_to_install("models") == "pip install -e '.[models]'"
    monkeypatch.chdir(tmp_path)
    assert how_to_install("models") == f"pip install -e '{ROOT}[models]'"


@pytest.mark.parametrize(
    ("record", "source"),
    [
        (None, ""),
        ({"url": "file:///d/f.whl", "archive_info": {}}, " @ file:///d/f.whl"),
        ({"url": "file:///d/f", "dir_info": {}}, " @ file:///d/f"),
        ({"url": "https://h/f", "vcs_info": {"vcs": "git", "commit_id": "abc"}}, " @ git+https://h/f@abc"),
    ],
)
def test_an_installed_copy_is_named_by_its_origin(copied, record, source):
    copied(record)
    assert how_to_install("train") == f"pip install 'fusesearch-code[train]{source}'"


def test_a_stray_pyproject_among_packages_makes_no_checkout(copied, tmp_path):
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages/pyproject.toml").touch()
    copied(None)
    assert how_to_install("train") == "pip install 'fusesearch-code[train]'"
