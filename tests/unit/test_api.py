"""The Python API, as README shows it."""

import asyncio
import re
from pathlib import Path

import pytest

import fusesearch
from fusesearch import localize, localize_async
from fusesearch.core.errors import OptionError, RepositoryError

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "shapes.py").write_text("def perimeter(side):\n    return 3 * side\n")
    return tmp_path


def test_the_snippet_of_the_readme_runs(repo, capsys):
    (snippet,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    exec(snippet.replace("path/to/repository", str(repo)).replace("the text of an issue", "perimeter(3) returns 9"), {})
    assert re.fullmatch(r"shapes\.py 0\.\d+ \['perimeter'\]\n", capsys.readouterr().out)


def test_localize_runs_where_an_event_loop_runs_and_has_an_async_twin(repo):
    async def notebook():
        return [localize(repo, "perimeter is wrong"), await localize_async(repo, "perimeter is wrong")]

    plain = localize(repo, "perimeter is wrong")
    assert asyncio.run(notebook()) == [plain, plain]


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
