"""drive.py random | base | sft NAME TRAJECTORIES | rl NAME ADDRESS KEY=VALUE... | evals ADDRESS JOB... | native ADDRESS: stages' functions with smol's params."""
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
from fusesearch.core.config import parse_params, parse_section, Agent
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
def say(*a): print(f"[{time.time()-T0:6.1f}]", *a, flush=True)
def merged(a, b):
    return {**a, **{k: merged(a[k], v) if isinstance(v, dict) and isinstance(a.get(k), dict) else v for k, v in b.items()}}
def params(**over):
    raw = yaml.safe_load((D / "params.yaml").read_text())
    dtype = "float32" if TINY else "bfloat16"
    raw = merged(raw, {"model": {"base": str(W / "base"), "dtype": dtype, "matmul": "high"}})
    return parse_params(merged(raw, over))
def random():
    """A model of random weights of smol's shape, for servers to start with."""
    import torch, shutil
    from transformers import AutoConfig, AutoModelForCausalLM
    config = AutoConfig.from_pretrained(D / "shape")
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).to(torch.float32 if TINY else torch.bfloat16).save_pretrained(W / "random")
    for f in (D / "shape").iterdir():
        if f.name != "config.json": shutil.copy(f, W / "random")
    say("random made")
def base():
    from experiments.smol.__main__ import convert
    t = time.time(); convert(W / "smol.gguf", W / "base.part"); (W / "base.part").rename(W / "base"); say("base", time.time() - t)
def sft(name, source):
    from fusesearch.training.sft import train_sft
    over = {"batch_size": 8, "micro_batch": 8} if name == "sft" else {}
    if TINY: over |= {"epochs": 1, "batch_size": 2, "micro_batch": 2}
    p = params(sft={"save_steps": 10000, **over}, **({"agent": {"prompt": "full"}} if name == "full" else {}))
    source = D / source
    if TINY:
        few = W / f"few{name}.jsonl"; few.write_text("".join(source.open().readlines()[:4])); source = few
    begun = time.time()
    made = train_sft(p, source, W / name, on_log=lambda r: say(name, r.get("step"), r.get("loss"), r.get("tokens_per_second")))
    made = {**made, "seconds": time.time() - begun}
    say("SFT done", name, made)
    (W / name / "figures.json").write_text(json.dumps(made))
    (W / f"{name}.done").touch()
def wait(path):
    while not Path(path).exists(): time.sleep(0.3)
