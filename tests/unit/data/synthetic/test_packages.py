"""Which files make up a repository, and how it is called."""

import pytest

from tasks.core.errors import ConfigError, DataError
from tasks.data.sources.synthetic.packages import files_of, locate, parse_packages, repository_name


def test_repositories_are_named_by_distribution_and_package():
    assert repository_name("sympy.ntheory") == "sympy/ntheory"
    assert repository_name("toolz") == "toolz/toolz"
    assert repository_name("sklearn.metrics") == "scikit-learn/metrics"
    assert repository_name("json") == "cpython/json"


def test_files_lie_under_the_package_folder_and_tests_stay_out():
    [package] = parse_packages(["toolz"])
    paths = [file.path for file in files_of(package)]
    assert "toolz/itertoolz.py" in paths
    assert not [path for path in paths if "/tests/" in path]
    assert package.slug == "toolz__toolz"


def test_a_subpackage_that_is_listed_is_left_out_of_its_parent():
    parent, child = parse_packages(["toolz", "toolz.sandbox"])
    assert not {file.real for file in files_of(parent)} & {file.real for file in files_of(child)}


def test_modules_can_be_grouped():
    [package] = parse_packages(["cpython/stdlib=textwrap, heapq"])
    assert [(file.path, file.module) for file in files_of(package)] == [("heapq.py", "heapq"), ("textwrap.py", "textwrap")]


@pytest.mark.parametrize("entries", [["a b"], ["x=os"], ["a/b/c=os"], ["toolz", "toolz"], [""]])
def test_malformed_lists_are_refused(entries):
    with pytest.raises(ConfigError, match=r"mine\.packages"):
        parse_packages(entries)


def test_what_is_not_installed_is_an_error_in_one_line():
    with pytest.raises(DataError, match="not installed"):
        locate("surely_not_installed_here")
    with pytest.raises(DataError, match="no Python source"):
        locate("toolz.nowhere")
