"""Params of the data: where pairs come from, which are dropped, and how they are split."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from fusesearch.core.config.section import Section
from fusesearch.core.presets import FILTER_PRESETS, NO_PRESET


class Criteria(Section):
    """Which repositories of GitHub to mine."""

    min_stars: int | None = Field(None, ge=0)
    min_issues: int | None = Field(None, ge=0, description="issues, open and closed")
    min_pulls: int | None = Field(None, ge=0, description="merged pull requests")
    licences: list[str] | None = Field(None, description="SPDX ids; `any`: every licence that GitHub knows")
    languages: list[str] | None = Field(None, description="allowed main languages; null: any")
    max_repositories: int | None = Field(None, ge=1, description="keep those with the most stars")


def _of_criteria(values: dict[str, Any]) -> dict[str, Any]:
    Criteria.model_validate(values)
    return values


class GitHubSource(Section):
    """The source `github`: merged pull requests and the issues they close (docs/data.md)."""

    repositories: list[str] = Field(default_factory=list, description="owner/name; if given, GitHub is not searched")
    preset: Literal["fusesearch", "tooltrain"] | None = Field(None, description="thresholds of a paper, as far as it gives them")
    criteria: Annotated[dict[str, Any], AfterValidator(_of_criteria)] = Field(
        {}, description="values of Criteria, such as min_stars; they go over those of the preset"
    )
    exclude: list[str] = Field(default_factory=list, description="owner/name to exclude, besides the benchmarks' repositories")


class GitSource(Section):
    """The source `git`: the same pairs from local clones; of a clone without a dump of issues, commits that tell of a fault."""

    repositories: list[str] = Field(default_factory=list, description="folders of clones, or owner/name=folder")
    newest: int | None = Field(None, ge=1, description="most commits that are taken of a clone, the newest; null: all")
    issues: list[Path] = Field(
        default_factory=list, description="JSONL dumps of issues: number, title, body, and repo if there are several clones"
    )


class BenchmarkSource(Section):
    """The source `benchmark`: files in the SWE-bench schema."""

    files: list[Path] = Field(default_factory=list, description=".json, .jsonl or .parquet")


class Mine(Section):
    """Where raw pairs come from."""

    source: Literal["synthetic", "git", "github", "benchmark"] = "synthetic"
    github: GitHubSource = Field(default_factory=GitHubSource)
    git: GitSource = Field(default_factory=GitSource)
    benchmark: BenchmarkSource = Field(default_factory=BenchmarkSource)
    tasks: list[Literal["faults", "pairs"]] = Field(
        ["faults"], min_length=1, description="synthetic: what is made of a package: planted faults, or two in two files an issue"
    )
    packages: list[str] = Field(
        default_factory=list, description="synthetic: packages, each one repository, and files (.txt) with one a line"
    )
    since: date | None = Field(
        None, description="github, git: only pull requests merged and commits made since this day, in quotes"
    )
    per_repository: int = Field(60, ge=1, description="synthetic: most pairs kept per repository")
    attempts_per_repository: int = Field(400, ge=1, description="synthetic: most mutants tried per repository")
    workers: int = Field(2, ge=1, description="processes")


class Filter(Section):
    """Rules that drop raw pairs; each is counted under its name (FuseSearch 3.3; rules in ``fusesearch/data/filtering.py``)."""

    preset: Literal["fusesearch", "tooltrain", "strict"] | None = Field(
        None, description="values of a paper for keys not given here; null: all rules but those on near-duplicates"
    )
    min_issue_chars: int = Field(
        NO_PRESET["min_issue_chars"], ge=0, description="least characters of an issue, after stripping white space"
    )
    max_files: int = Field(NO_PRESET["max_files"], ge=1, description="files a patch may touch")
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
    """How to split by repository, or by time if there are fewer than ten. A repository's forks and former names go with it."""

    sft: float = Field(0.5, ge=0, le=1, description="share of the repositories, or of each one's fixes: the oldest")
    rl: float = Field(0.5, ge=0, le=1, description="likewise, relative to the other two: those that follow")
    validation: float = Field(
        0.0, ge=0, le=1, description="likewise: the newest; 0: nothing is divided by time, only owners are held out"
    )
    validation_owners: list[str] = Field(default_factory=list, description="owners (before the slash) that are also held out")
    benchmarks: list[Path] = Field(default_factory=list, description="instance files to decontaminate against")
    without: list[Path] = Field(
        default_factory=list, description="tables of instances that nothing trains on: CSV with id and rule, the reason"
    )
