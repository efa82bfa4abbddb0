"""``train.py --data FOLDER --smol FOLDER --out FOLDER --seconds 195``: two rerankers of issue and code, trained and applied.

Self-contained: PyTorch, transformers, tokenizers and safetensors, no network. ``FOLDER`` of the data has ``data.npz.xz`` and
``minilm.npz.xz``. Loss: cross-entropy of the right candidate within its list. The clock sets the schedule: warm-up and cosine
over the seconds that a model has.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import math
import multiprocessing
import os
import queue
import random
import sys
import threading
import time
from pathlib import Path

T0 = time.time()
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402

ISSUE, TEXT, BERT_ISSUE = 256, 256, 192
"""Tokens of an issue and of a candidate; of an issue for the encoder, which has 512 positions."""
LOG: list[str] = []
CURVE: list[dict] = []
SCORES: dict[str, np.ndarray] = {}


def say(*words: object) -> None:
    line = f"[{time.time() - T0:6.1f}] {' '.join(map(str, words))}"
    LOG.append(line)
    print(line, flush=True)


def load(path: Path) -> dict[str, np.ndarray]:
    with lzma.open(path) as stream:
        data = np.load(io.BytesIO(stream.read()))
        return {name: data[name] for name in data.files}


class Ragged:
    """Sequences of token ids in one array."""

    def __init__(self, flat: np.ndarray, ends: np.ndarray) -> None:
        self.flat, self.ends = flat, ends.astype(np.int64)

    def __getitem__(self, i: int) -> np.ndarray:
        return self.flat[self.ends[i - 1] if i else 0 : self.ends[i]]

    def __len__(self) -> int:
        return len(self.ends)


def padded(rows: list[np.ndarray], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids padded on the right, and lengths."""
    sizes = np.array([len(row) for row in rows])
    width = -(-int(sizes.max()) // 8) * 8
    ids = np.zeros((len(rows), width), np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
    made = torch.from_numpy(ids), torch.from_numpy(sizes)
    if device.type == "cuda":
        made = tuple(one.pin_memory() for one in made)
    return tuple(one.to(device, non_blocking=True) for one in made)


# ---------------------------------------------------------------------------------------------------------------- models


class Layer(nn.Module):
    """A block of Llama."""

    def __init__(self, d: int, inner: int, heads: int, kv: int, size: int, eps: float) -> None:
        super().__init__()
        self.heads, self.kv, self.size, self.eps, self.d = heads, kv, size, eps, d
        self.norm1, self.norm2 = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d))
        self.q, self.k, self.v = (nn.Linear(d, n * size, bias=False) for n in (heads, kv, kv))
        self.o, self.down = nn.Linear(heads * size, d, bias=False), nn.Linear(inner, d, bias=False)
        self.gate, self.up = nn.Linear(d, inner, bias=False), nn.Linear(d, inner, bias=False)

    def qkv(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> list[torch.Tensor]:
        h = F.rms_norm(x, (self.d,), self.norm1, self.eps)
        q, k, v = (f(h).unflatten(-1, (n, self.size)).transpose(1, 2) for f, n in ((self.q, self.heads), (self.k, self.kv), (self.v, self.kv)))
        return [turned(q, cos, sin), turned(k, cos, sin), v]

    def rest(self, x: torch.Tensor, o: torch.Tensor) -> torch.Tensor:
        x = x + self.o(o.transpose(1, 2).flatten(2))
        h = F.rms_norm(x, (self.d,), self.norm2, self.eps)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        k, v = (one.repeat_interleave(self.heads // self.kv, 1) for one in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    one, two = x.chunk(2, -1)
    return x * cos + torch.cat((-two, one), -1) * sin


class Smol(nn.Module):
    """Llama with a number at the last token of a sequence. Padding on the right needs no mask."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        from safetensors.torch import load_file

        c = json.loads((folder / "config.json").read_text())
        self.eps, self.d, self.size = c["rms_norm_eps"], c["hidden_size"], c["head_dim"]
        self.theta = c.get("rope_theta") or c["rope_parameters"]["rope_theta"]
        self.embed = nn.Embedding(c["vocab_size"], self.d)
        self.layers = nn.ModuleList(
            Layer(self.d, c["intermediate_size"], c["num_attention_heads"], c["num_key_value_heads"], self.size, self.eps)
            for _ in range(c["num_hidden_layers"])
        )
        self.norm = nn.Parameter(torch.ones(self.d))
        self.head = nn.Linear(self.d, 1)
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)
        given = {k.removeprefix("model."): v.float() for k, v in load_file(str(folder / "model.safetensors")).items()}
        names = {"self_attn.q_proj.weight": "q.weight", "self_attn.k_proj.weight": "k.weight", "self_attn.v_proj.weight": "v.weight",
                 "self_attn.o_proj.weight": "o.weight", "mlp.gate_proj.weight": "gate.weight", "mlp.up_proj.weight": "up.weight",
                 "mlp.down_proj.weight": "down.weight", "input_layernorm.weight": "norm1", "post_attention_layernorm.weight": "norm2"}
        state = {"embed.weight": given["embed_tokens.weight"], "norm": given["norm.weight"]}
        for i in range(len(self.layers)):
            state |= {f"layers.{i}.{mine}": given[f"layers.{i}.{theirs}"] for theirs, mine in names.items()}
        missing, extra = self.load_state_dict(state, strict=False)
        assert not extra and set(missing) <= {"head.weight", "head.bias"}, (missing, extra)

    def angles(self, length: int, device: torch.device, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        inverse = self.theta ** (-torch.arange(0, self.size, 2, device=device).float() / self.size)
        angle = torch.arange(length, device=device).float()[:, None] * inverse
        angle = torch.cat((angle, angle), -1)
        return angle.cos().to(dtype), angle.sin().to(dtype)

    def states(self, ids: torch.Tensor, prefix: torch.Tensor | None = None) -> torch.Tensor:
        """Last layer's states of ``ids`` (texts, tokens), each after the one ``prefix`` (tokens) that is computed once."""
        x = self.embed(ids)
        before = 0 if prefix is None else len(prefix)
        cos, sin = self.angles(before + ids.shape[1], ids.device, x.dtype)
        p = None if prefix is None else self.embed(prefix[None])
        for number, layer in enumerate(self.layers):
            mine = layer.qkv(x, cos[before:], sin[before:])
            if p is None:
                x = layer.rest(x, layer.attend(*mine))
                continue
            theirs = layer.qkv(p, cos[:before], sin[:before])
            o = layer.attend(*(torch.cat((one.expand(len(ids), -1, -1, -1), two), 2) for one, two in zip(theirs, mine, strict=True)))
            x = layer.rest(x, o[:, :, before:])
            if number + 1 < len(self.layers):
                p = layer.rest(p, o[:1, :, :before])
        return x

    def forward(self, ids: torch.Tensor, sizes: torch.Tensor, prefix: torch.Tensor | None = None) -> torch.Tensor:
        x = self.states(ids, prefix)
        last = x[torch.arange(len(ids), device=ids.device), sizes - 1]
        return self.head(F.rms_norm(last, (self.d,), self.norm, self.eps)).float()[:, 0]


class MiniLM(nn.Module):
    """BERT with a number at the first token."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, vocab_size=30522)
        config._attn_implementation = "sdpa"
        self.bert = BertModel(config, add_pooling_layer=False)
        state = {}
        for name in {n.rpartition("|")[0] for n in weights}:
            state[name] = torch.from_numpy(weights[f"{name}|w"].astype(np.float32) * weights[f"{name}|s"].astype(np.float32))
        missing, extra = self.bert.load_state_dict(state, strict=False)
        assert not [m for m in missing if "position_ids" not in m], missing
        self.head = nn.Linear(384, 1)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: torch.Tensor, sizes: torch.Tensor, prefix: torch.Tensor | None = None) -> torch.Tensor:
        mask = torch.arange(ids.shape[1], device=ids.device)[None] < sizes[:, None]
        second = (ids == 102).cumsum(1).sub((ids == 102).long()).clamp(max=1) * mask
        h = self.bert(input_ids=ids, attention_mask=mask.long(), token_type_ids=second).last_hidden_state
        return self.head(h[:, 0]).float()[:, 0]


# -------------------------------------------------------------------------------------------------------------- sequences


class Smols:
    """Sequences for the decoder."""

    def __init__(self, d: dict[str, np.ndarray]) -> None:
        self.marks = [d[f"mark_{name}"] for name in ("issue", "function", "file", "end")]
        self.texts, self.queries = Ragged(d["texts"], d["text_ends"]), Ragged(d["queries"], d["query_ends"])
        self.eval_texts, self.issues = Ragged(d["eval_texts"], d["eval_text_ends"]), Ragged(d["issues"], d["issue_ends"])

    def before(self, query: np.ndarray) -> np.ndarray:
        return np.concatenate([self.marks[0], query[:ISSUE]])

    def after(self, text: np.ndarray, level: int) -> np.ndarray:
        return np.concatenate([self.marks[1 + level], text[:TEXT], self.marks[3]])

    def whole(self, query: np.ndarray, text: np.ndarray, level: int) -> np.ndarray:
        return np.concatenate([self.before(query), self.after(text, level)])


class Berts:
    """Sequences for the encoder."""

    def __init__(self, d: dict[str, np.ndarray]) -> None:
        self.texts, self.queries, self.eval_texts, self.issues = (
            Ragged(d[f"{n}"], d[f"{n}_ends"]) for n in ("texts", "queries", "eval_texts", "issues"))

    def whole(self, query: np.ndarray, text: np.ndarray, level: int) -> np.ndarray:
        return np.concatenate([[101], query[:BERT_ISSUE], [102], text[:TEXT], [102]])


def in_berts(data: Path, smol: Path, out: Path, most: int) -> None:
    """The same texts in the encoder's tokens; runs in a process of its own while the decoder learns."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    from tokenizers import Tokenizer

    d = load(data / "data.npz.xz")
    old, new = Tokenizer.from_file(str(smol / "tokenizer.json")), Tokenizer.from_file(str(data / "minilm_tokenizer.json"))
    new.no_padding()
    new.enable_truncation(TEXT)
    found = {}
    for name, ends in (("texts", "text_ends"), ("queries", "query_ends"), ("eval_texts", "eval_text_ends"), ("issues", "issue_ends")):
        rows = Ragged(d[name], d[ends])
        ids: list[np.ndarray] = []
        for start in range(0, len(rows), 400 if most else 4000):
            part = [rows[i].tolist() for i in range(start, min(start + (400 if most else 4000), len(rows)))]
            if most and start >= most:
                ids += [np.array([100], np.uint16)] * len(part)
                continue
            ids += [np.array(e.ids, np.uint16) for e in new.encode_batch(old.decode_batch(part, skip_special_tokens=False), add_special_tokens=False)]
        found[name], found[f"{name}_ends"] = np.concatenate(ids), np.cumsum([len(i) for i in ids])
    np.savez(out.with_suffix(".tmp.npz"), **found)
    os.rename(out.with_suffix(".tmp.npz"), out)


# --------------------------------------------------------------------------------------------------------------- training


class Run:
    """A model, what it learns from and what it scores."""

    def __init__(self, name: str, model: nn.Module, made: Smols | Berts, d: dict[str, np.ndarray], args: argparse.Namespace) -> None:
        self.name, self.made, self.d, self.args = name, made, d, args
        self.device = torch.device(args.device)
        self.dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        self.model = model.to(self.device)
        self.master = [p.detach().float().clone() for p in self.model.parameters()]
        self.model.to(self.dtype)
        self.held = np.flatnonzero(d["held_out"])
        self.taught = np.flatnonzero(~d["held_out"].astype(bool))
        rng = np.random.default_rng(1)
        self.held = rng.permutation(self.held)[: 4 if args.tiny else 600]
        self.order = rng.permutation(len(d["issue_ends"]))
        self.out = Path(args.out)

    def batches(self, lists: int, size: int, seed: int, stop: threading.Event) -> queue.Queue:
        """Batches of sequences in the order of their length, made by threads."""
        made: queue.Queue = queue.Queue(8)

        def work(number: int) -> None:
            draw = np.random.default_rng(seed * 100 + number)
            while not stop.is_set():
                for start in range(0, 10**9, lists):
                    chosen = draw.choice(self.taught, lists, replace=False)
                    rows, level = [], self.d["level"][chosen]
                    for number_, one in enumerate(chosen):
                        picked = [0, *(1 + draw.permutation(7)[: size - 1])]
                        query = self.made.queries[self.d["query"][one]]
                        rows += [self.made.whole(query, self.made.texts[t], int(level[number_])) for t in self.d["lists"][one][picked]]
                    while not stop.is_set():
                        try:
                            made.put(rows, timeout=1)
                            break
                        except queue.Full:
                            continue
                    if stop.is_set():
                        return

        for number in range(2):
            threading.Thread(target=work, args=(number,), daemon=True).start()
        return made

    def scored(self, rows: list[np.ndarray], part: int) -> torch.Tensor:
        """Scores of sequences, computed in parts of like length."""
        order = np.argsort([len(row) for row in rows], kind="stable")
        found = []
        for start in range(0, len(rows), part):
            found.append(self.model(*padded([rows[i] for i in order[start : start + part]], self.device)))
        back = torch.from_numpy(np.argsort(order)).to(self.device)
        return torch.cat(found)[back]

    def train(self, seconds: float, lr: float, lists: int, size: int, part: int, at_half) -> None:  # noqa: ANN001
        params = list(self.model.parameters())
        decay = [m for m in self.master if m.ndim > 1]
        plain = [m for m in self.master if m.ndim <= 1]
        best = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=lr, betas=(0.9, 0.98),
                                 fused=self.device.type == "cuda")
        stop = threading.Event()
        made = self.batches(lists, size, 7, stop)
        spent, step, seen, losses, tokens = 0.0, 0, 0, [], 0
        points = [0.25, 0.5, 0.75]
        self.judge(0.0, 0)
        while spent < seconds and not (self.args.tiny and step >= 6):
            begun = time.time()
            rows = made.get()
            done = step / 6 if self.args.tiny else spent / seconds
            rate = lr * min(1.0, (done + 1e-3) / 0.06) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
            for group in best.param_groups:
                group["lr"] = rate
            self.model.train()
            scores = self.scored(rows, part).view(lists, size)
            loss = F.cross_entropy(scores, torch.zeros(lists, dtype=torch.long, device=self.device))
            loss.backward()
            for m, p in zip(self.master, params, strict=True):
                m.grad = p.grad.float() if p.grad is not None else torch.zeros_like(m)
                p.grad = None
            nn.utils.clip_grad_norm_(self.master, 1.0)
            best.step()
            with torch.no_grad():
                torch._foreach_copy_([p.data for p in params], self.master)
            losses.append(loss.detach())
            step += 1
            seen += lists
            tokens += sum(map(len, rows))
            if step % 10 == 0 or step < 4:
                if self.device.type == "cuda":
                    torch.cuda.synchronize()
            spent += time.time() - begun
            if step % 20 == 0 or step in (1, 2, 3, 10):
                peak = torch.cuda.max_memory_allocated() / 2**30 if self.device.type == "cuda" else 0
                say(self.name, "step", step, "lists", seen, f"loss {torch.stack(losses[-20:]).mean().item():.3f} lr {rate:.2e} spent {spent:.1f}",
                    f"tokens/s {tokens / spent:.0f} memory {peak:.1f}")
            if points and done >= points[0]:
                point = points.pop(0)
                self.judge(point, seen)
                if point == 0.5:
                    at_half()
        stop.set()
        say(self.name, "trained", step, "steps", seen, "lists", f"{spent:.1f} s")
        self.judge(1.0, seen, whole=True)

    @torch.inference_mode()
    def judge(self, done: float, seen: int, whole: bool = False) -> None:
        """How held-out repositories' right candidates rank within their lists."""
        self.model.eval()
        chosen = self.held if whole else self.held[:200]
        rows = [self.made.whole(self.made.queries[self.d["query"][one]], self.made.texts[t], int(self.d["level"][one]))
                for one in chosen for t in self.d["lists"][one]]
        scores = self.scored(rows, 256).view(len(chosen), -1)
        place = 1 + (scores[:, 1:] >= scores[:, :1]).sum(1).float()
        level = torch.from_numpy(self.d["level"][chosen].astype(np.int64)).to(place.device)
        row = {"model": self.name, "done": done, "lists": seen, "held_out": len(chosen)}
        for number, kind in enumerate(("function", "file")):
            p = place[level == number]
            if len(p):
                row |= {f"{kind}_r1": (p == 1).float().mean().item(), f"{kind}_mrr": (1 / p).mean().item(), f"{kind}_n": len(p)}
        CURVE.append(row)
        say(self.name, "held out", {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()})

    @torch.inference_mode()
    def real(self, name: str, until: float, functions: int, files: int, issues: np.ndarray) -> None:
        """Scores of the candidates of real issues: (issues, files and then functions); NaN where there is none or no time."""
        self.model.eval()
        d = self.d
        many_files, many = d["eval_files"].shape[1], d["eval_functions"].shape[1]
        found = np.full((len(d["issue_ends"]), many_files + many), np.nan, np.float32)
        begun, kept = time.time(), []
        for number, issue in enumerate(issues):
            if number == 40 and not self.args.tiny:
                if self.device.type == "cuda":
                    torch.cuda.synchronize()
                need, left = (time.time() - begun) / 40 * len(issues), until - begun
                if need > left:
                    functions, files = min(functions, 20), min(files, 20 if need * 0.7 < left else 10)
                say(self.name, name, f"needs {need:.1f} s, has {left:.1f} s: {functions} functions, {files} files")
            if time.time() > until:
                say(self.name, name, "out of time after", number, "of", len(issues))
                break
            wanted = [(place, t, 1) for place, t in enumerate(d["eval_files"][issue][:files]) if t >= 0]
            wanted += [(many_files + place, t, 0) for place, t in enumerate(d["eval_functions"][issue][:functions]) if t >= 0]
            if not wanted:
                continue
            query = self.made.issues[issue]
            if isinstance(self.made, Smols):
                rows = [self.made.after(self.made.eval_texts[t], level) for _, t, level in wanted]
                prefix = torch.from_numpy(self.made.before(query).astype(np.int64)).to(self.device)
                order = np.argsort([len(row) for row in rows], kind="stable")
                half = -(-len(rows) // 2) if len(rows) > 24 else len(rows)
                scores = [(order[at : at + half], self.model(*padded([rows[i] for i in order[at : at + half]], self.device), prefix))
                          for at in range(0, len(rows), half)]
            else:
                rows = [self.made.whole(query, self.made.eval_texts[t], level) for _, t, level in wanted]
                scores = [(np.arange(len(rows)), self.scored(rows, 256))]
            kept.append((issue, wanted, scores))
        for issue, wanted, scores in kept:
            for places, values in scores:
                found[issue, [wanted[i][0] for i in places]] = values.float().cpu().numpy()
        SCORES[f"{self.name}_{name}"] = found
        np.savez_compressed(self.out / "scores.npz", ids=d["issue_ids"], files=many_files, **SCORES)
        first = {}
        for level, at, right in (("file", slice(0, many_files), d["right_files"]), ("function", slice(many_files, None), d["right_functions"])):
            best = [right[i][int(np.nanargmax(found[i, at]))] for i, *_ in kept if right[i].any() and not np.isnan(found[i, at]).all()]
            prior = [right[i][0] for i, *_ in kept if right[i].any()]
            first |= {f"{level}_r1": round(float(np.mean(best)), 3) if best else None, f"{level}_prior": round(float(np.mean(prior)), 3) if prior else None, f"{level}_n": len(best)}
        CURVE.append({"model": self.name, "real": name, "issues": len(kept), **first})
        say(self.name, "real issues", name, CURVE[-1], f"{time.time() - begun:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("data", "smol", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=195.0)
    parser.add_argument("--minilm-seconds", type=float, default=50.0)
    parser.add_argument("--only", choices=["smol", "minilm"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    if args.tiny:
        global ISSUE, TEXT, BERT_ISSUE  # noqa: PLW0603
        ISSUE, TEXT, BERT_ISSUE = 12, 20, 12
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    random.seed(0)
    if args.device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cuda.enable_cudnn_sdp(False)  # it compiles anew for every shape
        say(torch.__version__, torch.cuda.get_device_name(0), f"{torch.cuda.get_device_properties(0).total_memory / 2**30:.0f} GiB")
    tokens = Path(f"match_{os.getpid()}.npz")
    other = None
    if args.only != "smol" and (args.data / "minilm.npz.xz").exists():
        other = multiprocessing.get_context("spawn").Process(target=in_berts, args=(args.data, args.smol, tokens, 400 if args.tiny else 0))
        other.start()
    d = load(args.data / "data.npz.xz")
    say("data", {k: v.shape for k, v in d.items() if v.ndim and len(v) > 1})
    end = T0 + args.seconds
    torch.set_num_threads(1 if args.tiny else torch.get_num_threads())
    issues = np.random.default_rng(3).permutation(len(d["issue_ends"]))
    quarter, issues = (issues[:2], issues[:3]) if args.tiny else (issues[:350], issues)

    def report() -> None:
        (args.out / "curve.json").write_text(json.dumps(CURVE, indent=1))
        (args.out / "log.txt").write_text("\n".join(LOG) + "\n")

    keep = args.minilm_seconds if other else 0.0
    if args.only != "minilm":
        try:
            run = Run("smol", Smol(args.smol), Smols(d), d, args)
            say("smol is loaded")
            run.real("start", time.time() + 60, 20, 0, issues[: 2 if args.tiny else 6])
            left = end - keep - time.time()
            scoring = 0.30 * left
            run.train(left - scoring - 6, 5e-5, 4 if args.tiny else 24, 3 if args.tiny else 6, 48, lambda: run.real("half", time.time() + 6, 20, 0, quarter))
            run.real("end", end - keep, 40, 20, issues)
        except Exception as error:  # noqa: BLE001
            import traceback

            say("smol failed:", repr(error), traceback.format_exc())
        report()
        run = None
        if args.device == "cuda":
            torch.cuda.empty_cache()
    if other:
        other.join(None if args.tiny else max(1.0, end - time.time() - 25))
        if not tokens.exists():
            say("the encoder's tokens are not ready")
        else:
            try:
                run = Run("minilm", MiniLM(load(args.data / "minilm.npz.xz")), Berts(dict(np.load(tokens))), d, args)
                left = end - time.time()
                run.train(left * 0.62, 1e-4, 4 if args.tiny else 32, 8, 128, lambda: run.real("half", time.time() + 4, 20, 0, quarter))
                run.real("end", end, 40, 20, issues)
                report()
                kept, half = {}, 0
                for name, value in run.model.state_dict().items():
                    value = value.float().cpu()
                    if value.ndim == 2:
                        scale = value.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
                        kept[f"{name}|w"], kept[f"{name}|s"] = (value / scale).round().to(torch.int8).numpy(), scale.half().numpy()
                    else:
                        kept[f"{name}|w"], kept[f"{name}|s"] = value.half().numpy(), np.ones(1, np.float16)
                names = sorted(kept)
                words = [n for n in names if "word_embeddings" in n]
                np.savez(args.out / "minilm_words.npz", **{n: kept[n] for n in words})
                np.savez(args.out / "minilm_rest.npz", **{n: kept[n] for n in names if n not in words})
            except Exception as error:  # noqa: BLE001
                import traceback

                say("minilm failed:", repr(error), traceback.format_exc())
            tokens.unlink(missing_ok=True)
        if other.is_alive():
            other.terminate()
    say("done")
    report()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
