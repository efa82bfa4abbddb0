"""The study of truth beside git's hunks and Ctags, on a small repository."""

import shutil
import subprocess

import pytest

from experiments.spans.commits import HISTORIES, commits, compared_commits, end_of, fix_of

pytestmark = [pytest.mark.rare, pytest.mark.skipif(shutil.which("ctags") is None, reason="needs Universal Ctags")]
FIRST = "package p\n\nfunc f() int {\n\treturn 1\n}\n\n// g is g.\nfunc (s *S) g() int {\n\t// why\n\treturn 2\n}\n\nvar x = 1\n"


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(text, subject):
        (tmp_path / "a.go").write_text(text)
        (tmp_path / "README").write_text(subject)
        git("add", "-A")
        git("commit", "-m", subject)

    git("init", "-b", "main")
    commit(FIRST, "first")
    commit(FIRST.replace("return 1", "return 3"), "a line (#1)")
    commit(FIRST.replace("return 1", "return 3").replace("// why", "// because"), "a comment")
    git("switch", "-c", "side")
    commit(FIRST.replace("return 1", "return 3").replace("x = 1", "x = 2").replace("\treturn 2", "\ty()\n\treturn 2"), "two")
    git("switch", "main")
    git("merge", "--no-ff", "-m", "Merge pull request #2 from a/side", "side")
    (tmp_path / "README").write_text("no source")
    git("commit", "-am", "no source")
    return tmp_path / ".git"


def test_both_readings_name_the_functions_of_each_commit(repository):
    chosen = commits(repository, "main", "go")
    assert [len(commit.files) for commit in chosen] == [1, 1, 1]
    found = [({*one.ours}, {*one.theirs}) for _, _, touched, _ in compared_commits(repository, "go", chosen) for one in touched]
    assert found == [({"S.g"}, {"g"}), (set(), set()), ({"f"}, {"f"})]


def test_a_change_is_found_by_its_pull_request(repository):
    assert "+\treturn 3" in fix_of(repository, "1")[1]
    assert "+var x = 2" in fix_of(repository, "2")[1]
    assert fix_of(repository, "3") is None


def test_a_function_ends_where_its_indentation_does():
    lines = ["fn a() {", "    if x {", "    }", "}", "fn b()", "where", "    T: U,", "{", "}", "fn c() { 1 }", "let d = 1;"]
    assert [end_of(lines, line) for line in (1, 5, 10)] == [4, 9, 10]
    assert len(HISTORIES) == 12
