"""Questions evaluated, judged and compared by the documented commands, with one endpoint as answerer and judge."""

import json
import re

import pytest
import yaml
from typer.testing import CliRunner

from fusesearch.agents.models.base import Completion
from fusesearch.core.config import Params
from fusesearch.core.schema import Expected, Instance, Truth
from fusesearch.core.storage import write_instances
from fusesearch.search.repository import Repository
from fusesearch.training.rollouts import Episodes
from tests.fakes.commands import app
from tests.fakes.endpoint import Endpoint
from tests.fakes.git import committed, git

LIMITS = {f"rope{number}": 400 + number for number in range(6)}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    sources = {f"yard/{name}.py": f"def {name}(length={value}):\n    return length\n" for name, value in LIMITS.items()}
    commit = committed(root / "work", sources)
    git(root, "clone", "-q", "--bare", "work", "repos/o__yard.git")
    rows = [
        Instance(
            instance_id=name, repo="o/yard", base_commit=commit,
            problem_statement=f"What is the default of `length` in `{name}`?",
            truth=Truth(files=[f"yard/{name}.py"], expected=Expected(family="default", kind="value", values=[str(value)])),
        )
        for name, value in LIMITS.items()
    ]  # fmt: skip
    write_instances(root / "asked.parquet", rows)
    return root


def served(request):
    """Answers what its passages show, else 1; as a judge, says nothing useful about rope3 and compares all else."""
    prompt = request["messages"][-1]["content"]
    if "# Verdict" not in prompt:
        asked = re.search(r"`(rope\d)`", prompt)[1]
        shown = re.search(rf"def {asked}\(length=(\d+)\)", prompt)
        return {"role": "assistant", "content": f"## Answer\n- {shown[1] if shown else 1}"}
    reference, candidate = re.findall(r"^- (\d+)$", prompt, re.MULTILINE)[:2]
    names = re.findall(r"^\[\[(\w+): NUMBER\]\]", prompt, re.MULTILINE)
    points = (100 if len(names) == 1 else 20) if reference == candidate else 1
    verdict = "\n".join(f"[[{name}: {points}]]" for name in names)
    return {"role": "assistant", "content": "Hm." if "rope3" in prompt else verdict}


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def evaluate(world, tmp_path, url, instances, **more):
    grid = {
        "localizers": ["closed-book", "rag"], "models": [{"name": "m", "base_url": url}], "runs": 1,
        "benchmarks": [{"name": "asked", "instances": str(instances), "repos": str(world / "repos")}],
        "agent": {"toolset": "questions"}, **more,
    }  # fmt: skip
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(grid))
    done = run("evaluate", tmp_path / "grid.yaml", "--out", tmp_path / "out", "--cache", tmp_path / "cache")
    assert done.exit_code == 0, done.output


def test_a_judge_takes_the_place_of_exact_scores(world, tmp_path):
    with Endpoint(served) as endpoint:
        evaluate(world, tmp_path, endpoint.url, world / "asked.parquet", reward="answer")
        early = run("compare", tmp_path / "out", "--protocol", "coreqa")
        assert "not judged" in early.stderr
        for rubric in ("coreqa", "swe-qa"):
            found = run("judge", tmp_path / "out", "--model", "j", "--base-url", endpoint.url, "--rubric", rubric)
            assert found.exit_code == 0, found.output
            by_rag = next(row for name, row in json.loads(found.stdout).items() if "rag" in name)
            assert (by_rag["answers"], by_rag["failed"], by_rag["share"]) == (6, 1, 1)
            assert by_rag["checks"]["empty"] == 0
        asked = len(endpoint.asked)
    assert endpoint.errors == []
    exact = run("compare", tmp_path / "out", "--protocol", "exact", "--format", "markdown").stdout
    for protocol, columns in {"coreqa": ["Judge completeness"], "swe-qa": ["Judge correctness", "Judge reasoning"]}.items():
        table = run("compare", tmp_path / "out", "--protocol", protocol, "--format", "markdown").stdout
        assert all(f"{column} (%)" in table for column in ["Judge grade", *columns])
        assert "as j judged them; 2 of 12 verdicts failed" in table
    assert "Answer score" in exact
    assert len(endpoint.asked) == asked  # tables ask nobody


