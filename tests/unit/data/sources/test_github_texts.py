"""Issues as they were before the fix, and pull requests out of answers that lack things."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.data.sources.github.parsing import issue_before, parse_pull

FIX = datetime(2024, 5, 10, tzinfo=UTC)
ISSUE = {"number": 3, "title": "now", "body": "now", "createdAt": "2024-05-01T00:00:00Z", "repository": {"nameWithOwner": "o/r"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
FIELDS = ("number", "title", "body", "createdAt", "updatedAt", "mergedAt", "author", "mergeCommit", "commits", "files",
          "closingIssuesReferences", "changedFiles")  # fmt: skip


def edit(day, text):
    return {"editedAt": f"2024-05-{day:02}T00:00:00Z", "diff": text}


def edited(*edits):
    return ISSUE | {"lastEditedAt": max(entry["editedAt"] for entry in edits), "userContentEdits": {"nodes": list(edits)}}


def test_the_newest_version_before_the_fix_is_taken_and_one_that_is_gone_makes_the_text_unknown():
    assert issue_before(ISSUE, FIX).text == "now\n\nnow"
    deleted = edit(9, "secret") | {"deletedAt": "2024-06-01T00:00:00Z"}
    for node, body in (
        (edited(edit(12, "late"), edit(9, "second"), edit(1, "first")), "second"),
        (edited(edit(9, "second"), edit(1, "first")), "now"),
        (edited(edit(12, "late"), edit(9, None), edit(1, "first")), None), (edited(edit(12, "late")), None),
        (ISSUE | {"lastEditedAt": "2024-05-12T00:00:00Z"}, None), (edited(edit(12, "late"), deleted), None),
    ):  # fmt: skip
        found = issue_before(node, FIX)
        assert (found and found.body) == body, node


def test_the_title_before_the_first_later_renaming_is_taken():
    events = [
        {"createdAt": f"2024-05-{day}T00:00:00Z", "previousTitle": old, "currentTitle": new}
        for day, old, new in (("02", "a", "b"), ("11", "b", "c"), ("12", "c", "now"))
    ]
    assert issue_before(ISSUE | {"timelineItems": {"filteredCount": 3, "nodes": events}}, FIX).title == "b"
    assert issue_before(ISSUE | {"timelineItems": {"filteredCount": 30, "nodes": events}}, FIX) is None


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_a_pull_request_of_any_shape_is_read_whole_or_dropped(node):
    pull = parse_pull(node, "o/r")
    assert pull is None or (isinstance(pull.number, int) and pull.merged.tzinfo is not None)


def test_work_began_with_the_first_commit_and_not_after_the_pull_request():
    node = {"number": 1, "mergedAt": "2024-05-20T00:00:00Z", "createdAt": "2024-05-10T00:00:00Z"}
    commit = {"commit": {"oid": "x", "message": "fixes #4", "authoredDate": "2024-05-08T02:00:00+02:00"}}
    pull = parse_pull(node | {"commits": {"totalCount": 9, "nodes": [None, commit]}}, "o/r")
    assert pull.first_commit == datetime(2024, 5, 8, tzinfo=UTC)
    assert (pull.links, pull.commits) == ((("o/r", 4),), 9)
    assert parse_pull(node, "o/r").first_commit == datetime(2024, 5, 10, tzinfo=UTC)
