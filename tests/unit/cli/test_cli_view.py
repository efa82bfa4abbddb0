"""`view`: which episode and truth it takes, where the page goes, what stands on it, and that no text on it becomes markup."""

import html
import json
import re
from pathlib import Path

import pytest

from fusesearch.core.schema import Answer, Instance, Location, Observation, ToolCall, Trajectory, Truth, Turn
from fusesearch.core.storage import write_instances, write_json, write_jsonl
from fusesearch.data.truth import truth_in_git
from fusesearch.reporting.episodes.page import page_of
from fusesearch.reporting.episodes.rendering import render
from tests.fakes.commands import failed
from tests.fakes.html_seen import Page

TRUTH = Truth(
    files=["pkg/shapes.py", "pkg/lost.py"], functions=["pkg/shapes.py::perimeter", "pkg/lost.py::f"],
    lines={"pkg/shapes.py": [(7, 7)]},
)  # fmt: skip


def observation(number, output, *entities, gain=1.0, error=None):
    gains = {"gain_turn": gain, "gain_call": gain / 2}
    return Observation(call_id=str(number), output=output, entities=list(entities), error=error, **gains)


def call(number, **arguments):
    return ToolCall(id=str(number), name="grep", arguments=arguments)


SHOWN = "5\t\n6\tdef perimeter(side):\n7\t    return 3 * side"


def episode(instance="shapes-1", **changes):
    """Two searching turns and an answer: one right function, one right file, one wrong."""
    turns = [
        Turn(
            text='Looking.\n<tool_call>\n{"name": "grep", "arguments": {"pattern": "perimeter"}}\n</tool_call>',
            calls=[call(1, pattern="perimeter"), call(2, pattern="(")],
            observations=[
                observation(1, "/repo/pkg/shapes.py\n/repo/tests.py", "pkg/shapes.py", "tests.py"),
                observation(2, "Error: bad", error="bad", gain=0),
            ],
        ),
        Turn(
            text="<think>Perhaps there.</think>",
            calls=[call(3, path="/repo/pkg/shapes.py")],
            observations=[observation(3, SHOWN, *(f"pkg/shapes.py:{n}" for n in (5, 6, 7)), gain=0.47)],
        ),
        Turn(text="## Locations to Modify\n- /repo/pkg/shapes.py::perimeter"),
    ]
    locations = [Location(path="pkg/shapes.py", function=name) for name in ("perimeter", "area")]
    answer = Answer(modify=[*locations, Location(path="tests.py")], related=[Location(path="README.md")])
    fields = {"repo": "geometry/shapes", "base_commit": "0123456789abcdef", "localizer": "lexical", "model": "lexical"}
    return Trajectory(
        **{"instance_id": instance, "system": "s", "issue": "It is 6.", "turns": turns, "answer": answer} | fields | changes
    )


def html_of(trajectory, truth=None):
    return render(page_of(trajectory, truth))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "trajectory.json"
    path.write_text(episode().model_dump_json(indent=2))
    return path


def test_a_search_can_be_saved_and_viewed_with_the_truth_of_its_patch(run, repo, head, patch, issue, tmp_path):
    run("localize", "--repo", repo, "--issue", issue, "--localizer", "lexical", "--save", tmp_path / "t.json")
    write_json(tmp_path / "truth.json", truth_in_git(repo, head, patch.read_text()).model_dump(mode="json"))
    result = run("view", tmp_path / "t.json", "--truth", tmp_path / "truth.json", "--out", tmp_path / "deep/page.html")
    assert result.exit_code == 0, result.output
    html = (tmp_path / "deep/page.html").read_text()
    assert "first seen here" in html
    assert 'class="row change"' in html


def test_a_line_of_many_is_chosen_by_instance_and_run(run, tmp_path):
    rows = [episode("a/b"), episode("c"), episode("a/b", seconds=77.0)]
    write_jsonl(tmp_path / "t.jsonl", rows)
    assert run("view", tmp_path / "t.jsonl", "--instance", "a/b").stdout.strip().endswith("t.a_b.html")
    second = run("view", tmp_path / "t.jsonl", "--instance", "a/b", "--run", 2).stdout.strip()
    assert second == str(tmp_path / "t.a_b.2.html")
    assert "77.0 s" in Path(second).read_text()
    assert "--instance: it has a/b, c" in failed(run("view", tmp_path / "t.jsonl"))
    assert "no episode of z; it has a/b, c" in failed(run("view", tmp_path / "t.jsonl", "--instance", "z"))
    assert "no --run 3" in failed(run("view", tmp_path / "t.jsonl", "--instance", "a/b", "--run", 3))


