"""A grid of evaluations as a YAML file: cells by name, or localizers x models x benchmarks, all with the same runs and limits.

The evaluate stage of the pipeline is such a grid too, which ``params.yaml`` describes (:mod:`tasks.evaluate`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from fusesearch.core.config import Agent, Compute, Name, Rewarded, Section, Subject, Tools, parse_section, read_mapping
from fusesearch.evaluation.names import check_names


class Endpoint(Section):
    """A model: an OpenAI-compatible endpoint, or a checkpoint on disk. ``name`` is what tables call it."""

    name: Name
    model: str = Field("", description="name the endpoint knows it by; empty: as `name`")
    base_url: str = Field("", description="with its /v1")
    checkpoint: Path | None = Field(None, description="folder of a checkpoint, instead of an endpoint")
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="of a checkpoint")
    api_key_env: str | None = Field(None, description="environment variable that holds the key; null: no key is sent")
    tool_format: Literal["auto", "native", "hermes"] = "auto"
    temperature: float = Field(0.7, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    retries: int = Field(6, ge=0, description="tries of one request beyond the first")
    timeout_seconds: float = Field(300.0, gt=0, description="of one request")
    backoff_seconds: float = Field(0.5, ge=0, description="pause after a failed request, doubled with every further failure")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="sent along with every request")

    @model_validator(mode="after")
    def _one_place(self) -> Endpoint:
        if bool(self.base_url) == bool(self.checkpoint):
            raise ValueError(f"model {self.name}: give either base_url or checkpoint")
        return self


class Benchmark(Section):
    """A file of instances in the SWE-bench schema, or one of this project's, and where their repositories are."""

    name: Name
    instances: Path = Field(description=".json, .jsonl or .parquet; truth is computed where it is absent")
    repos: Path | None = Field(
        None, description="folder of clones named <owner>__<name>.git; null: they are cloned from GitHub, below the results"
    )
    max_instances: int | None = Field(None, ge=1, description="as many instances, drawn by the seed")
    seed: int | None = Field(None, ge=0, description="of that draw; null: the grid's")


class Grid(Rewarded):
    """Everything ``fusesearch evaluate`` runs: its ``cells``, or every localizer with every model on every benchmark."""

    cells: dict[Name, Subject] = Field(default_factory=dict, description="what is evaluated, by name, on one benchmark")
    temperature: float = Field(0.7, ge=0, description="of the cells' checkpoints")
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="of the cells' checkpoints")
    localizers: list[str] = Field(default_factory=list, description="names of fusesearch/localizers/registry.py")
    models: list[Endpoint] = Field(default_factory=list, description="for the localizers that ask one")
    benchmarks: list[Benchmark] = Field(min_length=1)
    compute: Compute | None = Field(None, description="vLLM servers that sample checkpoints; null: this process does")
    runs: int = Field(3, ge=1, description="runs per instance; the paper averages over three")
    concurrency: int = Field(16, ge=1, description="episodes at once")
    seed: int = Field(0, ge=0)
    agent: Agent = Agent()
    tools: Tools = Tools()

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Grid:
        if bool(self.cells) == bool(self.localizers):
            raise ValueError("give either localizers or cells")
        if self.cells and (self.models or len(self.benchmarks) > 1):
            raise ValueError("a grid of cells has one benchmark and no models: each cell names its checkpoint")
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> Grid:
        kinds = {"localizer": self.localizers, "model": [row.name for row in self.models]}
        kinds["benchmark"] = [row.name for row in self.benchmarks]
        for kind, names in kinds.items():
            if twice := {name for name in names if names.count(name) > 1}:
                raise ValueError(f"{kind} {', '.join(sorted(twice))} is given twice")
        return self


def load_grid(path: Path) -> Grid:
    """Read and check a grid file. Raises :class:`ConfigError` with file, key and reason in one line."""
    return check_names(parse_section(Grid, read_mapping(path), source=str(path)), str(path))
