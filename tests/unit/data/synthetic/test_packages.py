"""Which files make up a repository, and how it is called."""

import pytest

from fusesearch.core.errors import ConfigError, DataError
from fusesearch.data.sources.synthetic.packages import files_of, locate, parse_packages, repository_name


def test_repositories_are_named_by_distribution_and_package():
    modules = {"sympy.ntheory": "sympy/ntheory", "toolz": "toolz/toolz", "json": "cpython/json"}
    modules["sklearn.metrics"] = "scikit-learn/metrics"
    assert {name: repository_name(name) for name in modules} == modules


def test_what_is_no_package_is_refused_in_one_line(tmp_path):
    (tmp_path / "src" / "mine").mkdir(parents=True)
    (tmp_path / "src" / "mine" / "__init__.py").write_text("")
    for entries, said in (
        (["a b"], r"mine\.packages"), (["x=os"], r"mine\.packages"), (["toolz", "toolz"], r"mine\.packages"),
        ([""], r"mine\.packages"), ([str(tmp_path / "src")], "give one of the packages in it, mine"),
        (["./surely/not/here"], "is not a folder"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=said):
            parse_packages(entries)
    for name, said in (("surely_not_installed_here", "not installed"), ("toolz.nowhere", "no Python source")):
        with pytest.raises(DataError, match=said):
            locate(name)


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