def test_open_questions_are_rows_with_a_reference_and_judged(world, tmp_path):
    asked = {"repo": "o/yard", "patch": "", "base_commit": git(world / "work", "rev-parse", "HEAD")}
    rows = [
        asked | {
            "instance_id": name, "problem_statement": f"How long is `{name}` unless said otherwise?",
            "truth": {"expected": {"family": "open", "kind": "text", "values": [f"- {LIMITS[name]}"]}},
        }
        for name in LIMITS
    ]  # fmt: skip
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with Endpoint(served) as endpoint:
        evaluate(world, tmp_path, endpoint.url, tmp_path / "q.jsonl")
        found = run("judge", tmp_path / "out", "--model", "j", "--base-url", endpoint.url, "--rubric", "swe-qa")
        by_rag = next(row for name, row in json.loads(found.stdout).items() if "rag" in name)
        assert (by_rag["share"], by_rag["failed"], by_rag["checks"]["agreement"]) == (1, 1, None)
    assert endpoint.errors == []
    table = run("compare", tmp_path / "out", "--protocol", "swe-qa", "--format", "markdown").stdout
    assert "| rag | m | 100.0 |" in table


QUESTION = Instance(
    instance_id="open", repo="o/yard", base_commit="0" * 40, problem_statement="How does `pull` fail?",
    truth=Truth(expected=Expected(family="open", kind="text", values=["It raises TooShort."])),
)  # fmt: skip
SAID = ["It raises TooShort.", "It returns None.", "", "unclear"]


class Policy:
    """Answers at once, by the seed of its rollout; a reflection changes nothing."""

    name = "policy"

    async def complete(self, messages, tools, sampling):
        said = SAID[(sampling.seed or 0) % len(SAID)]
        return Completion(text=f"## Answer\n- {said}" if said else "I do not know.")

    async def close(self):
        pass


def judged(request):
    """Half the points for another answer than the reference, and prose for an unclear one."""
    prompt = request["messages"][-1]["content"]
    reference, candidate = (text in prompt for text in ("It raises TooShort.", "It returns None."))
    points = "Hm." if "unclear" in prompt else f"[[completeness: {50 if candidate else 100}]]"
    assert reference
    return {"role": "assistant", "content": points}


def made(tmp_path, url, **search):
    (tmp_path / "yard.py").write_text("def pull(): ...\n")
    grpo = {"reward": "answer+executed", "prompts_per_step": 1, "group": 4, "micro_batch": 4, "search": search,
            "judge": {"model": "j", "base_url": url}}  # fmt: skip
    params = Params.model_validate({"agent": {"toolset": "questions"}, "grpo": grpo})
    episodes = Episodes(params, params.grpo, {"open": QUESTION}, lambda _: Repository(tmp_path), eos=0, out=tmp_path / "out")
    return episodes.make(["open"] * 4, 0, Policy()).scores


def test_a_judge_gives_the_reward_and_a_failed_judge_gives_no_reward(tmp_path):
    with Endpoint(judged) as endpoint:
        scores = made(tmp_path, endpoint.url)
        asked = len(endpoint.asked)
        again = made(tmp_path, endpoint.url)
        assert len(endpoint.asked) - asked == 3  # only what failed is asked again, as often as a judge is
    assert endpoint.errors == []
    assert [score.answer_score for score in scores] == [1.0, pytest.approx(0.6), 0.0, None]
    assert [score.reward for score in scores] == [1.0, pytest.approx(0.6), 0.0, None]
    assert re.match("no verdict: ", scores[3].error)
    assert [score.reward for score in again] == [score.reward for score in scores]
