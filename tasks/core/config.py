"""Typed params: one section of ``params.yaml`` per class, every field with its meaning.

``params.yaml`` is the nano profile; ``experiments/profiles/*.yaml`` are overlays for larger scales. Unknown keys are
errors, so that a misspelt param cannot silently do nothing.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from tasks.core.errors import ConfigError
from tasks.core.presets import FILTER_PRESETS, NO_PRESET

S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """Base of all sections. Immutable. Rejects unknown keys, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _checked_by(lookup: str) -> AfterValidator:
    """Check a name against a registry of a higher layer: ``module:function`` raises for an unknown one."""

    def known(name: str) -> str:
        try:
            resolve_name(lookup)(name)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return name

    return AfterValidator(known)


def _ascending(drawn: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= drawn[0] <= drawn[1]:
        raise ValueError(f"{list(drawn)} is not a range: write two numbers from 1 on, the smaller one first")
    return drawn


Range = Annotated[tuple[int, int], AfterValidator(_ascending)]
"""Two numbers from 1 on; values are drawn from between them, both included."""


class Tools(Section):
    """Limits of the three tools: what a model sees of a result."""

    read_lines: int = Field(1000, ge=1, description="most lines read_file returns")
    grep_lines: int = Field(200, ge=1, description="most result lines (matches, files or counts) grep returns")
    glob_paths: int = Field(100, ge=1, description="most paths glob returns")
    line_chars: int = Field(400, ge=20, description="characters shown of a line; the rest is cut with a mark")
    output_chars: int = Field(30_000, ge=200, description="most characters of one observation")
    context_lines: int = Field(0, ge=0, description="lines of context around a match in content mode")
    timeout_seconds: float = Field(10.0, gt=0, description="wall time one call may take")
    concurrency: int = Field(8, ge=1, description="ripgrep processes at once")


class Agent(Section):
    """The multi-turn parallel loop (FuseSearch algorithm 1)."""

    toolset: Annotated[str, _checked_by("tasks.agents.toolsets:toolset_named")] = Field(
        "fusesearch", description="tools, instructions, answers and scorer (tasks/agents/toolsets.py)"
    )
    prompt: Literal["full", "nano"] = Field("full", description="system prompt under tasks/agents/prompts")
    mode: Literal["parallel", "sequential"] = "parallel"
    max_turns: int = Field(12, ge=1, description="most assistant messages; the last one must answer")
    max_calls_per_turn: int = Field(8, ge=1, description="calls run in one turn; further ones become errors")
    max_context_tokens: int = Field(32_768, ge=64, description="context length at which the episode ends")
    max_new_tokens: int = Field(2048, ge=8, description="most tokens sampled for one turn")
    issue_chars: int = Field(20_000, ge=100, description="characters of the issue shown to the model")
    max_seconds: float | None = Field(
        None, gt=0, description="most wall time of one episode; beyond it, the episode counts as errored"
    )
    pre_search: Literal["none", "ranker"] = Field(
        "none",
        exclude_if=lambda value: value == "none",  # runs without it are the runs made before it existed
        description="ranker: the first message shows its first ten locations, inside issue_chars",
    )
    sure: float = Field(
        0.8,
        ge=0,
        le=1,
        exclude_if=lambda value: value == 0.8,
        description="confidence from which the localizer routing asks no model",
    )
    history_scope: Literal["turn", "call"] = Field(
        "turn", description="history H of equation 3: earlier turns only, or also earlier calls of the same turn"
    )


class Criteria(Section):
    """Which repositories of GitHub to mine; null takes the value of the preset, if there is one."""

    min_stars: int | None = Field(None, ge=0)
    min_issues: int | None = Field(None, ge=0, description="issues, open and closed")
    min_pulls: int | None = Field(None, ge=0, description="merged pull requests")
    licences: list[str] | None = Field(None, description="SPDX ids; `any`: every licence that GitHub knows")
    languages: list[str] | None = Field(None, description="allowed main languages; null: any")
    max_repositories: int | None = Field(None, ge=1, description="keep those with the most stars")


class GitHubSource(Section):
    """The source `github`: merged pull requests and the issues they close (docs/data.md)."""

    repositories: list[str] = Field(default_factory=list, description="owner/name; if given, GitHub is not searched")
    preset: Literal["fusesearch", "tooltrain"] | None = Field(None, description="thresholds of a paper, as far as it gives them")
    criteria: Criteria = Field(default_factory=Criteria)
    exclude: list[str] = Field(default_factory=list, description="owner/name to exclude, besides the benchmarks' repositories")
    questions: bool = Field(
        False, exclude_if=lambda value: not value,
        description="also questions: closed issues with an answer, and discussions with a chosen one",
    )  # fmt: skip
    since: date | None = Field(None, description="only pull requests merged, and questions asked, since this day")
    comments: bool = Field(False, description="add the comments made before the first commit to the text of the issue")
    budget: int | None = Field(None, ge=60, description="most GraphQL points per run; null: no limit")
    max_wait: float = Field(
        3700.0, ge=0, description="most seconds to wait for a rate limit; a longer wait ends the run, which keeps its rows"
    )
    retry_seconds: float = Field(1.0, ge=0, description="pause after a failed request, doubled with each failure")
    retries: int = Field(10, ge=0, description="further tries of a failed request, not counting waits for rate limits")
    api_url: str = Field("", description="address of the API; empty: GITHUB_API_URL, else https://api.github.com")
    clone_url: str = Field("https://github.com/{repo}.git", description="address of a repository for git")
    token_env: str = Field("GITHUB_TOKEN", description="environment variable with one token, or several separated by commas")
    app_id: int | None = Field(None, description="id of a GitHub App, to use instead of tokens")
    app_installation: int | None = Field(None, description="id of the App's installation")
    app_key: Path | None = Field(None, description="file with the App's private key")


class GitSource(Section):
    """The source `git`: the same pairs from local clones."""

    repositories: list[str] = Field(default_factory=list, description="folders of clones, or owner/name=folder")
    issues: list[Path] = Field(
        default_factory=list, description="JSONL dumps of issues: number, title, body, and repo if there are several clones"
    )
    notes_ref: str | None = Field(None, description="git notes with the issue of a commit, such as refs/notes/issues")
    branch: str = Field("HEAD", description="branch whose first-parent history is read")
    weak: bool = Field(False, description="use commit messages for missing issues; marked in the provenance")
    since: date | None = Field(None, description="only commits since this day")


class BenchmarkSource(Section):
    """The source `benchmark`: files in the SWE-bench schema, or data sets of the Hugging Face hub."""

    files: list[Path] = Field(default_factory=list, description=".json, .jsonl or .parquet")
    hub: list[str] = Field(default_factory=list, description="ids of data sets, as owner/name or owner/name:split")
    clone_url: str = Field("https://github.com/{repo}.git", description="address of a repository for git")


class Mine(Section):
    """Where raw pairs come from."""

    source: Literal["synthetic", "git", "github", "benchmark"] = "synthetic"
    github: GitHubSource = Field(default_factory=GitHubSource)
    git: GitSource = Field(default_factory=GitSource)
    benchmark: BenchmarkSource = Field(default_factory=BenchmarkSource)
    tasks: list[Literal["faults", "questions"]] = Field(
        ["faults"], min_length=1, description="synthetic: what is made of a package: planted faults, questions, or both"
    )
    questions_per_repository: int = Field(40, ge=1, description="synthetic: most questions kept per repository")
    packages: list[str] = Field(default_factory=list, description="synthetic: packages, each one repository")
    per_repository: int = Field(60, ge=1, description="synthetic: most pairs kept per repository")
    attempts_per_repository: int = Field(400, ge=1, description="synthetic: most mutants tried per repository")
    seconds_per_repository: float = Field(600.0, gt=0, description="synthetic: most processor seconds per repository")
    example_timeout_seconds: float = Field(
        10.0, gt=0, description="synthetic: processor seconds for the doctests of one mutant at most, should counting events fail"
    )
    memory_mb: int = Field(2048, ge=64, description="synthetic: address-space limit of a doctest process beyond its start")
    workers: int = Field(2, ge=1, description="processes")


class Filter(Section):
    """Rules that drop raw pairs; each is counted under its name (FuseSearch 3.3; rules in ``tasks/data/filtering.py``)."""

    preset: Literal["fusesearch", "tooltrain", "strict"] | None = Field(
        None, description="values of a paper for keys not given here; null: all rules but those on near-duplicates"
    )
    min_issue_chars: int = Field(
        NO_PRESET["min_issue_chars"], ge=0, description="least characters of an issue, after stripping white space"
    )
    max_issue_chars: int = Field(20_000, ge=1)
    max_patch_chars: int = Field(1_000_000, ge=1)
    max_files: int = Field(NO_PRESET["max_files"], ge=1, description="files a patch may touch")
    single_file: bool = Field(False, description="keep only pairs that modify exactly one file of code")
    near_duplicate: float | None = Field(
        NO_PRESET["near_duplicate"],
        gt=0.1,
        le=1,
        description="Jaccard similarity to a kept issue or patch from which a pair is dropped; null: not looked for",
    )
    skip: list[str] = Field(NO_PRESET["skip"], description="names of rules to skip")

    @model_validator(mode="before")
    @classmethod
    def _values_of_the_preset(cls, data: Any) -> Any:
        return {**FILTER_PRESETS.get(str(data.get("preset")), {}), **data} if isinstance(data, dict) else data


class Split(Section):
    """How to split by repository. A repository, its forks and its former names share one split."""

    sft: float = Field(0.5, ge=0, le=1, description="share of the repositories, relative to the other two")
    rl: float = Field(0.5, ge=0, le=1, description="share of the repositories, relative to the other two")
    validation: float = Field(0.0, ge=0, le=1, description="share of the repositories, relative to the other two")
    validation_owners: list[str] = Field(default_factory=list, description="owners (before the slash) that are also held out")
    benchmarks: list[Path] = Field(default_factory=list, description="instance files to decontaminate against")
    near_duplicate: float | None = Field(
        0.8, gt=0.1, le=1, description="Jaccard similarity to a benchmark's issue or patch from which an instance is dropped"
    )
    aliases: dict[str, str] = Field(
        default_factory=dict, description="other names of repositories and their forks, mapped to their main name"
    )


class Teacher(Section):
    """Who writes the candidate trajectories."""

    localizer: Literal["lexical", "model"] = "lexical"
    model: str = ""
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float = Field(0.7, ge=0)


class Synthesize(Section):
    """Candidate trajectories per instance, each guided to a number of calls per turn (FuseSearch 3.3)."""

    per_instance: int = Field(4, ge=1)
    calls_per_turn: Range = Field((2, 8), description="range of the guided number of calls, inclusive")
    answers: Range | None = Field(
        None, description="functions a lexical teacher's answer names at most, drawn from this range; null: as many as it would"
    )
    turns: Range | None = Field(
        None, description="turns a lexical teacher takes at most, drawn from this range; null: as many as it would"
    )
    concurrency: int = Field(32, ge=1)


class Rank(Section):
    """Rankers that ask no model: gradient-boosted trees over candidate files and functions (LightGBM)."""

    trees: int = Field(100, ge=1, description="at each level")
    leaves: int = Field(7, ge=2, description="of a tree")
    learning_rate: float = Field(0.05, gt=0)
    min_leaf: int = Field(20, ge=1, description="fewest rows in a leaf")
    l2: float = Field(5.0, ge=0, description="penalty on the values of leaves")
    rows: float = Field(0.8, gt=0, le=1, description="share of the rows that a tree sees")
    features: float = Field(0.4, gt=0, le=1, description="share of the features that a tree sees")
    folds: int = Field(5, ge=2, description="parts of the repositories; each is scored by trees of the others, for calibration")
    max_instances: int | None = Field(None, ge=1, description="most issues that are learned from, repositories taking turns")
    max_held_out: int | None = Field(None, ge=1, description="most issues of the validation split that are scored, likewise")


class Select(Section):
    """Dual-metric filtering: F1 >= rho_F and e >= rho_e (FuseSearch equation 5)."""

    min_f1: float = Field(0.5, ge=0, le=1, description="rho_F")
    min_efficiency: float = Field(0.5, ge=0, le=1, description="rho_e")
    max_trajectories: int | None = Field(
        None, ge=1, description="most trajectories kept: first one of every instance, repositories taking turns"
    )


class ModelSection(Section):
    """The student."""

    base: str = Field("experiments/nano/base", description="checkpoint directory or hub id training starts from")
    dtype: Literal["float32", "bfloat16"] = Field(
        "float32", description="what it computes in on a GPU, and is served in; weights that train are float32"
    )


class Lora(Section):
    """Low-rank adapters that train in place of the weights; the checkpoint that comes out has them merged."""

    rank: int = Field(0, ge=0, description="of the adapter of each linear layer but the head; 0: all weights train")
    alpha: int = Field(32, ge=1, description="an adapter counts alpha / rank")


class Sft(Section):
    """Supervised fine-tuning with TRL's SFTTrainer, loss on assistant tokens only (FuseSearch B.2)."""

    epochs: float = Field(1.0, gt=0)
    renamed_copies: int = Field(0, ge=0, description="copies of each trajectory with its names exchanged")
    drills: int = Field(0, ge=0, description="extra sequences with lists of made-up names and questions about them, for nano")
    batch_size: int = Field(32, ge=1, description="trajectories per step")
    micro_batch: int = Field(8, ge=1, description="trajectories per forward and backward pass")
    optimizer: Literal["muon", "adamw"] = "adamw"
    learning_rate: float = Field(2e-5, gt=0)
    warmup_ratio: float = Field(0.1, ge=0, le=1)
    weight_decay: float = Field(0.0, ge=0)
    max_length: int = Field(32_768, ge=64, description="tokens; longer trajectories are dropped and counted")
    precision: Literal["float32", "bfloat16"] | None = Field(
        None, description="arithmetic of the passes; null: model.dtype on a GPU, else float32"
    )
    lora: Lora = Field(Lora(), exclude_if=lambda value: value == Lora())
    save_steps: int = Field(200, ge=1)


class Base(Section):
    """How the nano base checkpoint is trained from random weights: ``experiments/nano/base.yaml``."""

    episodes_per_instance: int = Field(10, ge=1, description="aimless episodes on each training instance")
    train: Sft = Field(default_factory=Sft)


class Rewarded(Section):
    """What an episode is worth."""

    reward: Annotated[str, _checked_by("tasks.training.rewards:make_reward")] = Field(
        "fusesearch", description="a name of tasks/training/rewards.py"
    )
    alpha: float = 0.8
    beta: float = 0.0
    gamma: float = 0.2


class JudgeSection(Section):
    """Who grades the answers to open questions; exact ones need nobody."""

    model: str = Field("", description="model of an OpenAI-compatible endpoint; empty: open questions are not trained on")
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    rubric: Annotated[str, _checked_by("tasks.evaluation.judges:rubric_named")] = Field(
        "coreqa", description="what it gives points for; the grade that follows is one of 0.2, 0.4, ... 1"
    )

    @model_validator(mode="after")
    def _has_an_address(self) -> JudgeSection:
        if self.model and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("a judge needs the address of its endpoint in base_url, for example http://localhost:8000/v1")
        return self


class Search(Section):
    """How the rollouts of a prompt are found. RepoSearch-R1: mcts with its other defaults, and self_critique: distil."""

    kind: Literal["independent", "mcts", "branching"] = Field(
        "independent", description="episodes one by one, Monte-Carlo tree search, or episodes from random nodes (Tree-GRPO)"
    )
    simulations: int = Field(8, ge=1, description="mcts: T")
    children: int = Field(2, ge=1, description="mcts: next turns tried at a node; branching: episodes from the root")
    exploration: float = Field(2.0, ge=0, description="mcts: weight of exploration at the first simulation")
    final: float = Field(0.1, gt=0, le=1, description="mcts: share of it that would remain at simulation T")
    expansion: Literal["full", "lazy"] = Field(
        "full", description="mcts: all children at every simulated step (the paper's code), or one, and the others on return"
    )
    self_critique: Literal["none", "distil"] = Field(
        "none", description="second children see the first and a reflection on it, but are trained without (the paper)"
    )
    keep: Literal["visited", "all"] = Field(
        "visited", description="finished episodes to choose from: those of simulations (the paper), or all of the tree"
    )


class Grpo(Rewarded):
    """GRPO with TRL's GRPOTrainer over the project's own rollouts (FuseSearch B.3)."""

    start: Literal["sft", "base"] = Field(
        "sft", description="the model that is trained: that of the sft stage, or the base model"
    )
    steps: int = Field(100, ge=1)
    prompts_per_step: int = Field(8, ge=1)
    group: int = Field(8, ge=2, description="rollouts per prompt")
    scale_rewards: Literal["group", "none"] = Field(
        "group", description="divide advantages by the standard deviation of their group, as the paper does, or by nothing"
    )
    kl: float = Field(0.01, ge=0, description="KL coefficient to the reference policy")
    temperature: float = Field(0.7, gt=0)
    renamed: float = Field(0.0, ge=0, le=1, description="share of prompts in which the policy sees exchanged names")
    learning_rate: float = Field(1e-6, gt=0)
    optimizer: Literal["muon", "adamw"] = "adamw"
    micro_batch: int = Field(8, ge=1, description="rollouts per forward and backward pass")
    averaged: float = Field(
        0.0, ge=0, le=1, description="share of the steps, the last ones, over whose weights the mean is taken; 0: none is taken"
    )
    save_steps: int = Field(20, ge=1)
    rollouts: Literal["transformers", "vllm"] = Field(
        "transformers", description="what samples: the model that is trained, or vLLM servers with its weights (section compute)"
    )
    ahead: int = Field(
        0, ge=0, le=4, description="steps whose rollouts vLLM servers make while one trains, by weights that many steps older"
    )
    importance_max: float = Field(
        2.0, ge=1, description="cut of the ratio by which a token that vLLM sampled counts, of the trained policy to vLLM's"
    )
    lora: Lora = Field(Lora(), exclude_if=lambda value: value == Lora())
    judge: JudgeSection = Field(JudgeSection(), exclude_if=lambda value: value == JudgeSection())
    search: Search = Search()

    @model_validator(mode="after")
    def _steps_are_whole_batches(self) -> Grpo:
        size = self.prompts_per_step * self.group
        if size % min(self.micro_batch, size):
            raise ValueError(f"prompts_per_step * group = {size} is not a multiple of micro_batch = {self.micro_batch}")
        if self.ahead and self.rollouts != "vllm":
            raise ValueError("rollouts can be made ahead only by vLLM: set rollouts to vllm, or ahead to 0")
        return self


class Compute(Section):
    """Machines of training; none of it changes what is learned."""

    ranks: int = Field(
        1,
        ge=1,
        exclude_if=lambda value: value == 1,
        description="processes of one machine that train together, each on a GPU of its own with its share of the weights, or "
        "on cores where there is no GPU; 1: the stage's own process, on one GPU",
    )
    servers: list[str] = Field(
        [], description="addresses of running vLLM servers (http://HOST:PORT) for rollouts; empty: the stage starts its own"
    )
    serve: int = Field(
        1, ge=1, description="vLLM servers to start, each on a GPU of its own, or on the CPU of a machine without one"
    )
    options: list[str] = Field([], description="further options of `vllm serve` for them")
    weights: str = Field(
        "",
        description="folder for weights on their way to the servers, which must see it: /dev/shm/NAME on one machine, on a "
        "shared file system for several; empty: beside the stage's own files",
    )


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$")]
"""Part of the name of a folder."""


class Subject(Section):
    """What a cell of an evaluation measures: a localizer, with the model of a checkpoint if it asks one."""

    localizer: str = Field("fusesearch", description="a name of tasks/localizers/registry.py")
    checkpoint: str = Field(
        "", description="a folder; in params.yaml also base, sft or grpo, what the stages start from and make"
    )

    @model_validator(mode="after")
    def _has_the_model_it_asks(self) -> Subject:
        try:
            asks = resolve_name("tasks.localizers.registry:asks_model")(self.localizer)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        if asks != bool(self.checkpoint):
            raise ValueError(f"{self.localizer} asks {'a' if asks else 'no'} model: {'give' if asks else 'leave out'} checkpoint")
        return self


def _of_agent(values: dict[str, Any]) -> dict[str, Any]:
    Agent.model_validate(values)
    return values


class Evaluate(Section):
    """Scores of checkpoints and localizers on held-out instances."""

    agent: Annotated[dict[str, Any], AfterValidator(_of_agent)] = Field(
        {},
        exclude_if=lambda value: not value,
        description="values of the section agent that hold here alone, such as another max_turns than in training",
    )
    cells: dict[Name, Subject] = Field(
        {name: Subject(checkpoint=checkpoint) for name, checkpoint in (("base", "base"), ("sft", "sft"), ("sft+rl", "grpo"))}
        | {"lexical": Subject(localizer="lexical")},
        min_length=1,
        description="what is scored, by name, in the order of the tables",
    )
    max_instances: int | None = Field(None, ge=1)
    runs: int = Field(3, ge=1, description="runs per instance; the paper averages over three")
    temperature: float = Field(0.7, ge=0)
    concurrency: int = Field(64, ge=1)


class Report(Section):
    """Tables and intervals."""

    confidence: float = Field(0.95, gt=0, lt=1)


class Params(Section):
    """All of ``params.yaml``."""

    profile: str = "nano"
    seed: int = Field(0, ge=0, description="of synthesis, training and evaluation; replicates differ in it")
    data_seed: int = Field(0, ge=0, description="of mining and splitting; replicates share it")
    tools: Tools = Tools()
    agent: Agent = Agent()
    mine: Mine = Mine()
    filter: Filter = Filter()
    split: Split = Split()
    teacher: Teacher = Teacher()
    rank: Rank = Rank()
    synthesize: Synthesize = Synthesize()
    select: Select = Select()
    model: ModelSection = ModelSection()
    sft: Sft = Sft()
    grpo: Grpo = Grpo()
    compute: Compute = Compute()
    evaluate: Evaluate = Evaluate()
    report: Report = Report()

    @model_validator(mode="after")
    def _training_can_be_shared(self) -> Params:
        ranks = self.compute.ranks
        trained: list[tuple[str, Sft | Grpo, int]] = [
            ("sft", self.sft, self.sft.batch_size),
            ("grpo", self.grpo, self.grpo.prompts_per_step * self.grpo.group),
        ]
        for name, section, size in trained:
            if size % ranks or (ranks > 1 and size // ranks % min(section.micro_batch, size // ranks)):
                raise ValueError(
                    f"{name} has {size} sequences per step, which is not a multiple of compute.ranks * micro_batch = "
                    f"{ranks} * {section.micro_batch}"
                )
            if (ranks > 1 or section.lora.rank) and section.optimizer != "adamw":
                raise ValueError(f"compute.ranks and {name}.lora go only with {name}.optimizer adamw: Muon needs whole matrices")
        if self.grpo.averaged and (ranks > 1 or self.grpo.lora.rank):
            raise ValueError("compute.ranks and grpo.lora go only with grpo.averaged 0")
        return self


def load_params(path: Path = Path("params.yaml")) -> Params:
    """Read and check ``params.yaml``. Raises :class:`ConfigError` with file, key and reason in one line."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing: run from the project's root") from None
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    if data is None:
        raise ConfigError(f"{path} is empty: restore it with `git checkout {path.name}`")
    return parse_params(data, source=str(path))


def parse_params(data: Any, source: str = "params") -> Params:
    """Check a mapping of sections. Raises :class:`ConfigError` with key and reason."""
    return parse_section(Params, data, source)


def parse_section(section: type[S], data: Any, source: str) -> S:
    """Check the mapping of one section. Raises :class:`ConfigError` with key and reason."""
    try:
        return section.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(str(part) for part in e['loc']) or 'top level'}: {e['msg']}" for e in error.errors()[:5])
        raise ConfigError(f"{source}: {problems}") from None


def overlay(base: dict[str, Any], change: dict[str, Any], section: type[Section] = Params) -> dict[str, Any]:
    """``base`` with the values of ``change``, merged section by section; both are as in ``params.yaml``.

    A param whose value is a mapping is replaced as a whole. A preset in ``change`` also replaces what ``base`` says of the keys
    that presets decide.
    """
    decided = NO_PRESET if section is Filter and "preset" in change else {}
    merged = {key: value for key, value in base.items() if key not in decided}
    for key, value in change.items():
        inner = section_of(section, key)
        both = inner is not None and isinstance(merged.get(key), dict) and isinstance(value, dict)
        merged[key] = overlay(merged[key], value, inner) if inner and both else value
    return merged


def section_of(section: type[Section], key: str) -> type[Section] | None:
    """The section that is called ``key`` inside ``section``; None for a param, and for an unknown key."""
    field = section.model_fields.get(key)
    kind = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None
