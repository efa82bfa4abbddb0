"""``params.yaml`` as a whole: reading, checking, overlays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from fusesearch.core.config.data import Filter, Mine, Split
from fusesearch.core.config.episodes import Evaluate
from fusesearch.core.config.searching import Agent, Tools
from fusesearch.core.config.section import Section, parse_section
from fusesearch.core.config.training import Compute, Grpo, ModelSection, Select, Sft, Synthesize, Teacher
from fusesearch.core.errors import ConfigError
from fusesearch.core.presets import NO_PRESET

_VERSION = re.compile(r"^%YAML 1\.\d+", re.MULTILINE)
"""Which the parser in C ignores and the other obeys."""


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
    synthesize: Synthesize = Synthesize()
    select: Select = Select()
    model: ModelSection = ModelSection()
    sft: Sft = Sft()
    grpo: Grpo = Grpo()
    compute: Compute = Compute()
    evaluate: Evaluate = Evaluate()

    @model_validator(mode="after")
    def _training_can_be_shared(self) -> Params:
        ranks = self.compute.ranks
        trained: list[tuple[str, Sft | Grpo, int]] = [
            ("sft", self.sft, self.sft.batch_size),
            ("grpo", self.grpo, self.grpo.prompts_per_step * self.grpo.group),
        ]
        for name, section, size in trained:
            by_rows = ranks > 1 and not getattr(section, "tokens_per_pass", None)
            if size % ranks or (by_rows and size // ranks % min(section.micro_batch, size // ranks)):
                raise ValueError(
                    f"{name} has {size} sequences per step, which is not a multiple of compute.ranks * micro_batch = "
                    f"{ranks} * {section.micro_batch}"
                )
        if (ranks > 1 or self.sft.lora.rank) and self.sft.optimizer != "adamw":
            raise ValueError("compute.ranks and sft.lora go only with sft.optimizer adamw: Muon needs whole matrices")
        if self.grpo.averaged and (ranks > 1 or self.grpo.lora.rank):
            raise ValueError("compute.ranks and grpo.lora go only with grpo.averaged 0")
        return self


def load_params(path: Path = Path("params.yaml")) -> Params:
    """Read and check ``params.yaml``. Raises :class:`ConfigError` with file, key and reason in one line."""
    data = read_mapping(path, "run in a clone of fusesearch, at its top")
    if not data:
        raise ConfigError(f"{path} is empty: restore it with `git checkout {path.name}`")
    return parse_params(data, source=str(path))


def read_mapping(path: Path, if_missing: str = "name another file") -> dict[str, Any]:
    """The mapping in a YAML file, by DVC's own reader (YAML 1.2, whatever its first line says); none of an empty file.

    DVC records what a stage was run with, so both must read ``010``, ``yes`` and ``1e-5`` alike. Raises :class:`ConfigError` in
    one line, also for a key that stands twice.
    """
    try:
        # its parser in C, which a light install lacks, reads the same but refuses {url: http://host}
        text = _VERSION.sub("#", path.read_text(encoding="utf-8"))
        data = YAML(typ="safe", pure=True).load(text)
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing: {if_missing}") from None
    except (YAMLError, ValueError, LookupError, RecursionError, OSError) as error:
        place = getattr(error, "problem_mark", None)
        fault = f"line {place.line + 1}: {error.problem}" if isinstance(error, MarkedYAMLError) and place else str(error)
        raise ConfigError(f"{path} is not valid YAML: {' '.join(fault.split())}") from None
    if not isinstance(data, dict | None):
        raise ConfigError(f"{path}: the top level must be a mapping of names to values")
    return data or {}


def parse_params(data: Any, source: str = "params") -> Params:
    """Check a mapping of sections. Raises :class:`ConfigError` with key and reason."""
    return parse_section(Params, data, source)


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
