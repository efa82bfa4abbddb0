"""What Agentless and CoSIL show of a repository: the tree and the skeletons."""

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.code.skeleton import skeleton
from fusesearch.code.tree import source_files, tree_text

NAMES = st.text("abcde_", min_size=1, max_size=4)
PATHS = st.lists(
    st.lists(NAMES, max_size=4).flatmap(lambda f: NAMES.map(lambda n: "/".join([*(f"{x}.d" for x in f), f"{n}.py"]))),
    max_size=30,
    unique=True,
)


def test_source_files_are_those_of_python_unless_others_are_more_and_tests_only_where_there_is_nothing_else():
    paths = ["a.py", "docs/x.md", "pkg/b.py", "pkg/tests/c.py", "pkg/test_d.py", "static/e.js", "latest.py"]
    assert source_files(paths) == ["a.py", "pkg/b.py", "latest.py"]
    assert source_files(["a.js", "b.ts", "c.js", "setup.py"]) == ["a.js", "b.ts", "c.js", "setup.py"]
    assert source_files(["tests/a.py"]) == ["tests/a.py"]
    assert source_files(["README.md"]) == []


def test_the_tree_lists_folders_before_files_and_leaves_out_deep_levels_first():
    paths = ["setup.py", "pkg/b.py", "pkg/sub/c.py", "pkg/a.py"]
    assert tree_text(paths, 1000) == "pkg/\n  sub/\n    c.py\n  a.py\n  b.py\nsetup.py"
    paths = [f"pkg/sub/deep/f{i}.py" for i in range(50)] + ["pkg/a.py"]
    assert tree_text(paths, 80) == "pkg/\n  sub/\n    deep/ (50 more files below)\n  a.py"


@given(PATHS, st.integers(1, 400))
def test_a_tree_is_cut_to_its_room_and_says_so(paths, chars):
    text = tree_text(paths, chars)
    whole = tree_text(paths, 10**6)
    names = [line.strip() for line in whole.split("\n") if not line.endswith("/")]
    assert sorted(filter(None, names)) == sorted(path.rpartition("/")[2] for path in paths)
    assert text == whole or "not shown)" in text or "more files below)" in text
    assert len(text) <= max(chars, max((len(line) for line in text.split("\n")), default=0)) + 60


SOURCE = '''\
"""Docs."""
import os

TABLE = {
ROWS
}


@decorated(
    1
)
class Shape(Base):
    """Docs."""

    sides: int = 3

    def area(self,
             scale=1):
        """Docs."""
        # comment
        return 1

    async def wait(self): return 2


if os:
    def late():
        def inner():
            pass
        x = 1
'''.replace("ROWS", "\n".join(f"    {i}: {i}," for i in range(40)))


def test_a_skeleton_has_headers_and_assignments_alone():
    text = skeleton("a.py", SOURCE)
    assert text.split("\n")[:3] == ["TABLE = {", "    0: 0,", "    1: 1,"]
    assert "    8: 8,\n...\n    31: 31," in text
    assert text.endswith("""\

@decorated(
    1
)
class Shape(Base):
    sides: int = 3
    def area(self,
             scale=1):
        ...
    async def wait(self): return 2
        ...
    def late():
        ...""")
    other = skeleton("a.js", "class Box {\n  open(a,\n       b) {\n    return 1;\n  }\n}\n")
    assert other == "# Box.open (lines 2-5)\n  open(a,\n       b) {\n    ..."
