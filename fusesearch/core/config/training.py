"""Params of what is trained: teacher trajectories, rankers, the student."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from fusesearch.core.config.section import Range, Section


class Teacher(Section):
    """Who writes the candidate trajectories."""

    model: str = Field(
        "", description="what its endpoint calls it; without base_url, a folder or hub id; empty: the lexical teacher, a script"
    )
    base_url: str = Field(
        "",
        description="its endpoint, with /v1, whose key is in OPENAI_API_KEY; empty: servers of section compute serve it",
    )


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


class Select(Section):
    """Dual-metric filtering: F1 >= rho_F and e >= rho_e (FuseSearch equation 5)."""

    min_f1: float = Field(0.5, ge=0, le=1, description="rho_F")
    min_efficiency: float = Field(0.5, ge=0, le=1, description="rho_e")
    per_instance: int | None = Field(
        None, ge=1, description="most trajectories kept of one instance: those of the highest F1, then e"
    )
    max_trajectories: int | None = Field(
        None, ge=1, description="most trajectories kept: first one of every instance, repositories taking turns"
    )


class ModelSection(Section):
    """The student."""

    base: str = Field("experiments/nano/base", description="checkpoint directory or hub id training starts from")
    dtype: Literal["float32", "bfloat16"] = Field(
        "float32", description="what it computes in on a GPU, and is served in; weights that train are float32"
    )
    matmul: Literal["highest", "high", "medium"] = Field(
        "highest",
        description="precision of float32 products in training and its rollouts, as torch has it: medium is up to twice as fast "
        "on processors and GPUs that multiply bfloat16",
    )


class Lora(Section):
    """Low-rank adapters that train in place of the weights; the checkpoint that comes out has them merged."""

    rank: int = Field(0, ge=0, description="of the adapter of each linear layer but the head; 0: all weights train")


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
    max_length: int = Field(32_768, ge=64, description="tokens; longer trajectories are dropped and counted")
    lora: Lora = Lora()
    save_steps: int = Field(200, ge=1)


class Base(Section):
    """How the nano base checkpoint is trained from random weights: ``experiments/nano/base.yaml``."""

    episodes_per_instance: int = Field(10, ge=1, description="aimless episodes on each training instance")
    train: Sft = Field(default_factory=Sft)


class Rewarded(Section):
    """What an episode is worth."""

    reward: str = Field("fusesearch", description="a name of fusesearch/evaluation/rewards.py")
    alpha: float = 0.8
    beta: float = 0.0
    gamma: float = 0.2


class JudgeSection(Section):
    """Who grades the answers to open questions by CoReQA's rubric, from 0.2 to 1; exact ones need nobody."""

    model: str = Field("", description="model of an OpenAI-compatible endpoint; empty: open questions are not trained on")
    base_url: str = Field("", description="its endpoint, with /v1, whose key is in OPENAI_API_KEY")

    @model_validator(mode="after")
    def _has_an_address(self) -> JudgeSection:
        if self.model and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("a judge needs the address of its endpoint in base_url, for example http://localhost:8000/v1")
        return self


class RolloutSearch(Section):
    """How the rollouts of a prompt are found. RepoSearch-R1: mcts with its other defaults, and self_critique: distil."""

    kind: Literal["independent", "mcts"] = Field("independent", description="episodes one by one, or Monte-Carlo tree search")
    simulations: int = Field(8, ge=1, description="mcts: T")
    children: int = Field(2, ge=1, description="mcts: next turns tried at a node")
    expansion: Literal["full", "lazy"] = Field(
        "full", description="mcts: all children at every simulated step (the paper's code), or one, and the others on return"
    )
    self_critique: Literal["none", "distil"] = Field(
        "none", description="second children see the first and a reflection on it, but are trained without (the paper)"
    )


class Validation(Section):
    """The curve of GRPO on prompts that it never trains on, answered greedily."""

    every: int = Field(
        0, ge=0, description="steps from one to the next, besides those before the first step and after the last; 0: off"
    )
    prompts: int = Field(
        32,
        ge=2,
        description="instances of the rl split that are held out of training, at most half of it, of repositories that it leaves "
        "out, too",
    )
    keep_best: bool = Field(
        False, description="the checkpoint is that of the validation with the highest mean reward, not that of the last step"
    )

    floor: str = Field(
        "",
        description="a localizer that asks no model: before its first step, training ends where the student's F1 is below this "
        "one's by more than its interval; empty: off",
    )

    @model_validator(mode="after")
    def _needs_some(self) -> Validation:
        asked = [name for name in ("keep_best", "floor") if getattr(self, name)]
        if asked and not self.every:
            raise ValueError(f"{asked[0]} needs validations: set every to the steps from one to the next")
        return self