def rl(name, address, *changes):
    from transformers import TrainerCallback
    from fusesearch.training import grpo
    from fusesearch.core.schema import Instance
    over = {"steps": 100, "prompts_per_step": 8, "group": 8, "rollouts": "vllm", "tokens_per_pass": 32768, "save_steps": 10000, "temperature": 1.0, "learning_rate": 3e-5, "validation": {"every": 20, "prompts": 48}}
    if TINY: over |= {"steps": 2, "prompts_per_step": 2, "group": 2, "validation": {"every": 2, "prompts": 4}, "tokens_per_pass": 4096}
    for c in changes:
        k, v = c.split("="); over[k] = yaml.safe_load(v)
    p = params(grpo=over, compute={"servers": [address], "weights": f"{W}/w{name}"})
    deadline = float(os.environ["DEADLINE"])
    class Clock(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if time.time() > deadline: control.should_training_stop = True
    grpo.read_instances = lambda path: [Instance.model_validate_json(l) for l in path.open()]
    real = grpo.run_training
    def run(trainer, out):
        trainer.add_callback(Clock()); return real(trainer, out)
    def log(r):
        keep = ("reward", "f1", "efficiency", "turns", "train_seconds", "rollout_seconds", "entropy", "grad_norm")
        said = {k[11:]: round(v, 3) for k, v in r.items() if k in ("validation/reward", "validation/f1", "validation/file_f1", "validation/function_f1", "validation/efficiency", "validation/seconds", "validation/turns")}
        step = r.get("step") or 0
        if said or step < 4 or step % 10 == 0: say(name, step, {k: round(r[k], 3) for k in keep if isinstance(r.get(k), (int, float))}, said or "")
    snapshot = partial(instance_snapshot, SnapshotStore(W / "snap"), D / "repos")
    out = W / f"rl-{name}"
    wait(W / "sft.done"); wait(W / "servers.ok")
    with patch.object(grpo, "run_training", run):
        made = grpo.train_grpo(p, p.grpo, D / "rl.jsonl", W / "sft" / "checkpoint", snapshot, out, on_log=log)
    say(name, "RL done", made)
    (out / "figures.json").write_text(json.dumps(made)); (W / f"rl-{name}.done").touch()
def patched():
    import fusesearch.evaluation.benchmarks as B, fusesearch.evaluation.running as R
    from fusesearch.core.schema import Instance
    B.read_benchmark = lambda path: list(B._theirs(path))
    B.write_instances = lambda table, rows: table.parent.mkdir(parents=True, exist_ok=True) or table.write_text("".join(r.model_dump_json() + chr(10) for r in rows))
    B.read_instances = lambda table: [Instance.model_validate_json(l) for l in table.open()]
    R.write_scores_table = lambda *a, **k: None
    return R
def benchmark(p, bench, n):
    from fusesearch.evaluation.grid import Benchmark
    return Benchmark(name=bench, instances=D / ("validation.jsonl" if bench == "held" else "real.jsonl"), repos=D / ("repos" if bench == "held" else "real"), max_instances=n, seed=p.data_seed)
def evals(address, *jobs):
    R = patched()
    from fusesearch.core.caches import Caches
    from fusesearch.evaluation.grid import Grid
    from fusesearch.evaluation.metrics import aggregate
    from fusesearch.training.served import served
    p = params(compute={"servers": [address], "weights": f"{W}/e{address[-4:]}", "options": []})
    for job in jobs:  # NAME:BENCH:TEMPERATURE
        name, bench, temperature = job.split(":")
        ck = W / "sft" / "checkpoint" if name == "sft" else W / f"rl-{name}" / "checkpoint"
        wait(W / "sft.done" if name == "sft" else W / f"rl-{name}.done"); wait(W / "servers.ok")
        agent = parse_section(Agent, {**p.agent.model_dump(), **p.evaluate.agent}, "agent")
        g = Grid.model_validate({"cells": {"x": {"localizer": "fusesearch", "checkpoint": str(ck)}}, "benchmarks": [benchmark(p, bench, 4 if TINY else 200).model_dump()], "runs": 1, "concurrency": 64, "seed": p.seed,
                                 "temperature": float(temperature), "dtype": p.model.dtype, "agent": agent.model_dump(), "tools": p.tools.model_dump(), "compute": p.compute.model_dump(),
                                 "reward": p.grpo.reward, "alpha": p.grpo.alpha, "beta": p.grpo.beta, "gamma": p.grpo.gamma})
        out = W / "evals" / job.replace(":", "-")
        begun = time.time()
        try:
            with R.opened(g, out, Caches(W / "caches"), serve=served, retry_errored=True) as grid:
                (cell,) = grid.cells
                found = grid.run(cell, lambda *_: None)
            a = aggregate(found)
            say("EVAL", job, f"{time.time()-begun:.1f} s", len(found), json.dumps({k: a[k] for k in a if "f1" in k or k in ("efficiency", "turns", "scores", "errored")}, default=str)[:600])
        except Exception as error:
            import traceback; traceback.print_exc(); say("EVAL FAILED", job, repr(error)[:300])
def native(address):
    """The checkpoint taught with tools in the prompt, behind the parser hermes: 60 episodes natively, and 60 with tool_choice none."""
    import httpx2
    R = patched()
    from fusesearch.core.caches import Caches
    from fusesearch.evaluation.grid import Grid
    from fusesearch.evaluation.metrics import aggregate
    wait(W / "full.done"); wait(W / "servers.ok")
    with httpx2.Client(base_url=address, timeout=60, trust_env=False) as client:
        name = client.get("/v1/models").json()["data"][0]["id"]
        body = {"method": "reload_weights", "kwargs": {"weights_path": str(W / "full" / "checkpoint")}}
        if not TINY or os.environ.get("RELOAD"): client.post("/collective_rpc", json=body).raise_for_status()
    p = params()
    agent = parse_section(Agent, {**p.agent.model_dump(), "prompt": "full"}, "agent")
    models = [{"name": "native", "model": name, "base_url": f"{address}/v1", "temperature": 0.0}, {"name": "none", "model": name, "base_url": f"{address}/v1", "temperature": 0.0, "extra_body": {"tool_choice": "none"}}]
    g = Grid.model_validate({"localizers": ["fusesearch"], "models": models, "benchmarks": [benchmark(p, "held", 3 if TINY else 60).model_dump()], "runs": 1, "concurrency": 1, "seed": p.seed,
                             "agent": agent.model_dump(), "tools": p.tools.model_dump(), "reward": p.grpo.reward, "alpha": p.grpo.alpha, "beta": p.grpo.beta, "gamma": p.grpo.gamma})
    with R.opened(g, W / "native", Caches(W / "caches"), retry_errored=True) as grid:
        for cell in grid.cells:
            begun = time.time(); found = grid.run(cell, lambda *_: None); a = aggregate(found)
            say("NATIVE", cell.model, f"{time.time()-begun:.1f} s", len(found), json.dumps({k: a[k] for k in a if "f1" in k or k in ("efficiency", "turns", "scores", "errored")}, default=str)[:500])
    (W / "native.done").touch()
{"random": random, "base": base, "sft": sft, "rl": rl, "evals": evals, "native": native}[sys.argv[1]](*sys.argv[2:])
