#!/bin/sh
# SFT, RL and evaluation of smol and coder-0.5b on a machine with a GPU and no network, in parts of less than ten minutes.
#
#   gpu.sh pack          here: data, weights and wheels in parts of 40 MiB, .gpu/part-*, with their digests in .gpu/sums
#   gpu.sh part SECONDS  there, from the root of the checkout: puts the parts together once all have come, then works for SECONDS;
#                        called again, it goes on. OUT takes back.tgz after each step: scores, curves and figures (artifacts/students/back)
#
# Before pack: data/splits, data/selected and data/repos of the profile `own` or `fixes` with smol's tools, `python -m experiments.students
# lists smol`, the GGUF files as .gpu/smol.gguf and .gpu/coder-0.5b.gguf, and, in .gpu/wheels, what that machine lacks of `pip install .[gpu]`.
# A checkpoint made so says agent.pre_search: none, since its lists are written beforehand: set it to ranker where it is served.
# TINY=1 tries all of it on a processor: one step of each, two fixes, no vLLM.
set -eu
start=$(date +%s) python=${PYTHON:-python3} out=${OUT:-artifacts/students/back}

if [ "$1" = pack ]; then
    rm -rf .gpu/part-* .gpu/repos
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=uploadpack.allowAnySHA1InWant GIT_CONFIG_VALUE_0=true
    while read -r repo commit; do # of the histories only the trees that are read
        git init -q --bare ".gpu/repos/$repo.git"
        git -C ".gpu/repos/$repo.git" fetch -q --depth 1 "file://$PWD/data/repos/$repo.git" "$commit"
    done <artifacts/students/trees.txt
    tar c --transform 's,^.gpu/repos,data/repos,' .gpu/repos data/splits data/selected artifacts/students/listed artifacts/students/shuffled \
        .gpu/*.gguf $(ls -d .gpu/wheels 2>/dev/null) | split -b 40M -a 3 - .gpu/part-
    sha256sum .gpu/part-* >.gpu/sums
    exit
fi

if [ ! -f .gpu/ready ]; then
    sha256sum --check --quiet .gpu/sums || { echo "not all parts are here yet" && exit 0; }
    cat .gpu/part-* | tar x
    [ ! -d .gpu/wheels ] || $python -m pip install -q --no-index --no-deps --target .gpu/site .gpu/wheels/*.whl
    touch .gpu/ready
    rm .gpu/part-*
fi
export PYTHONPATH="$PWD:$PWD/.gpu/site${PYTHONPATH:+:$PYTHONPATH}"

step() { # NAME COMMAND...: once, within the time that is left
    name=$1 left=$((start + ${seconds} - $(date +%s)))
    shift
    [ -f ".gpu/done-$name" ] && return
    [ "$left" -gt 20 ] || { echo "time is up before $name: call again" && exit 0; }
    echo "== $name, $left s are left"
    code=0
    timeout "$left" "$@" || code=$?
    mkdir -p "$out"
    find artifacts/students -name metrics.json -o -name scores.jsonl -o -name '*.csv' | tar cz -T - -f "$out/back.tgz"
    [ $code = 124 ] && echo "$name goes on in the next part" && exit 0
    [ $code = 0 ] || exit $code
    touch ".gpu/done-$name"
}

seconds=${2:-540} sizes="" base="evaluate.cells={base: {localizer: fusesearch, checkpoint: base}}"
cells="evaluate.cells={base: {localizer: fusesearch, checkpoint: base}, sft: {localizer: fusesearch, checkpoint: sft}, sft+rl: {localizer: fusesearch, checkpoint: grpo}}"
for student in smol coder-0.5b; do
    gpu="--set model.dtype=bfloat16 --set model.matmul=high --set grpo.rollouts=vllm --set evaluate.rollouts=vllm
        --set grpo.tokens_per_pass=32768 --set grpo.steps=60 --set grpo.prompts_per_step=16 --set grpo.temperature=1.0
        --set compute.options=[--gpu-memory-utilization,\"0.4\",--max-model-len,\"8192\"]"
    [ -z "${TINY:-}" ] || gpu="--set model.dtype=float32 --set model.base=experiments/smol/base --set grpo.rollouts=transformers
        --set evaluate.rollouts=transformers --set sft.epochs=0.02 --set sft.max_length=900 --set grpo.steps=1 --set grpo.prompts_per_step=1
        --set grpo.group=2 --set grpo.micro_batch=2 --set grpo.validation.every=0 --set agent.max_turns=2 --set agent.max_new_tokens=16
        --set evaluate.max_instances=2 --set sft.lora.rank=4 --set grpo.lora.rank=0"
    run="$python -m experiments.students run $student $gpu --fixes"
    step "base-$student" $python -m experiments.smol "$student" --weights ".gpu/$student.gguf"
    # a server of vLLM first: what it lacks shows before anything is trained, and its graphs are compiled
    step "served-$student" $run listed --arm "$student-served" --stages evaluate --set evaluate.max_instances=2 --set "$base"
    step "$student" $run listed --arm "$student" --set "$cells"
    step "$student-shuffled" $run shuffled --arm "$student" --stages evaluate --set "$cells"
done
echo "all parts are done: $out"