@pytest.mark.parametrize("kind", ["flat", "nested", "one", "parquet"])
def test_truth_is_taken_in_every_form_there_is(run, saved, tmp_path, kind):
    flat = TRUTH.model_dump(mode="json")
    instance = Instance(instance_id="shapes-1", repo="r", base_commit="c", problem_statement="p", truth=TRUTH)
    other = instance.model_copy(update={"instance_id": "other"})
    path = tmp_path / f"truth.{'parquet' if kind == 'parquet' else 'jsonl'}"
    if kind == "parquet":
        write_instances(path, [other, instance])
    elif kind == "one":
        path.write_text(json.dumps(flat, indent=2))
    else:
        rows = [{"instance_id": "other", **flat}, {"instance_id": "shapes-1", **flat}]
        write_jsonl(path, rows if kind == "flat" else [other, instance])
    result = run("view", saved, "--truth", path)
    assert result.exit_code == 0, result.output
    assert "never shown; not answered" in saved.with_suffix(".html").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"instance_id": "other", "files": ["a.py"]}\n', "no truth of shapes-1; it has other"),
        ('{"instance_id": "shapes-1", "files": []}\n', "names no file"),
        ('{"instance_id": "shapes-1", "files": 3}\n', "files"),
        ('{"instance_id": "shapes-1"}\n', "names no file"),
        ("[]\n", "truth.jsonl: "),
        ('{"files": ["a.py"]}\n{\n', "truth.jsonl:2"),
        ("", "truth.jsonl"),
    ],
)
def test_a_truth_that_does_not_serve_is_one_line(run, saved, tmp_path, text, message):
    (tmp_path / "truth.jsonl").write_text(text)
    assert message in failed(run("view", saved, "--truth", tmp_path / "truth.jsonl"))
    assert not saved.with_suffix(".html").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', "\xff", '{\n"instance_id": 1\n}'])
def test_a_file_that_is_not_a_trajectory_is_one_line(run, tmp_path, text):
    (tmp_path / "t.json").write_bytes(text.encode("latin-1"))
    assert "t.json" in failed(run("view", tmp_path / "t.json"))
    assert "none.json" in failed(run("view", tmp_path / "none.json"))


def test_a_page_that_cannot_be_written_is_one_line(run, saved):
    assert "trajectory.json" in failed(run("view", saved, "--out", saved / "page.html"))


def test_the_page_loads_nothing_runs_nothing_and_its_links_lead_to_what_is_on_it():
    html = html_of(episode(), TRUTH)
    page = Page(html)
    assert "script" not in page.tags
    assert not page.tags & {"link", "img", "iframe", "object", "form", "base", "svg"}
    policy = next(value for name, value in page.attributes if name == "content" and "default-src" in (value or ""))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "url(" not in html
    assert not re.search(r"(src|action|style)=", html)
    links = {value for name, value in page.attributes if name == "href" and value}
    assert links <= {f"#{name}" for name in page.ids()}
    assert len(page.ids()) == len(set(page.ids()))


def test_figures_answer_and_truth_are_shown_and_without_a_truth_nothing_is_judged():
    page = Page(html_of(episode(), TRUTH))
    assert not re.search(r";\s*</span>", html_of(episode(), TRUTH)), "nothing ends where something else would begin"
    assert "F10.50" in page.text.replace("\n", "")  # file 1/2 both ways, function 1/2 both ways
    assert "right file, another function" in page.text
    assert "first shown by call 2.1; answered, place 1" in page.text
    assert "never shown; not answered" in page.text
    assert "Perhaps there." in page.texts["t2"]
    assert "Looking." in page.texts["t1"]
    assert "gain 47%" in page.texts["t2c1"]
    assert "24% counting this turn" in page.texts["t2c1"]
    assert ("class", "card g5") in page.attributes
    assert "tool_call" not in page.text
    unjudged = Page(html_of(episode())).text
    assert [sign for sign in ("F1", "✓", "first seen here") if sign in unjudged] == []


