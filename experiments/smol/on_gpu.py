"""drive.py sft | rl NAME KEY=VALUE... | evals ADDRESS JOB... : stages' functions with smol's params on one GPU."""
import json, os, sys, time
if os.environ.get("TINY"): sys.modules.update(dict.fromkeys(["polars", "mlflow", "dvc", "prefect"]))
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch
import yaml
W, D = Path(os.environ["W"]), Path(os.environ["D"])
TINY = bool(os.environ.get("TINY"))
T0 = float(os.environ.get("T0", time.time()))
from fusesearch.core.config import parse_params, parse_section, Agent, Compute
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
def say(*a): print(f"[{time.time()-T0:6.1f}]", *a, flush=True)
OPT = ["--max-model-len", "8192", "--gpu-memory-utilization", "0.08", "--attention-backend", "FLASH_ATTN", "--kv-cache-memory-bytes", str(5 << 30),
       "--compilation-config", '{"mode":0,"cudagraph_mode":"FULL_DECODE_ONLY","cudagraph_capture_sizes":[1,2,4,8,16,24,32,48,64,96,128]}',
       "--max-num-seqs", "128", "--no-enable-log-requests"]
if TINY: OPT = ["--max-model-len", "4096"]
def merged(a, b):
    return {**a, **{k: merged(a[k], v) if isinstance(v, dict) and isinstance(a.get(k), dict) else v for k, v in b.items()}}
def params(**over):
    raw = yaml.safe_load((D / "params.yaml").read_text())
    raw = merged(raw, {"model": {"base": str(W / "base"), "dtype": "bfloat16", "matmul": "high"}, "compute": {"options": OPT}})
    return parse_params(merged(raw, over))
def sft():
    from fusesearch.training.sft import train_sft
    p = params(sft={"batch_size": 8, "micro_batch": 8, "save_steps": 10000, **({"epochs": 1} if TINY else {})})
    source = D / "selected500.jsonl"
    if TINY:
        few = W / "few.jsonl"; few.write_text("".join(source.open().readlines()[:16])); source = few
    begun = time.time()
    made = train_sft(p, source, W / "sft", on_log=lambda r: say("sft", r.get("step"), r.get("loss"), r.get("tokens_per_second")))
    say("SFT done", {**made, "seconds": time.time() - begun})
    (W / "sft" / "figures.json").write_text(json.dumps({**made, "seconds": time.time() - begun}))
    (W / "sft.done").touch()
def rl(name, *changes):
    from transformers import TrainerCallback
    from fusesearch.training import grpo
    over = {"steps": 200, "prompts_per_step": 16, "group": 8, "rollouts": "vllm", "tokens_per_pass": 32768, "save_steps": 10000, "warmup_steps": 2,
            "averaged": 0.0, "validation": {"every": 10, "prompts": 48}}
    if TINY: over |= {"prompts_per_step": 2, "group": 2, "validation": {"every": 2, "prompts": 4}}
    for c in changes:
        k, v = c.split("="); over[k] = yaml.safe_load(v)
    p = params(grpo=over)
    deadline = float(os.environ["DEADLINE"])
    class Clock(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if time.time() > deadline: control.should_training_stop = True
    from fusesearch.core.schema import Instance
    grpo.read_instances = lambda path: [Instance.model_validate_json(l) for l in path.open()]
    real = grpo.run_training
    def run(trainer, out):
        trainer.add_callback(Clock()); return real(trainer, out)
    def log(r):
        keep = ("reward", "f1", "efficiency", "turns", "train_seconds", "rollout_seconds", "entropy", "grad_norm", "passes", "mfu")
        say(name, r.get("step"), {k: round(r[k], 4) for k in keep if isinstance(r.get(k), (int, float))}, {k[11:]: round(v, 3) for k, v in r.items() if k in ("validation/reward", "validation/f1", "validation/file_f1", "validation/function_f1", "validation/reward_gain", "validation/seconds", "validation/turns")} or "")
    snapshot = partial(instance_snapshot, SnapshotStore(W / "snap"), D / "repos")
    out = W / f"rl-{name}"
    with patch.object(grpo, "run_training", run):
        made = grpo.train_grpo(p, p.grpo, D / "rl.jsonl", W / "sft" / "checkpoint", snapshot, out, on_log=log)
    say(name, "RL done", made)
    (out / "figures.json").write_text(json.dumps(made)); (W / f"rl-{name}.done").touch()
def evals(address, *jobs):
    from fusesearch.core.caches import Caches
    from fusesearch.evaluation.grid import Benchmark, Grid
    from fusesearch.evaluation.metrics import aggregate
    from fusesearch.evaluation.running import opened
    from fusesearch.training.served import served
    from fusesearch.core.schema import Score
    import fusesearch.evaluation.benchmarks as B, fusesearch.evaluation.running as R
    from fusesearch.core.schema import Instance
    B.read_benchmark = lambda path: list(B._theirs(path))
    B.write_instances = lambda table, rows: table.parent.mkdir(parents=True, exist_ok=True) or table.write_text("".join(r.model_dump_json() + chr(10) for r in rows))
    B.read_instances = lambda table: [Instance.model_validate_json(l) for l in table.open()]
    R.write_scores_table = lambda *a, **k: None
    p = params(compute={"servers": [address], "weights": f"/dev/shm/w{address[-4:]}", "options": []})
    for job in jobs:  # NAME:BENCH:TEMPERATURE
        name, bench, temperature = job.split(":")
        ck = {"base": W / "base", "sft": W / "sft" / "checkpoint"}.get(name, W / f"rl-{name}" / "checkpoint")
        done = {"base": W / "base", "sft": W / "sft.done"}.get(name, W / f"rl-{name}.done")
        while not done.exists(): time.sleep(0.5)
        b = Benchmark(name=bench, instances=D / ("validation.jsonl" if bench == "held" else "real.jsonl"), repos=D / ("repos" if bench == "held" else "real"),
                      max_instances=(6 if TINY else 200), seed=p.data_seed)
        agent = parse_section(Agent, {**p.agent.model_dump(), **p.evaluate.agent}, "agent")
        g = Grid.model_validate({"cells": {"x": {"localizer": "fusesearch", "checkpoint": str(ck)}}, "benchmarks": [b.model_dump()], "runs": 1, "concurrency": 64, "seed": p.seed,
                                 "temperature": float(temperature), "dtype": "bfloat16", "agent": agent.model_dump(), "tools": p.tools.model_dump(), "compute": p.compute.model_dump(),
                                 "reward": p.grpo.reward, "alpha": p.grpo.alpha, "beta": p.grpo.beta, "gamma": p.grpo.gamma})
        out = W / "evals" / job.replace(":", "-")
        begun = time.time()
        try:
            with opened(g, out, Caches(W / "caches"), serve=served, retry_errored=True) as grid:
                (cell,) = grid.cells
                found = grid.run(cell, lambda *_: None)
            a = aggregate(found)
            say("EVAL", job, f"{time.time()-begun:.1f} s", len(found), json.dumps({k: a[k] for k in a if "f1" in k or k in ("efficiency", "turns", "scores", "errored")}, default=str)[:600])
        except Exception as error:
            import traceback; traceback.print_exc(); say("EVAL FAILED", job, repr(error)[:300])
{"sft": sft, "rl": rl, "evals": evals}[sys.argv[1]](*sys.argv[2:])
