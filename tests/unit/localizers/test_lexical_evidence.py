"""What is read from observations: lines, definitions, hits, and what follows from them."""

from fusesearch.localizers.lexical.callees import callees, code_of
from fusesearch.localizers.lexical.evidence import Call, Evidence

SOURCE = '''\
class Shape(Base):
    """A shape."""

    def area(self, scale=1):
        """Area.

        >>> Shape().area()
        4
        """
        # outer(comment)
        total = measure(self.sides) * scale
        return np.round(self.clip(total), len(total))

    def clip(self, x):
        return min(x, limit(x))


def outer():
    def inner():
        return 1
    return inner
'''


def reading(path="a.py", start=1, end=99):
    lines = SOURCE.splitlines()[start - 1 : end]
    text = "\n".join(f"{start + i}\t{line}" for i, line in enumerate(lines))
    return Call("read_file", {"path": f"/repo/{path}", "start_line": start}, text)


def grep(pattern, output, mode="content"):
    return Call("grep", {"pattern": pattern, "output_mode": mode}, output)


def test_methods_are_qualified_by_the_class_above_and_bodies_end_where_the_next_definition_begins():
    evidence = Evidence.of([reading()])
    named = [evidence.qualified(found) for found in evidence.definitions if not found.is_class]
    assert named == ["Shape.area", "Shape.clip", "outer", "outer"]
    clip = [text.strip() for _, text in evidence.text_of(evidence.defined("clip")[0])]
    assert clip[:2] == ["def clip(self, x):", "return min(x, limit(x))"]
    assert "def outer" not in str(clip)
    # neither docstrings and comments nor builtins and foreign modules
    assert callees(evidence, evidence.defined("area")[0]) == ["measure", "clip"]
    found, later = grep("def area", "/repo/a.py:4:    def area(self):"), grep("^class ", "/repo/a.py:1:class Shape:")
    for calls, name in (([found], "area"), ([found, later], "Shape.area")):
        evidence = Evidence.of(calls)
        assert evidence.qualified(evidence.defined("area")[0]) == name


def test_code_after_a_gap_begins_below_the_docstring_and_one_that_goes_on_has_none():
    header = grep("def area", "/repo/a.py:4:    def area(self, scale=1):")
    code = ["        total = measure(self.sides) * scale"]
    for calls, first in (([header, reading(start=8, end=12)], code), ([reading(start=4, end=7)], [])):
        evidence = Evidence.of(calls)
        assert code_of(evidence.text_of(evidence.defined("area")[0]))[:1] == first
