"""What is read from observations: lines, definitions, hits, and what follows from them."""

from hypothesis import given
from hypothesis import strategies as st

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


def test_methods_are_qualified_by_the_class_above():
    evidence = Evidence.of([reading()])
    assert [evidence.qualified(d) for d in evidence.definitions if not d.is_class] == [
        "Shape.area",
        "Shape.clip",
        "outer",
        "outer",
    ]


def test_a_class_found_by_a_later_search_qualifies_a_method_found_before():
    evidence = Evidence.of([grep("def area", "/repo/a.py:4:    def area(self):"), grep("^class ", "/repo/a.py:1:class Shape:")])
    assert evidence.qualified(evidence.defined("area")[0]) == "Shape.area"


def test_a_method_whose_class_was_not_seen_keeps_its_name():
    evidence = Evidence.of([grep("def area", "/repo/a.py:4:    def area(self):")])
    assert evidence.qualified(evidence.defined("area")[0]) == "area"


def test_callees_leave_out_docstrings_comments_builtins_and_foreign_modules():
    evidence = Evidence.of([reading()])
    assert callees(evidence, evidence.defined("area")[0]) == ["measure", "clip"]


def test_a_body_ends_where_the_next_definition_begins():
    evidence = Evidence.of([reading()])
    assert [text.strip() for _, text in evidence.text_of(evidence.defined("clip")[0])][:2] == [
        "def clip(self, x):",
        "return min(x, limit(x))",
    ]
    assert "def outer" not in str(evidence.text_of(evidence.defined("clip")[0]))


def test_code_after_a_gap_begins_below_the_docstring():
    evidence = Evidence.of([grep("def area", "/repo/a.py:4:    def area(self, scale=1):"), reading(start=8, end=12)])
    assert code_of(evidence.text_of(evidence.defined("area")[0]))[0].strip() == "total = measure(self.sides) * scale"


def test_a_docstring_that_goes_on_has_no_code():
    evidence = Evidence.of([reading(start=4, end=7)])
    assert code_of(evidence.text_of(evidence.defined("area")[0])) == []


NUMBERED = st.builds(
    "{}\t{}{}".format, st.integers(1, 9), st.sampled_from(["", "    "]), st.sampled_from(["def f(", "class C:", "x"])
)
FOUND = NUMBERED.map(lambda line: f"/repo/a.py:{line.replace(chr(9), ':')}")
OUTPUTS = st.lists(NUMBERED | FOUND | st.text(max_size=20), max_size=6).map("\n".join)


@given(st.lists(st.tuples(st.sampled_from(["grep", "glob", "read_file", "rm"]), OUTPUTS), max_size=4))
def test_any_observation_can_be_read(observations):
    calls = [Call(name, {"path": "/repo/a.py", "output_mode": "content"}, text) for name, text in observations]
    evidence = Evidence.of([*calls, Call("read_file", {"path": "/repo/b.py"}, "2\tdef known():")])
    assert [evidence.qualified(definition) for definition in evidence.defined("known")] == ["known"]
    for definition in evidence.definitions:
        assert evidence.qualified(definition)
        assert evidence.text_of(definition)[0][0] == definition.line
