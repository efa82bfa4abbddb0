"""Which files make up a repository, and how it is called."""

import pytest

from fusesearch.core.errors import ConfigError, DataError
from fusesearch.data.sources.synthetic.packages import files_of, locate, parse_packages, repository_name


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
    # a subpackage that is listed is left out of its parent
    parent, child = parse_packages(["toolz", "toolz.sandbox"])
    assert not {file.real for file in files_of(parent)} & {file.real for file in files_of(child)}


def test_a_file_lists_packages_one_a_line(tmp_path):
    (tmp_path / "few.txt").write_text("# few\ntoolz\n\n  json  # of Python\n")
    assert parse_packages([str(tmp_path / "few.txt"), "heapq"]) == parse_packages(["toolz", "json", "heapq"])
    with pytest.raises(ConfigError, match=r"mine\.packages: .*none\.txt"):
        parse_packages([str(tmp_path / "none.txt")])


def test_malformed_lists_are_refused_and_a_package_that_is_not_installed_is_an_error_in_one_line():
    for entries in (["a b"], ["x=os"], ["toolz", "toolz"], [""]):
        with pytest.raises(ConfigError, match=r"mine\.packages"):
            parse_packages(entries)
    with pytest.raises(DataError, match="not installed"):
        locate("surely_not_installed_here")
    with pytest.raises(DataError, match="no Python source"):
        locate("toolz.nowhere")


def test_a_folder_is_a_package_wherever_it_lies(tmp_path):
    inner = tmp_path / "src" / "mine" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        (folder / "__init__.py").write_text("")
    (inner / "a.py").write_text("x = 1\n")
    whole, part = parse_packages([str(inner.parent), str(inner)])
    assert (whole.repo, whole.title, whole.root) == ("local/mine", "mine", tmp_path / "src")
    assert ("mine/inner/a.py", "mine.inner.a") in [(file.path, file.module) for file in files_of(whole)]
    assert (part.repo, part.module) == ("local/mine.inner", "mine.inner")
    before = whole.version
    (inner / "a.py").write_text("x = 2\n")
    assert whole.version != before


def test_a_folder_that_is_no_package_is_refused_with_what_to_give_instead(tmp_path):
    (tmp_path / "src" / "mine").mkdir(parents=True)
    (tmp_path / "src" / "mine" / "__init__.py").write_text("")
    with pytest.raises(ConfigError, match="give one of the packages in it, mine"):
        parse_packages([str(tmp_path)])
    with pytest.raises(ConfigError, match="is not a folder"):
        parse_packages(["./surely/not/here"])
