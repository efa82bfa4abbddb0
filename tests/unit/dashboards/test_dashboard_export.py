"""The export: every page, every chart, and nothing that a browser would have to fetch or run."""

import base64
import re
import shutil
from pathlib import Path

import pytest

from dashboards.__main__ import main
from dashboards.export import export
from dashboards.tabs import FILES
from tasks.core.storage import write_jsonl, write_text
from tasks.pipeline.places import MAIN
from tasks.pipeline.work.report import PAPER_STAGES
from tasks.reporting import charts
from tasks.reporting.charts import COLOURS
from tests.fakes.dashboard_project import ARMS, PAPER, episode
from tests.fakes.html_seen import Seen

MOST = 2
GREYS = {"#dddddd", "#ddd", "#888", "#555555", "#1b1d21", "#ffffff", "white", "#000"}


@pytest.fixture(scope="module")
def out(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    assert export(project, folder, MOST) == folder / "index.html"
    return folder


def test_there_is_a_page_for_every_tab_and_every_link_leads_somewhere(out):
    files = sorted(out.rglob("*.html"))
    assert {file for _, file in FILES} <= {path.name for path in files}
    for path in files:
        targets = [value for name, value in Seen(path.read_text()).attributes if name == "href"]
        for target in targets:
            assert target.startswith("#") or (path.parent / target).resolve().is_file()


def test_the_asked_number_of_instances_is_there_with_an_episode_for_every_arm(out):
    pages = [path for path in (out / "episodes").glob("*.html") if not re.search(r"\.\d+\.html$", path.name)]
    assert len(pages) == MOST
    assert len(list((out / "episodes").glob("*.*.html"))) == MOST * len(ARMS)


def test_every_finished_experiment_is_there_as_a_whole(out):
    said = Seen((out / "experiments.html").read_text()).text
    assert ["Does filtering matter?" in said, "Does reward matter?" in said] == [True, True]
    assert said.count("Came out: ") == said.count("Expected: ") == 2


def test_the_instances_are_those_that_the_two_trained_arms_differ_on(out):
    said = Seen((out / "trajectories.html").read_text()).text
    assert f"{MOST} instances, those first on which SFT and SFT + RL differ most." in said


def test_nothing_is_fetched_or_run(out):
    for path in out.rglob("*.html"):
        seen = Seen(path.read_text())
        assert not {"script", "iframe", "object", "embed", "link", "form"} & set(seen.tags)
        assert all(value.startswith("data:image/svg+xml") for name, value in seen.attributes if name == "src")
        assert not [name for name, _ in seen.attributes if name.startswith("on")]


def charts_of(path):
    sources = [value for name, value in Seen(path.read_text()).attributes if name == "src"]
    return [base64.b64decode(source.partition(",")[2]).decode() for source in sources]


def test_every_chart_has_a_legend_and_colours_that_can_be_told_apart(out):
    drawn = [svg for path in out.rglob("*.html") for svg in charts_of(path) if "role-frame" in svg]
    assert len(drawn) >= 15
    for picture in drawn:
        assert "role-legend" in picture
        assert strange_colours(picture) == set()


def strange_colours(picture):
    """Colours of lines and areas that are neither Okabe and Ito's, nor grey, nor of a scale that a legend shows as a band."""
    found = set(re.findall(r'(?:stroke|fill)="([^"]+)"', picture)) - {*COLOURS, *GREYS, "none"}
    band = "linearGradient" in picture
    return {colour for colour in found if not (band and colour.startswith(("rgb(", "url(#gradient_")))}


@pytest.mark.parametrize("colours", [("red", "green"), ("#ff0000", "#00ff00"), ("rgb(255,0,0)", "#0f0")])
def test_bars_in_red_and_green_are_strange(colours):
    kinds = dict(zip("ab", colours, strict=True))
    bars = charts.bars([{"name": kind, "count": 2, "kind": kind} for kind in kinds], "rows", kinds)
    assert strange_colours(charts.svg(bars)) == set(colours)


def test_every_chart_has_words_for_those_who_do_not_see_it(out):
    for _, file in FILES:
        seen = Seen((out / file).read_text())
        said = [value for name, value in seen.attributes if name == "alt"]
        assert len(said) == [name for name, _ in seen.attributes].count("src")
        assert all(said)
    assert seen.text.count("Every localizer on one instance") == 1


def test_an_empty_project_is_exported_with_what_is_missing(tmp_path):
    out = tmp_path / "out"
    export(tmp_path, out, MOST)
    for _, file in FILES:
        assert "Missing:" in (out / file).read_text()


def test_a_damaged_arm_is_named_and_the_others_are_exported_without_what_was_there_before(project, tmp_path):
    root, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(project / MAIN["evaluate.trajectories"], root / MAIN["evaluate.trajectories"])
    write_text(root / MAIN["evaluate.trajectories"] / "lexical.jsonl", "{\n")
    write_text(out / "episodes/old.1.html", "old")
    export(root, out, 1)
    assert "lexical.jsonl cannot be used" in Seen((out / "trajectories.html").read_text()).text
    assert len(list((out / "episodes").glob("*.*.html"))) == len(ARMS) - 1


def test_arms_without_episodes_are_named_and_a_part_of_an_arm_hides_no_instance(project, tmp_path):
    root, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(project / MAIN["evaluate.trajectories"], root / MAIN["evaluate.trajectories"])
    write_text(root / MAIN["evaluate.trajectories"] / "lexical.jsonl", "")
    write_jsonl(root / MAIN["evaluate.trajectories"] / "base.jsonl", [episode(7, "base", True)])
    export(root, out, 1)
    said = Seen((out / "trajectories.html").read_text()).text
    assert "lexical (teacher) has no episodes: run dvc repro evaluate" in said
    assert "1 instances, by name." in said
    assert "base.jsonl has 0 episodes of own__repo-0" in Seen((out / "episodes/own__repo-0.html").read_text()).text
    assert len(list((out / "episodes").glob("own__repo-0.*.html"))) == len(ARMS) - 2


def test_trained_arms_that_share_no_instance_are_said(tmp_path):
    for number, arm in enumerate(("sft", "sft+rl")):
        write_jsonl(tmp_path / MAIN["evaluate.trajectories"] / f"{arm}.jsonl", [episode(number, arm, True)])
    export(tmp_path, tmp_path / "out", 1)
    said = Seen((tmp_path / "out/trajectories.html").read_text()).text
    assert "SFT and SFT + RL have no instance in common" in said


def test_every_instance_has_a_page_of_its_own_however_alike_the_ids_are(tmp_path):
    long = "l" * 120
    ids = ["own/repo-1", "own_repo-1", "OWN_repo-1", f"{long}a", f"{long}b", long, "fine-1.x", "odd-1", "odd-1.5"]
    rows = [episode(1, "sft", True).model_copy(update={"instance_id": name, "issue": f"<<{name}>>"}) for name in ids]
    write_jsonl(tmp_path / MAIN["evaluate.trajectories"] / "sft.jsonl", rows)
    out = tmp_path / "out"
    export(tmp_path, out)
    links = [value for name, value in Seen((out / "trajectories.html").read_text()).attributes if name == "href"]
    pages = {link: Seen((out / link).read_text()).text for link in links if link.startswith("episodes/")}
    assert sorted(re.search("<<(.+?)>>", said).group(1) for said in pages.values()) == sorted(ids)
    assert "<<fine-1.x>>" in pages["episodes/fine-1.x.html"]
    assert len({path.name.casefold() for path in (out / "episodes").glob("*.html")}) == 2 * len(ids)


def test_odd_numbers_in_artifacts_take_down_neither_a_page_nor_the_export(project, tmp_path):
    root, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(project, root)
    write_text(root / PAPER_STAGES, PAPER.replace("4.96", "n/a"))
    write_text(root / MAIN["select.drops"], '{"low_f1": NaN, "no_answer": 2}')
    write_text(root / MAIN["filter.metrics"], '{"instances": Infinity}')
    path = root / MAIN["evaluate.trajectories"] / "sft.jsonl"
    write_text(path, re.sub(r'"gain_turn":[\d.]+', '"gain_turn":NaN', path.read_text()))
    export(root, out, 1)
    said = {file: Seen((out / file).read_text()).text for _, file in FILES}
    assert "fusesearch_table2_stages.csv cannot be used" in said["index.html"]
    assert "Training stages beside FuseSearch table 2" in said["index.html"]
    assert "select reports no count for low_f1" in said["funnel.html"]
    assert "filter reports no instances" in said["funnel.html"]
    assert any("absent" in path.read_text() for path in (out / "episodes").glob("*.*.html"))


def test_the_command_prints_where_the_first_page_is(project, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["export", "pages", "--episodes", "1"])
    assert Path(capsys.readouterr().out.strip()) == Path("pages/index.html")


@pytest.mark.parametrize(("arguments", "says"), [(["export", "--episodes", "-1"], "below zero"), (["export", "file"], "file")])
def test_what_cannot_be_written_is_one_clear_line(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code in (1, 2)
    assert says in capsys.readouterr().err.splitlines()[-1]