def test_an_answer_of_the_ranker_shows_confidence_and_reasons_and_no_search(run, repo, head, patch, issue, tmp_path):
    run("localize", "--repo", repo, "--issue", issue, "--save", tmp_path / "t.json")
    write_json(tmp_path / "truth.json", truth_in_git(repo, head, patch.read_text()).model_dump(mode="json"))
    assert run("view", tmp_path / "t.json", "--truth", tmp_path / "truth.json", "--repo", repo).exit_code == 0
    answer = json.loads((tmp_path / "t.json").read_text())["answer"]
    page = Page((tmp_path / "t.html").read_text())
    assert f"{answer['confidence']:.0%}that the first file is right" in page.text.replace("\n", "")
    for place in answer["places"]:
        for one in (place, *place["functions"]):
            assert f"{one['confidence']:.0%}; " in page.text
            assert "; ".join(one["reasons"]) in page.text
    assert "pkg/shapes.py::perimeter" in page.text
    marked = re.findall(r'class="row (said)?".*?<i>(\d+)</i><code>(.*?)</code>', (tmp_path / "t.html").read_text())
    lines = (repo / "pkg/shapes.py").read_text().split("\n")
    assert all(lines[int(number) - 1] == html.unescape(text) for _, number, text in marked)
    assert {bool(mark) for mark, *_ in marked} == {True, False}
    assert run("view", tmp_path / "t.json", "--out", tmp_path / "elsewhere.html").exit_code == 0
    assert 'class="row' not in (tmp_path / "elsewhere.html").read_text()
    assert not set(re.findall(r"efficiency|Calls|Tokens|no observation|Turn 1|at a glance|parallel", page.text))
    assert {value.removeprefix("#") for name, value in page.attributes if name == "href" and value} <= set(page.ids())


def test_an_episode_the_infrastructure_broke_has_no_score_and_shows_its_calls():
    turn = Turn(text="", calls=[call(1, pattern="x"), call(2, pattern="y")])
    page = Page(html_of(episode(turns=[turn], answer=None, stop="error", error="endpoint <gone>"), TRUTH))
    assert "endpoint <gone>" in page.text
    assert "a failure of the infrastructure has no score" in page.text
    assert {"t1c1", "t1c2"} <= set(page.ids())


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'><svg onload=alert(1)>", "</style><script>", "</title><b>",
    "<!--", "]]>", "{{ 7 * 7 }}", "{% raw %}", "javascript:alert(1)", "&lt;i&gt;", "\x00\x1b[2J", "\u202e\u2066", "\r\n",
    "\ufffe",
]  # fmt: skip


def hostile_episode(evil):
    """An episode of which every text is ``evil``, and whose observations show lines of a file of that name."""
    path = evil.replace("\n", " ")
    asked = ToolCall(id=evil, name=evil, arguments={evil: evil, "list": [evil]})
    seen = observation(1, f"/repo/{path}:1:{path}\n/repo/{path}:2:{path}\n{evil}", f"{path}:1", f"{path}:2", gain=0.5)
    turns = [
        Turn(text=evil, notice=evil, calls=[asked, asked], observations=[seen, seen.model_copy(update={"error": evil})]),
        Turn(text=evil, calls=[asked]),
        Turn(text=evil),
    ]
    place = Location(path=evil, function=evil)
    names = dict.fromkeys(("instance_id", "repo", "base_commit", "localizer", "model", "system", "issue"), evil)
    return Trajectory(**names, turns=turns, answer=Answer(modify=[place], related=[place]), stop="answer")


KNOWN = Page(html_of(episode(), TRUTH))
TAGS = KNOWN.tags | {"details", "summary", "h3", "strong"}
ATTRIBUTES = {name for name, _ in KNOWN.attributes} | {"role", "tabindex"}


@pytest.mark.parametrize("evil", [*HOSTILE, "".join(HOSTILE)])
def test_no_text_of_an_episode_becomes_markup_and_every_call_is_there(evil):
    trajectory = hostile_episode(evil)
    page = Page(html_of(trajectory, Truth(files=[evil], functions=[f"{evil}::{evil}"])))
    assert page.tags <= TAGS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert page.open == []
    assert not set("\x00\x1b\u202e\u2066\ufffe") & set(page.text)
    calls = [(f"t{n}c{i}", call) for n, turn in enumerate(trajectory.turns, 1) for i, call in enumerate(turn.calls, 1)]
    assert [name for name in page.ids() if re.fullmatch(r"t\d+c\d+", name)] == [name for name, _ in calls]
    for name, call in calls:
        for value in [*call.arguments.values(), call.name]:
            if isinstance(value, str):
                assert comparable(value) in comparable(page.texts[name])


def comparable(text):
    """Text without what a page may show in another way: blanks, and characters that are not seen."""
    return "".join(character for character in text if character.isprintable() and not character.isspace()).replace("\ufffd", "")
