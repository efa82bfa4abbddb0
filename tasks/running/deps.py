"""``dvc.yaml`` from the table of stages: ``python -m tasks.running.deps --check`` or ``--write``.

The first stage, ``code``, always runs and writes what the others depend on of the code (:mod:`tasks.code`). What follows
``plots:`` in ``dvc.yaml`` is kept as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.config import Params, load_params
from fusesearch.core.errors import ConfigError
from fusesearch.core.storage import read_text, write_text
from fusesearch.training.architectures import is_folder
from tasks.code import code_file
from tasks.running.places import MAIN
from tasks.stages import STAGES, Stage

DVC_YAML = Path("dvc.yaml")
PARAMS = Path("params.yaml")
WRITE = "python -m tasks.running.deps --write"
HEADER = f"""\
# Written by `{WRITE}` from tasks/stages.py; plots are written by hand.
# `python` is that of the environment: run `make reproduce`, or activate .venv before `dvc repro`.
"""
PLOTS = "\nplots:\n"
CODE = {
    "cmd": "python -m tasks.code",
    "desc": "digests of the code that each stage is made of",
    "always_changed": True,
    "outs": [{code_file(name).as_posix(): {"cache": False}} for name in STAGES],
}


def check_files(stage: Stage, params: Params) -> None:
    """Raise :class:`ConfigError` if the params have a stage read a file or folder that ``dvc.yaml`` does not list."""
    try:
        deps = yaml.safe_load(read_text(DVC_YAML))["stages"][stage.name]["deps"]
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise ConfigError(f"{DVC_YAML} is damaged ({error}): run `{WRITE}`") from None
    for path in map(MAIN.input, stage.reads(params)):
        if path.as_posix() not in deps:
            raise ConfigError(
                f"{DVC_YAML} does not have {path} among the deps of {stage.name}, so DVC would not see it change: "
                f"run `{WRITE}`, then this command again"
            )


def render(root: Path = Path()) -> str:
    """What ``dvc.yaml`` should be."""
    plots = (root / DVC_YAML).read_text(encoding="utf-8").partition(PLOTS)[2]
    params = load_params(root / PARAMS)
    stages = {"code": CODE, **{name: entry(stage, params) for name, stage in STAGES.items()}}
    entries = [yaml.safe_dump({name: stage}, sort_keys=False, width=200) for name, stage in stages.items()]
    indented = ["".join(f"  {line}\n" for line in text.splitlines()) for text in entries]
    named = yaml.safe_dump({"artifacts": artifacts(params)}, sort_keys=False, width=200)
    return HEADER + "stages:\n" + "\n".join(indented) + "\n" + named + PLOTS + plots


def artifacts(params: Params) -> dict[str, dict[str, Any]]:
    """What other projects take from this one by name, with its name in the registry of MLflow and its flow in Prefect."""
    base = params.model.base
    model = {"path": base, "type": "model", "desc": f"the model that {params.profile} starts from"}
    found: dict[str, dict[str, Any]] = {"base": model} if is_folder(base) else {}
    for stage in STAGES.values():
        for output in stage.shared:
            trained = output == "checkpoint"
            name, kind = (stage.name, "model") if trained else (output, "dataset")
            meta = {"prefect": f"flow {stage.name}"} | (
                {"mlflow": f"models:/fusesearch-{params.profile}@{name}"} if trained else {}
            )
            found[name] = {"path": stage.outputs[output], "type": kind, "desc": stage.description, "meta": meta}
    return found


def entry(stage: Stage, params: Params) -> dict[str, Any]:
    """A stage as DVC has it."""
    return {
        "cmd": f"python -m flows.run {stage.name}",
        "desc": stage.description,
        "deps": [code_file(stage.name).as_posix(), *sorted(MAIN.input(name).as_posix() for name in stage.reads(params))],
        "params": list(stage.params),
        "outs": list(stage.outputs.values()),
        "metrics": [{stage.metrics: {"cache": False}}],
    }


if __name__ == "__main__":
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit("usage: python -m tasks.running.deps --check | --write")
    text = render()
    if sys.argv[1:] == ["--write"]:
        write_text(DVC_YAML, text)
    elif DVC_YAML.read_text(encoding="utf-8") != text:
        sys.exit(f"{DVC_YAML} is not what the table of stages makes it: run `{WRITE}`")
