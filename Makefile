# Commands of the project; `make` lists them. Everything runs in .venv, made from requirements.lock. Trials are in tests/trials.
SHELL := /bin/bash
# the first of these that runs and is 3.11 or 3.12
PYTHON ?= $(shell for p in python3.11 python3.12 python3; do \
	"$$p" -c 'import sys, venv; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null && echo "$$p" && break; done)
BIN := $(CURDIR)/.venv/bin
STAMP := .venv/.complete
VLLM := .venv-vllm
VERL := .venv-verl
CHECKPOINT ?= experiments/nano/base
PORT ?= 8000
DASHBOARD ?= 8501
EXPERIMENT ?= filtering
STUDENT ?= smol
export PATH := $(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help env test test-all fast lint reproduce smol base serve stop dashboard pages serve-model verl clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## make .venv from the lock (nothing to do the second time)

# torch comes first and through pip, so that a wheel for this machine that the user's pip settings point to is taken;
# uv compiles all that is installed, on every core.
$(STAMP): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed: make env PYTHON=/path/to/python3.12" >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c requirements.lock torch uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c requirements.lock -e '.[dev]'
	touch $@

test: env ## tests, all but the slow and rare; those of the whole pipeline build on each other and take one process
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder tests/end_to_end tests/integration tests/unit

test-all: env ## all tests that need no GPU (Ray, kills, ...): before a release
	HYPOTHESIS_PROFILE=many $(BIN)/pytest -n auto --dist loadfile -m "not gpu" tests/unit tests/integration
	HYPOTHESIS_PROFILE=many $(BIN)/pytest -n 0 -m "not gpu" tests/end_to_end

fast: env ## tests of seconds only: while working
	$(BIN)/pytest -n auto --dist loadfile tests/unit

lint: env ## ruff, mypy, and dvc.yaml against the table of stages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tasks.running.deps --check
	$(BIN)/mypy

reproduce: env ## the whole pipeline: dvc repro, from mining to the report
	$(BIN)/python -m tasks.running.forecast
	$(BIN)/dvc repro
	@echo "Report: artifacts/report/report.html. Runs: make serve"

smol: env ## the profile smol: SmolLM2-135M as the base checkpoint, then its dvc repro (overnight on two cores). STUDENT=coder-0.5b: one GPU
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock gguf
	$(BIN)/python -m experiments.smol $(STUDENT)
	$(BIN)/python -m flows profile use $(STUDENT)
	$(BIN)/dvc repro

base: env ## train the nano base checkpoint from scratch (its result is committed)
	$(BIN)/dvc repro split
	$(BIN)/python -m flows.base

serve: env ## Prefect and its deployments in the background; a worker and MLflow's pages at :5000 until Ctrl-C
	$(BIN)/python -m flows.server start
	@export PREFECT_API_URL="$$($(BIN)/python -m flows.server)"; \
	if ! $(BIN)/prefect deployment inspect pipeline/pipeline >/dev/null 2>&1; then \
		$(BIN)/prefect --no-prompt work-pool create fusesearch --type process; \
		for name in github-api teacher-endpoint gpu; do $(BIN)/prefect gcl create $$name --limit 1; done; \
		$(BIN)/prefect --no-prompt deploy --all --prefect-file flows/prefect.yaml; fi; \
	$(BIN)/python -m flows track; trap 'kill 0' EXIT; [ -n "$$MLFLOW_TRACKING_URI" ] || $(BIN)/mlflow server --workers 1 & $(BIN)/prefect worker start --pool fusesearch

stop: env ## stop the Prefect server that stages and `make serve` start in the background
	$(BIN)/python -m flows.server stop

dashboard: env ## the dashboard at http://127.0.0.1:8501 until Ctrl-C (DASHBOARD=8501)
	$(BIN)/python -m dashboards --port $(DASHBOARD)

pages: env ## every page of the dashboard in Chromium, on a phone and at three widths, light and dark (CHROMIUM, PICTURES=folder)
	$(BIN)/uv pip install --quiet --python $(BIN)/python playwright
	$(BIN)/pytest -n 0 tests/trials/test_pages.py

serve-model: env $(VLLM)/.complete ## serve a checkpoint through vLLM on the CPU until Ctrl-C (CHECKPOINT=experiments/nano/base PORT=8000)
	$(BIN)/python -m fusesearch.training.serving $(CHECKPOINT) --port $(PORT)

# vLLM lives in an environment of its own: its pins differ (3 GB)
$(VLLM)/.complete: tests/trials/serving/requirements.txt tests/trials/serving/overrides.txt requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed: make serve-model PYTHON=/path/to/python3.12" >&2; exit 1; }
	test -x $(VLLM)/bin/python || "$(PYTHON)" -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock torch uv
	$(VLLM)/bin/uv pip install --quiet --python $(VLLM)/bin/python -c requirements.lock \
		--overrides tests/trials/serving/overrides.txt -r tests/trials/serving/requirements.txt
	touch $@

verl: env $(VERL)/.complete ## the environment of grpo.engine: verl, for GPUs: veRL with vLLM (15 GB)

# so does veRL; on several machines, make it at the same path on each
$(VERL)/.complete: pyproject.toml
	test -x $(VERL)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(VERL)
	$(BIN)/uv pip install --quiet --python $(VERL)/bin/python 'verl[vllm,fsdp]==0.9.1' polars -e .
	touch $@

clean: ## remove all that was made here: runs in MLflow and Prefect and what mining has read, too; the environment, DVC's cache and remote stay
	-test -x $(BIN)/python && $(BIN)/python -m flows.server stop
	-find .fusesearch -mindepth 1 -maxdepth 1 ! -name dvc-remote -exec rm -rf {} +
	rm -rf data artifacts mlruns mlartifacts mlflow.db*