class Grpo(Rewarded):
    """GRPO over the project's own episodes (FuseSearch B.3)."""

    engine: Literal["trl", "verl"] = Field(
        "trl", description="whose trainer: TRL's, on this machine, or veRL's, on one machine or several (docs/environment.md)"
    )
    verl_config: str = Field(
        "search",
        description="verl: the configuration of experiments/profiles/verl for what this section has no word for: machines, "
        "memory, lengths, the rest of the loss",
    )
    start: Literal["sft", "base"] = Field(
        "sft", description="the model that is trained: that of the sft stage, or the base model"
    )
    steps: int = Field(100, ge=1)
    prompts_per_step: int = Field(8, ge=1)
    group: int = Field(8, ge=2, description="rollouts per prompt")
    scale_rewards: Literal["group", "f1_first", "none"] = Field(
        "group",
        description="divide advantages by the standard deviation of their group, as the paper does; likewise, but with none in a "
        "group whose answers are all equally good, where e alone would decide; or divide by nothing",
    )
    loss_type: Literal["grpo", "dr_grpo", "dapo"] = Field("grpo", description="as TRL has it: docs/training-reference.md")
    kl: float = Field(0.01, ge=0, description="KL coefficient to the reference policy")
    entropy_coef: float = Field(0.0, ge=0, description="weight of the mean entropy of a token, which the loss then rewards")
    min_headroom: float = Field(
        0.0, ge=0, description="least points of F1 from the mean of a group to its best before the first step, else none is made"
    )
    temperature: float = Field(0.7, gt=0)
    renamed: float = Field(0.0, ge=0, le=1, description="share of prompts in which the policy sees exchanged names")
    learning_rate: float = Field(1e-6, gt=0)
    warmup_steps: int = Field(5, ge=0, description="steps over which the learning rate rises; in the first of them it is 0")
    micro_batch: int = Field(8, ge=1, description="rollouts per forward and backward pass, where tokens_per_pass is null")
    tokens_per_pass: int | None = Field(
        None, ge=1, description="most tokens per forward and backward pass, of as many rollouts as fit; a longer one has its own"
    )
    averaged: float = Field(0.0, ge=0, le=1, description="average the weights over this final share of the steps; 0: off")
    save_steps: int = Field(20, ge=1)
    rollouts: Literal["transformers", "vllm"] = Field(
        "transformers", description="what samples: the model that is trained, or vLLM servers with its weights (section compute)"
    )
    lora: Lora = Lora()
    judge: JudgeSection = JudgeSection()
    search: RolloutSearch = RolloutSearch()
    validation: Validation = Validation()

    @model_validator(mode="after")
    def _verl_can_do_it(self) -> Grpo:
        only_trl = {
            "lora": self.lora.rank,
            "renamed": self.renamed,
            "averaged": self.averaged,
            "judge": self.judge.model,
            "search: mcts": self.search.kind != "independent",
            "validation.keep_best": self.validation.keep_best,
            "min_headroom": self.min_headroom,
            "validation.floor": self.validation.floor,
        }
        if self.engine == "verl" and (asked := [name for name, value in only_trl.items() if value]):
            raise ValueError(f"engine verl trains without {', '.join(asked)}: that takes engine trl")
        return self

    @model_validator(mode="after")
    def _steps_are_whole_batches(self) -> Grpo:
        size = self.prompts_per_step * self.group
        if not self.tokens_per_pass and size % min(self.micro_batch, size):
            raise ValueError(f"prompts_per_step * group = {size} is not a multiple of micro_batch = {self.micro_batch}")
        return self


class Compute(Section):
    """Processes of training, and servers of rollouts; none of it changes what is learned."""

    ranks: int = Field(
        1,
        ge=1,
        description="processes that train together, each on a GPU of its own with its share of the weights, or "
        "on cores where there is no GPU; 1: the stage's own process, on one GPU",
    )
    serve: int = Field(
        1, ge=1, description="vLLM servers to start, each on a GPU of its own, or on the CPU of a machine without one"
    )
    options: list[str] = Field([], description="further options of `vllm serve` for them")
    verl_options: list[str] = Field(
        [], description="options of veRL (Hydra) that win over all others, such as trainer.nnodes=2: of machines and memory"
    )
