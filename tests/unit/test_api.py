"""The Python API, as README shows it."""

import re
from pathlib import Path

import pytest

import fusesearch
from fusesearch import localize
from fusesearch.core.errors import OptionError, RepositoryError

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "shapes.py").write_text("def perimeter(side):\n    return 3 * side\n")
    return tmp_path


def test_the_snippet_of_the_readme_runs(repo, capsys):
    (snippet,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    exec(snippet.replace("path/to/repository", str(repo)), {})
    assert capsys.readouterr().out == "shapes.py perimeter (1, 2)\n"


def test_every_public_name_is_there():
    for name in fusesearch.__all__:
        assert getattr(fusesearch, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'locate'"):
        _ = fusesearch.locate


def test_invalid_arguments_are_rejected(repo):
    with pytest.raises(OptionError, match="localizer: localizer 'grep' is unknown: use one of fusesearch"):
        localize(repo, "perimeter is wrong", localizer="grep")
    with pytest.raises(OptionError, match="localizer: cosil asks a model"):
        localize(repo, "perimeter is wrong", localizer="cosil")
    with pytest.raises(RepositoryError):
        localize(repo / "elsewhere", "perimeter is wrong")
