"""The export: every page, every chart, and nothing that a browser would have to fetch or run."""

import base64
import re
import shutil
from pathlib import Path

import pytest

from dashboards import parts
from dashboards.__main__ import main
from dashboards.export import FILES, export
from dashboards.tabs import results
from fusesearch.core.storage import write_jsonl, write_text
from fusesearch.reporting.charts import COLOURS, bars, svg
from tasks.running.places import MAIN
from tests.fakes.dashboard_project import ARMS, episode
from tests.fakes.html_seen import Seen

MOST = 2
GREYS = {"#dddddd", "#ddd", "#888", "#555555", "#1b1d21", "#ffffff", "white", "#000"}


@pytest.fixture(scope="module")
def out(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(results.page, "__defaults__", (["f1_macro"],))  # one figure of seven that are drawn alike
        assert export(project, folder, MOST) == folder / "index.html"
    return folder


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Charts are drawn once, for ``out``, and left out of the small exports of single tests."""
    monkeypatch.setattr(parts, "svg", lambda chart: "<svg/>")


@pytest.fixture(scope="module")
def seen(out):
    return {path: Seen(path.read_text()) for path in out.rglob("*.html")}


def values(page, wanted):
    return [value for name, value in page.attributes if name == wanted]


def test_there_is_a_page_for_every_tab_and_every_link_leads_somewhere(out, seen):
    assert {out / file for _, file in FILES} <= seen.keys()
    for path, page in seen.items():
        assert "Missing:" not in page.text
        for target in values(page, "href"):
            assert target.startswith("#") or (path.parent / target).resolve().is_file()


def test_the_instances_are_those_that_the_trained_arms_differ_on_with_an_episode_of_every_arm(out, seen):
    assert f"{MOST} instances, those first on which SFT and SFT + RL differ most" in seen[out / "trajectories.html"].text
    pages = [path for path in (out / "episodes").glob("*.html") if not re.search(r"\.\d+\.html$", path.name)]
    assert len(pages) == MOST
    assert len(list((out / "episodes").glob("*.*.html"))) == MOST * len(ARMS)


def test_every_finished_experiment_is_there_as_a_whole(out, seen):
    said = seen[out / "experiments.html"].text
    assert ["Does filtering matter?" in said, "Does reward matter?" in said] == [True, True]
    assert said.count("Came out: ") == said.count("Expected: ") == 2


def test_nothing_is_fetched_or_run(seen):
    for page in seen.values():
        assert not {"script", "iframe", "object", "embed", "link", "form"} & set(page.tags)
        assert all(source.startswith("data:image/svg+xml") for source in values(page, "src"))
        assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_every_chart_has_a_legend_words_and_colours_that_can_be_told_apart(seen):
    drawn = []
    for page in seen.values():
        assert len(values(page, "alt")) == len(values(page, "src"))
        assert all(values(page, "alt"))
        drawn += [base64.b64decode(source.partition(",")[2]).decode() for source in values(page, "src")]
    assert len(drawn) >= 12
    for picture in drawn:
        assert "role-legend" in picture
        assert strange_colours(picture) == set()


def strange_colours(picture):
    """Colours of lines and areas that are neither Okabe and Ito's, nor grey, nor of a scale that a legend shows as a band."""
    found = set(re.findall(r'(?:stroke|fill)="([^"]+)"', picture)) - {*COLOURS, *GREYS, "none"}
    band = "linearGradient" in picture
    return {colour for colour in found if not (band and colour.startswith(("rgb(", "url(#gradient_")))}


def test_bars_in_red_and_green_are_strange():
    kinds = {"a": "#ff0000", "b": "green"}
    rows = [{"name": kind, "count": 2, "kind": kind} for kind in kinds]
    assert strange_colours(svg(bars(rows, "rows", kinds))) == set(kinds.values())


def test_an_empty_project_is_exported_with_what_is_missing_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["export", "pages", "--episodes", "1"])
    assert Path(capsys.readouterr().out.strip()) == Path("pages/index.html")
    for _, file in FILES:
        assert "Missing:" in (tmp_path / "pages" / file).read_text()


def test_damaged_and_empty_arms_are_named_and_a_part_of_an_arm_hides_no_instance(project, tmp_path):
    root, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(project / MAIN["evaluate.cells"], root / MAIN["evaluate.cells"])
    write_text(root / MAIN["evaluate.cells"] / "damaged/trajectories.jsonl", "{\n")
    write_text(root / MAIN["evaluate.cells"] / "lexical/trajectories.jsonl", "")
    write_jsonl(root / MAIN["evaluate.cells"] / "base/trajectories.jsonl", [episode(7, "base", True)])
    write_text(out / "episodes/old.1.html", "old")
    export(root, out, 1)
    said = Seen((out / "trajectories.html").read_text()).text
    assert "damaged/trajectories.jsonl cannot be used" in said
    assert "lexical (teacher) has no episodes: run dvc repro evaluate" in said
    assert "1 instances, by name" in said
    assert "base/trajectories.jsonl has 0 episodes of own__repo-0" in Seen((out / "episodes/own__repo-0.html").read_text()).text
    assert len(list((out / "episodes").glob("*.*.html"))) == 2


def test_trained_arms_that_share_no_instance_are_said(tmp_path):
    for number, arm in enumerate(("sft", "sft+rl")):
        write_jsonl(tmp_path / MAIN["evaluate.cells"] / f"{arm}/trajectories.jsonl", [episode(number, arm, True)])
    export(tmp_path, tmp_path / "out", 1)
    assert "SFT and SFT + RL have no instance in common" in Seen((tmp_path / "out/trajectories.html").read_text()).text


def test_every_instance_has_a_page_of_its_own_however_alike_the_ids_are(tmp_path):
    long = "l" * 120
    ids = ["own/repo-1", "own_repo-1", "OWN_repo-1", f"{long}a", f"{long}b", long, "fine-1.x", "odd-1", "odd-1.5"]
    rows = [episode(1, "sft", True).model_copy(update={"instance_id": name, "issue": f"<<{name}>>"}) for name in ids]
    write_jsonl(tmp_path / MAIN["evaluate.cells"] / "sft/trajectories.jsonl", rows)
    out = tmp_path / "out"
    export(tmp_path, out)
    links = values(Seen((out / "trajectories.html").read_text()), "href")
    pages = {link: Seen((out / link).read_text()).text for link in links if link.startswith("episodes/")}
    assert sorted(re.search("<<(.+?)>>", said).group(1) for said in pages.values()) == sorted(ids)
    assert len({path.name.casefold() for path in (out / "episodes").glob("*.html")}) == 2 * len(ids)


@pytest.mark.parametrize(("arguments", "says"), [(["export", "--episodes", "-1"], "below zero"), (["export", "file"], "file")])
def test_what_cannot_be_written_is_one_clear_line(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert says in f"{ended.value.code}\n{capsys.readouterr().err}"
