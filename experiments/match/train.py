"""``train2.py --data FOLDER --smol FOLDER --out FOLDER --seconds S``: a reranker of issue and code in two stages, and its scores.

Stage 1 learns from lists of commit messages; stage 2 from real issues, out of fold by owner (``folds.npz``). Self-contained:
PyTorch, numpy and safetensors, no network. Loss: cross-entropy of the right candidate within its list. The clock sets every
schedule, and a watchdog writes what there is and ends the process before S seconds are over. Only text goes into the model.

The tokens of a batch are one flat array without a batch dimension; sequences of like length form blocks, which matter to
attention alone. Real issues: the issue is computed once, its keys and values serve all its candidates.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import lzma
import math
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

T0 = time.time()
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402
from torch.nn.attention.bias import causal_lower_right  # noqa: E402

ISSUE, TEXT = 256, 256
"""Tokens of an issue and of a candidate."""
FILES, FUNCTIONS = 10, 16
"""Candidates of a list of stage 2, the right one included."""
LISTS_UNTIL, SCORED_UNTIL = 0.45, 0.54
"""Shares of S at which stage 1 ends and its scores must be there, counted from the start; the folds share what is left equally."""
OUT = Path()
CURVE: list[dict] = []
SCORES: dict[str, np.ndarray] = {}
KEPT: dict[str, np.ndarray] = {}
LOCK = threading.RLock()


def say(*words: object) -> None:
    line = f"[{time.time() - T0:6.1f}] {' '.join(map(str, words))}"
    print(line, flush=True)
    with open(OUT / "log.txt", "a") as stream:
        stream.write(line + "\n")


def note(**row: object) -> None:
    """A line of the curve."""
    row = {"at": round(time.time() - T0, 1)} | {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
    CURVE.append(row)
    with open(OUT / "curve.jsonl", "a") as stream:
        stream.write(json.dumps(row) + "\n")
    say(row)


def save() -> None:
    """All scores so far, and the curve; a file is whole at any time."""
    with LOCK:
        np.savez(OUT / "scores.tmp.npz", **KEPT, **SCORES)
        os.replace(OUT / "scores.tmp.npz", OUT / "scores.npz")
        (OUT / "curve.tmp").write_text(json.dumps(CURVE, indent=1))
        os.replace(OUT / "curve.tmp", OUT / "curve.json")


def leave(why: str) -> None:
    say(why)
    if KEPT:
        save()
    sys.stdout.flush()
    os._exit(0)


def load(path: Path) -> dict[str, np.ndarray]:
    with lzma.open(path) as stream:
        data = np.load(io.BytesIO(stream.read()))
        return {name: data[name] for name in data.files}


# ------------------------------------------------------------------------------------------------------------- sequences


class Batch:
    """Sequences as one flat array of tokens, in blocks of like length; ``last`` is where the sequences end, in the order given.

    Sequences are rows of segments of the pool: (sequences, segments) of starts and lengths. With a prefix (issues, tokens), it is
    the first block, and ``which`` says whose prefix a sequence has.
    """

    def __init__(self, pool: np.ndarray, empty: int, starts: np.ndarray, lengths: np.ndarray, device: torch.device,
                 prefix: np.ndarray | None = None, which: np.ndarray | None = None) -> None:
        sizes = lengths.sum(1)
        order = np.argsort(-sizes, kind="stable")
        sorted_ = sizes[order]
        width, begins = np.empty(len(order), np.int64), [0]
        at = 0
        while at < len(order):
            wide = -(-int(sorted_[at]) // 8) * 8
            end = int(np.searchsorted(-sorted_, -min(wide * 0.9, wide - 8), side="right"))
            end = len(order) if len(order) - end < 3 else max(end, at + 1)
            width[at:end] = wide
            at = end
            begins.append(at)
        first = 0 if prefix is None else prefix.size
        ends = first + np.cumsum(width)
        seq_at = ends - width
        self.blocks = [(int(seq_at[b]), e - b, int(width[b]), b) for b, e in zip(begins[:-1], begins[1:], strict=True)]
        starts = np.concatenate([starts[order], np.full((len(order), 1), empty)], 1)
        lengths = np.concatenate([lengths[order], (width - sorted_)[:, None]], 1)
        flat = lengths.ravel()
        total = int(ends[-1]) - first
        ids = pool[np.repeat(starts.ravel() - (np.cumsum(flat) - flat), flat) + np.arange(total)]
        before = 0 if prefix is None else prefix.shape[1]
        places = np.arange(total) - np.repeat(seq_at - first, width) + before
        if prefix is not None:
            ids = np.concatenate([prefix.ravel(), ids])
            places = np.concatenate([np.tile(np.arange(before), len(prefix)), places])
        last = np.empty(len(order), np.int64)
        last[order] = seq_at + sorted_ - 1
        packed = np.concatenate([ids, places, last, which[order] if which is not None else np.zeros(0, np.int64)]).astype(np.int64)
        sent = torch.from_numpy(packed)
        if device.type == "cuda":
            sent = sent.pin_memory().to(device, non_blocking=True)
        n = len(ids)
        self.ids, self.places, self.last, self.which = sent[:n], sent[n : 2 * n], sent[2 * n : 2 * n + len(order)], sent[2 * n + len(order) :]
        self.shape = None if prefix is None else prefix.shape
        self.tokens, self.useful, self.longest = n, int(sizes.sum()) + first, before + int(width[0])


class Texts:
    """All tokens in one pool, and where what begins."""

    def __init__(self, d: dict[str, np.ndarray]) -> None:
        self.d = d
        parts, self.start, self.size, at = [], {}, {}, 0
        for name, ends in (("texts", "text_ends"), ("queries", "query_ends"), ("eval_texts", "eval_text_ends"), ("issues", "issue_ends")):
            e = d[ends].astype(np.int64)
            self.start[name], self.size[name] = at + np.concatenate([[0], e[:-1]]), np.diff(e, prepend=0)
            parts.append(d[name])
            at += len(d[name])
        self.mark = {}
        for name in ("issue", "function", "file", "end"):
            self.mark[name] = (at, len(d[f"mark_{name}"]))
            parts.append(d[f"mark_{name}"])
            at += len(d[f"mark_{name}"])
        self.empty = at
        self.pool = np.concatenate([*parts, np.zeros(4096, np.uint16)])
        self.level_start = np.array([self.mark["function"][0], self.mark["file"][0]])
        self.level_size = np.array([self.mark["function"][1], self.mark["file"][1]])

    def after(self, table: str, texts: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Segments of candidates: mark, text, end."""
        end = np.full(len(texts), self.mark["end"][0]), np.full(len(texts), self.mark["end"][1])
        starts = np.stack([self.level_start[level], self.start[table][texts], end[0]], 1)
        return starts, np.stack([self.level_size[level], np.minimum(self.size[table][texts], TEXT), end[1]], 1)

    def messages(self, queries: np.ndarray, texts: np.ndarray, level: np.ndarray, device: torch.device) -> Batch:
        """Sequences of stage 1: message and candidate."""
        starts, lengths = self.after("texts", texts, level)
        n = len(queries)
        starts = np.concatenate([np.full((n, 1), self.mark["issue"][0]), self.start["queries"][queries][:, None], starts], 1)
        lengths = np.concatenate([np.full((n, 1), self.mark["issue"][1]), np.minimum(self.size["queries"][queries], ISSUE)[:, None], lengths], 1)
        return Batch(self.pool, self.empty, starts, lengths, device)

    def issues(self, issues: np.ndarray, which: np.ndarray, texts: np.ndarray, level: np.ndarray, device: torch.device) -> Batch:
        """Candidates after the issues that they share, which are cut to the shortest of the batch."""
        most = int(min(ISSUE, self.size["issues"][issues].min()))
        mark = self.pool[self.mark["issue"][0] : sum(self.mark["issue"])]
        prefix = np.stack([np.concatenate([mark, self.pool[s : s + most]]) for s in self.start["issues"][issues]]).astype(np.int64)
        return Batch(self.pool, self.empty, *self.after("eval_texts", texts, level), device, prefix, which)


# ----------------------------------------------------------------------------------------------------------------- model


def plain_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, how: str) -> torch.Tensor:
    """Causal attention of whole sequences."""
    if how == "grouped":
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    k, v = (one.repeat_interleave(q.shape[1] // one.shape[1], 1) for one in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def late_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, how: str) -> torch.Tensor:
    """Causal attention of the last tokens, those of ``q``, to all."""
    if how == "grouped":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]), enable_gqa=True)
    k, v = (one.repeat_interleave(q.shape[1] // one.shape[1], 1) for one in (k, v))
    if how == "repeated":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]))
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(k.shape[2] - q.shape[2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def chosen(device: torch.device, dtype: torch.dtype) -> dict[str, str]:
    """The first way of either attention that is right on this device, forward and backward."""
    found = {}
    for name, function, own, ways in (("plain", plain_attention, 72, ("grouped", "repeated")), ("late", late_attention, 40, ("grouped", "repeated", "masked"))):
        made = torch.Generator().manual_seed(0)
        q, k, v, g = (torch.randn(s, generator=made) for s in ((3, own, 9, 64), (3, 72, 3, 64), (3, 72, 3, 64), (3, 9, own, 64)))

        def result(dev: torch.device, kind: torch.dtype, call, q=q, k=k, v=v, g=g) -> list[torch.Tensor]:  # noqa: ANN001
            leaves = [one.to(dtype).to(dev, kind).requires_grad_() for one in (q, k, v)]
            out = call(*(one.transpose(1, 2) for one in leaves))
            return [one.detach().double().cpu() for one in (out, *torch.autograd.grad(out, leaves, g.to(dtype).to(dev, kind)))]

        def exact(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, own: int = own) -> torch.Tensor:
            k, v = k.repeat_interleave(3, 1), v.repeat_interleave(3, 1)
            hidden = torch.ones(own, 72).tril(72 - own) == 0
            return (q @ k.transpose(2, 3) / 8).masked_fill(hidden, -torch.inf).softmax(-1) @ v

        want = result(torch.device("cpu"), torch.float64, exact)
        for way in ways:
            try:
                got = result(device, dtype, lambda q, k, v, way=way, function=function: function(q, k, v, way))
                off = max(((a - b).norm() / b.norm()).item() for a, b in zip(got, want, strict=True))
            except Exception as error:  # noqa: BLE001
                off = repr(error)[:200]
            say("attention", name, way, off)
            if isinstance(off, float) and off < 2e-2:
                found[name] = way
                break
        else:
            raise RuntimeError(f"no {name} attention is right")
    return found


class Smol(nn.Module):
    """Llama with a number at the last token of a sequence. Padding on the right needs no mask."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        from safetensors.torch import load_file

        c = json.loads((folder / "config.json").read_text())
        self.eps, self.d, self.size = c["rms_norm_eps"], c["hidden_size"], c["head_dim"]
        self.theta = c.get("rope_theta") or c["rope_parameters"]["rope_theta"]
        self.heads, self.kv, self.inner = c["num_attention_heads"], c["num_key_value_heads"], c["intermediate_size"]
        given = {k.removeprefix("model."): v.float() for k, v in load_file(str(folder / "model.safetensors")).items()}
        self.embed = nn.Parameter(given["embed_tokens.weight"])
        self.norm = nn.Parameter(given["norm.weight"])
        self.head, self.bias = nn.Parameter(torch.randn(1, self.d) * 0.01), nn.Parameter(torch.zeros(1))
        self.layers = nn.ModuleList()
        for i in range(c["num_hidden_layers"]):
            of = {k.removeprefix(f"layers.{i}."): v for k, v in given.items() if k.startswith(f"layers.{i}.")}
            layer = nn.Module()
            layer.qkv = nn.Parameter(torch.cat([of[f"self_attn.{n}_proj.weight"] for n in "qkv"]))
            layer.o = nn.Parameter(of["self_attn.o_proj.weight"])
            layer.in_ = nn.Parameter(torch.cat([of["mlp.gate_proj.weight"], of["mlp.up_proj.weight"]]))
            layer.down = nn.Parameter(of["mlp.down_proj.weight"])
            layer.norm1, layer.norm2 = nn.Parameter(of["input_layernorm.weight"]), nn.Parameter(of["post_attention_layernorm.weight"])
            self.layers.append(layer)
        self.how = {"plain": "repeated", "late": "masked"}

    def forward(self, batch: Batch) -> torch.Tensor:
        """Scores of the batch's sequences."""
        d, size, both = self.d, self.size, self.heads + self.kv
        x = F.embedding(batch.ids, self.embed)
        inverse = self.theta ** (-torch.arange(0, size, 2, device=x.device).float() / size)
        angle = torch.arange(batch.longest, device=x.device).float()[:, None] * inverse
        # x * cos + turned(x) * sin, where turned(x) is (-second half, first half): the sign is in the sines.
        cos = torch.cat((angle.cos(), angle.cos()), 1).to(x.dtype)[batch.places][:, None]
        sin = torch.cat((-angle.sin(), angle.sin()), 1).to(x.dtype)[batch.places][:, None]
        # Split, never sliced: a slice's gradient is as large as the whole.
        sizes = [count * width for _, count, width, _ in batch.blocks]
        shared = None
        if batch.shape:
            sizes.insert(0, batch.shape[0] * batch.shape[1])
            shared = (batch.which[:, None] == torch.arange(batch.shape[0], device=x.device)).to(x.dtype)
        for number, layer in enumerate(self.layers):
            h = F.rms_norm(x, (d,), layer.norm1, self.eps)
            qkv = F.linear(h, layer.qkv).unflatten(-1, (-1, size))
            turned, v = qkv.split((both, self.kv), 1)
            turned = torch.addcmul(turned * cos, turned.roll(size // 2, -1), sin)
            q, k = turned.split((self.heads, self.kv), 1)
            parts, outs = list(zip(*(one.split(sizes) for one in (q, k, v)), strict=True)), []
            if shared is not None:
                issues, tokens = batch.shape
                first = [one.unflatten(0, (issues, tokens)) for one in parts.pop(0)]
                outs.append(plain_attention(*(one.transpose(1, 2) for one in first), self.how["plain"]).transpose(1, 2).flatten(0, 1))
                before = [one.flatten(1) for one in first[1:]]
            for (_, count, width, begin), part in zip(batch.blocks, parts, strict=True):
                mine = [one.unflatten(0, (count, width)) for one in part]
                if shared is None:
                    o = plain_attention(*(one.transpose(1, 2) for one in mine), self.how["plain"])
                else:  # a product with ones and zeros copies, and sums gradients exactly
                    picked = shared[begin : begin + count]
                    keys = [torch.cat(((picked @ one).view(count, -1, self.kv, size), two), 1) for one, two in zip(before, mine[1:], strict=True)]
                    o = late_attention(mine[0].transpose(1, 2), *(one.transpose(1, 2) for one in keys), self.how["late"])
                outs.append(o.transpose(1, 2).flatten(0, 1))
            o = torch.cat(outs).flatten(1)
            if number + 1 == len(self.layers):
                x, o = x[batch.last], o[batch.last]
            x = x + F.linear(o, layer.o)
            gate, up = F.linear(F.rms_norm(x, (d,), layer.norm2, self.eps), layer.in_).chunk(2, 1)
            x = x + F.linear(F.silu(gate) * up, layer.down)
        h = F.rms_norm(x.float(), (d,), self.norm.float(), self.eps)
        return F.linear(h, self.head.float(), self.bias.float())[:, 0]


# -------------------------------------------------------------------------------------------------------------- training


class Learner:
    """A model in the device's type, its masters in float32 and their optimizer."""

    def __init__(self, model: Smol, device: torch.device) -> None:
        self.device = device
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        model.to(device)
        self.params = list(model.parameters())
        self.master = [p.detach().float().clone() for p in self.params]
        model.to(self.dtype)
        self.params = list(model.parameters())
        self.model = model
        for m in self.master:
            m.grad = torch.zeros_like(m)

    def begin(self, lr: float, weights: list[torch.Tensor] | None = None) -> None:
        """A fresh optimizer, from these weights."""
        with torch.no_grad():
            if weights is not None:
                torch._foreach_copy_(self.master, weights)
            torch._foreach_copy_([p.data for p in self.params], self.master)
        for p in self.params:
            p.grad = None
        self.best = None
        self.best = torch.optim.AdamW([{"params": [m for m in self.master if m.ndim > 1], "weight_decay": 0.01},
                                       {"params": [m for m in self.master if m.ndim <= 1], "weight_decay": 0.0}],
                                      lr=lr, betas=(0.9, 0.98), fused=True)
        self.lr = lr

    def weights(self) -> list[torch.Tensor]:
        return [m.detach().clone() for m in self.master]

    def step(self, loss: torch.Tensor, done: float) -> float:
        loss.backward()
        rate = self.lr * min(1.0, (done + 1e-3) / 0.06) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
        for group in self.best.param_groups:
            group["lr"] = rate
        with torch.no_grad():
            torch._foreach_copy_([m.grad for m in self.master], [p.grad for p in self.params])
        for p in self.params:
            p.grad = None
        nn.utils.clip_grad_norm_(self.master, 1.0, foreach=True)
        self.best.step()
        with torch.no_grad():
            torch._foreach_copy_([p.data for p in self.params], self.master)
        return rate

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def peak(self) -> str:
        return f"memory {torch.cuda.max_memory_allocated() / 2**30:.1f}" if self.device.type == "cuda" else ""

    def freed(self) -> None:
        """After an error of memory: no gradients, no cache."""
        for p in self.params:
            p.grad = None
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def loss_of(scores: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of the first of each list; ``places`` (lists, candidates) has -1 where a list is shorter."""
    table = scores[places.clamp(min=0)].masked_fill(places < 0, -torch.inf)
    return F.cross_entropy(table, torch.zeros(len(table), dtype=torch.long, device=table.device))


def stage1(who: Learner, texts: Texts, until: float, tiny: bool) -> None:
    """Learns from commit messages until then."""
    d, device = texts.d, who.device
    lists, size = (4, 3) if tiny else (32, 6)
    draw = np.random.default_rng(1)
    held = draw.permutation(np.flatnonzero(d["held_out"]))[: 4 if tiny else 400]
    taught = np.flatnonzero(~d["held_out"].astype(bool))
    who.begin(5e-5)
    begun = time.time()
    if device.type == "cuda" and torch.cuda.get_device_properties(0).total_memory < 70 * 2**30:
        lists //= 2
    order, step, seen, tokens, useful, losses, rate, points = np.zeros(0, np.int64), 0, 0, 0, 0, [], 0.0, [0.25, 0.5, 0.75]
    judged = judge(who, texts, held, 0.0, 0, tiny)
    while time.time() < until and not (tiny and step >= 4):
        done = step / 4 if tiny else (time.time() - begun) / (until - begun)
        if len(order) < lists:
            order = draw.permutation(taught)
        chosen_, rest = order[:lists], order[lists:]
        picked = np.concatenate([np.zeros((lists, 1), np.int64), 1 + np.argsort(draw.random((lists, 7)), 1)[:, : size - 1]], 1)
        try:
            batch = texts.messages(np.repeat(d["query"][chosen_], size), np.take_along_axis(d["lists"][chosen_], picked, 1).ravel(),
                                   np.repeat(d["level"][chosen_], size).astype(np.int64), device)
            loss = loss_of(who.model(batch), torch.arange(lists * size, device=device).view(lists, size))
            rate = who.step(loss, done)
        except torch.OutOfMemoryError as error:
            loss = batch = None
            who.freed()
            lists = max(4, lists // 2)
            say("out of memory:", lists, "lists from now on;", str(error)[:150])
            continue
        order = rest
        losses.append(loss.detach())
        step, seen, tokens, useful = step + 1, seen + lists, tokens + batch.tokens, useful + batch.useful
        if step == 1:
            who.wait()
            say("first step", f"{time.time() - begun - judged:.1f} s", batch.tokens, "tokens", len(batch.blocks), "blocks")
        if step % 20 == 0 or step in (2, 3, 10):
            mean = torch.stack(losses[-20:]).mean().item()
            spent = time.time() - begun - judged
            say("stage 1 step", step, "lists", seen, f"loss {mean:.3f} lr {rate:.2e} tokens/s {tokens / spent:.0f} useful {useful / tokens:.3f}", who.peak())
        if points and done >= points[0]:
            judged += judge(who, texts, held, points.pop(0), seen, tiny)
    who.wait()
    spent = time.time() - begun - judged
    note(part="stage1", steps=step, lists=seen, epochs=seen / len(taught), seconds=spent, tokens_per_s=tokens / spent, useful=useful / max(1, tokens),
         loss=torch.stack(losses[-40:]).mean().item() if losses else None)
    judge(who, texts, held, 1.0, seen, tiny)


@torch.inference_mode()
def judge(who: Learner, texts: Texts, held: np.ndarray, done: float, seen: int, tiny: bool) -> float:
    """How held-out repositories' right candidates rank within their lists; returns the seconds that it took."""
    begun, d = time.time(), texts.d
    places = []
    for at in range(0, len(held), 50):
        part = held[at : at + 50]
        batch = texts.messages(np.repeat(d["query"][part], 8), d["lists"][part].ravel(), np.repeat(d["level"][part], 8).astype(np.int64), who.device)
        scores = who.model(batch).view(-1, 8)
        places.append(1 + (scores[:, 1:] >= scores[:, :1]).sum(1))
    place, level = torch.cat(places).float().cpu().numpy(), d["level"][held]
    row = {"part": "held_out_lists", "done": done, "lists": seen, "n": len(held)}
    for number, kind in enumerate(("function", "file")):
        p = place[level == number]
        if len(p):
            row |= {f"{kind}_n": len(p), f"{kind}_r1": float((p == 1).mean()), f"{kind}_mrr": float((1 / p).mean())}
    took = time.time() - begun
    note(**row, seconds=took)
    return took


class Issues:
    """The real issues' lists."""

    def __init__(self, texts: Texts, draw: np.random.Generator) -> None:
        self.texts, self.d, self.draw = texts, texts.d, draw

    def list_of(self, issue: int, level: int) -> np.ndarray | None:
        """Columns of a list: the right one and wrong ones of other texts, hard ones more likely (Gumbel); None without both."""
        name, most = (("functions", FUNCTIONS), ("files", FILES))[level]
        candidates, right = self.d[f"eval_{name}"][issue], self.d[f"right_{name}"][issue].astype(bool) & (self.d[f"eval_{name}"][issue] >= 0)
        if not right.any():
            return None
        wrong = np.flatnonzero((candidates >= 0) & ~right & ~np.isin(candidates, candidates[right]))
        wrong = wrong[np.sort(np.unique(candidates[wrong], return_index=True)[1])]
        if not len(wrong):
            return None
        rank = np.argsort(-(self.draw.gumbel(size=len(wrong)) - np.log(wrong + 5.0)))
        return np.concatenate([[self.draw.choice(np.flatnonzero(right))], wrong[rank[: most - 1]]])

    def usable(self, issues: np.ndarray) -> np.ndarray:
        return np.array([i for i in issues if self.list_of(i, 0) is not None or self.list_of(i, 1) is not None])

    def epoch(self, issues: np.ndarray, count: int) -> list[np.ndarray]:
        """Issues in batches of like length, in any order; the cut of a batch's issues to the shortest is then slight."""
        size = np.minimum(self.texts.size["issues"][issues], ISSUE)
        order = issues[np.argsort(size + 4 * self.draw.random(len(issues)), kind="stable")]
        parts = np.array_split(order, -(-len(order) // count))
        return [parts[i] for i in self.draw.permutation(len(parts))]

    def batch(self, issues: np.ndarray, device: torch.device) -> tuple[Batch, torch.Tensor]:
        which, texts, level, rows = [], [], [], []
        for number, issue in enumerate(issues):
            for kind, name in enumerate(("functions", "files")):
                columns = self.list_of(issue, kind)
                if columns is not None:
                    rows.append(np.arange(len(texts), len(texts) + len(columns)))
                    texts += self.d[f"eval_{name}"][issue][columns].tolist()
                    which += [number] * len(columns)
                    level += [kind] * len(columns)
        places = np.full((len(rows), max(map(len, rows))), -1)
        for number, row in enumerate(rows):
            places[number, : len(row)] = row
        made = self.texts.issues(issues, np.array(which), np.array(texts), np.array(level), device)
        places = torch.from_numpy(places)
        return made, places.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else places


def stage2(who: Learner, lists: Issues, issues: np.ndarray, until: float, tiny: bool, **row: object) -> None:
    """Learns from these real issues until then."""
    begun, issues, count = time.time(), lists.usable(issues), 2 if tiny else 8
    issues = issues[:5] if tiny else issues
    step, seen, many, tokens, losses, parts = 0, 0, 0, 0, [], []
    while time.time() < until and not (tiny and step >= 2):
        done = step / 2 if tiny else (time.time() - begun) / (until - begun)
        if not parts:
            parts = lists.epoch(issues, count)
        part = parts.pop()
        try:
            batch, places = lists.batch(part, who.device)
            loss = loss_of(who.model(batch), places)
            rate = who.step(loss, done)
        except torch.OutOfMemoryError as error:
            loss = batch = None
            who.freed()
            count, parts = max(1, count // 2), []
            say("out of memory:", count, "issues from now on;", str(error)[:150])
            continue
        losses.append(loss.detach())
        step, seen, many, tokens = step + 1, seen + len(part), many + len(places), tokens + batch.tokens
        if step % 25 == 0 or step in (1, 2, 3):
            say("stage 2", row, "step", step, f"loss {torch.stack(losses[-25:]).mean().item():.3f} lr {rate:.2e} tokens/s {tokens / (time.time() - begun):.0f}", who.peak())
    who.wait()
    spent = time.time() - begun
    means = [round(torch.stack(losses[a : a + 20]).mean().item(), 3) for a in range(0, len(losses), 20)]
    note(part="stage2", **row, issues=len(issues), steps=step, lists=many, epochs=seen / max(1, len(issues)), seconds=spent, tokens_per_s=tokens / spent, losses=means)


@torch.inference_mode()
def real(who: Learner, texts: Texts, name: str, issues: np.ndarray, until: float, tiny: bool) -> float:
    """Scores of the candidates of real issues, into SCORES: (issues, files and then functions); NaN where there is none or no time.

    Returns the seconds that all issues need, by what these took.
    """
    begun, d, count = time.time(), texts.d, 2 if tiny else 8
    wide, many = d["eval_files"].shape[1], d["eval_functions"].shape[1]
    with LOCK:
        found = SCORES.setdefault(name, np.full((len(d["issue_ends"]), wide + many), np.nan, np.float32))
    issues = issues[:2] if tiny else issues
    size = np.minimum(texts.size["issues"][issues], ISSUE)
    order = issues[np.argsort(size, kind="stable")]
    parts = [order[at : at + count] for at in range(0, len(order), count)]
    parts = [parts[i] for i in np.random.default_rng(3).permutation(len(parts))]
    files, functions, waiting, scored = wide, many, None, 0

    def fetch(one: tuple) -> None:
        rows, columns, values = one
        found[rows, columns] = values.float().cpu().numpy()

    queue = list(reversed(parts))
    number = 0
    while queue:
        part = queue.pop()
        if number == 6 and not tiny:
            who.wait()
            need, left = (time.time() - begun) / number * len(parts), until - time.time()
            if need > left:
                functions, files = 20, 20 if need * 0.65 < left else 10
            say("scoring", name, f"needs {need:.1f} s, has {left:.1f} s: {functions} functions, {files} files")
        if time.time() > until:
            say("scoring", name, "is out of time after", scored, "of", len(issues), "issues")
            break
        columns = np.concatenate([np.arange(files), wide + np.arange(functions)])
        table = np.concatenate([d["eval_files"][part], d["eval_functions"][part]], 1)[:, columns]
        which, at = np.nonzero(table >= 0)
        try:
            batch = texts.issues(part, which, table[which, at].astype(np.int64), (at < files).astype(np.int64), who.device)
            values = who.model(batch)
        except torch.OutOfMemoryError:
            batch = None
            who.freed()
            if len(part) == 1:
                raise
            queue += [part[: len(part) // 2], part[len(part) // 2 :]]
            continue
        if waiting:
            fetch(waiting)
        waiting = part[which], columns[at], values
        scored, number = scored + len(part), number + 1
    if waiting:
        fetch(waiting)
    save()
    took = time.time() - begun
    say("scored", name, scored, "of", len(issues), f"issues, {took:.1f} s", who.peak())
    return took * len(d["issue_ends"]) / scored if scored else 20.0


def places_of(d: dict[str, np.ndarray], issues: np.ndarray, level: str, scores: np.ndarray | None) -> np.ndarray:
    """Place of the best right candidate of each issue that has one; of the prior's order without scores."""
    found = []
    wide = d["eval_files"].shape[1]
    for i in issues:
        right = d[f"right_{level}s"][i].astype(bool) & (d[f"eval_{level}s"][i] >= 0)
        if not right.any():
            continue
        mine = -np.arange(len(right)).astype(float) if scores is None else np.nan_to_num(scores[i, :wide] if level == "file" else scores[i, wide:], nan=-np.inf).astype(float)
        mine = np.where(d[f"eval_{level}s"][i] >= 0, mine, -np.inf)
        best = mine[right].max()
        found.append(1 + (mine[~right] >= best).sum() if np.isfinite(best) else 99)
    return np.array(found)


def compared(d: dict[str, np.ndarray], issues: np.ndarray, names: list[str], **row: object) -> None:
    """R@1 and MRR of the prior and of scores, on the issues that all of them have."""
    issues = np.array([i for i in issues if all(np.isfinite(SCORES[n][i]).any() for n in names)], np.int64)
    for level in ("function", "file"):
        for name in ("prior", *names):
            place = places_of(d, issues, level, None if name == "prior" else SCORES[name])
            if len(place):
                row |= {f"{level}_n": len(place), f"{level}_r1_{name}": float((place == 1).mean()), f"{level}_r5_{name}": float((place <= 5).mean()),
                        f"{level}_mrr_{name}": float((1 / place).mean())}
    note(part="real", issues=len(issues), **row)


def main() -> None:
    global OUT, ISSUE, TEXT, FUNCTIONS, FILES  # noqa: PLW0603
    parser = argparse.ArgumentParser()
    for name in ("data", "smol", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true", help="few steps of short texts: a dry run of every part")
    args = parser.parse_args()
    OUT, tiny = args.out, args.tiny
    OUT.mkdir(parents=True, exist_ok=True)
    for old in ("log.txt", "curve.jsonl"):
        (OUT / old).unlink(missing_ok=True)
    end = T0 + args.seconds
    # Two watchdogs: one writes what there is; the other, in C, ends the process even where Python does not run.
    faulthandler.dump_traceback_later(max(1.0, end - 0.4 - time.time()), exit=True)
    signal.signal(signal.SIGTERM, lambda *_: leave("terminated"))
    timer = threading.Timer(max(0.5, end - 2.0 - time.time()), leave, ("the watchdog ends it",))
    timer.daemon = True
    timer.start()
    if tiny:
        ISSUE, TEXT, FUNCTIONS, FILES = 12, 20, 5, 4
    torch.manual_seed(0)
    device = torch.device(args.device)
    if device.type == "cuda":
        torch.cuda.set_per_process_memory_fraction(min(1.0, 36 * 2**30 / torch.cuda.get_device_properties(0).total_memory))
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cuda.enable_cudnn_sdp(False)  # it compiles anew for every shape
        say(torch.__version__, torch.cuda.get_device_name(0), f"{torch.cuda.get_device_properties(0).total_memory / 2**30:.0f} GiB")
    d = load(args.data / "data.npz.xz")
    folds = np.load(args.data / "folds.npz")
    assert (folds["issue_ids"] == d["issue_ids"]).all()
    fold, everyone = folds["fold"], np.arange(len(d["issue_ids"]))
    KEPT.update(ids=d["issue_ids"], files=np.array(d["eval_files"].shape[1]), fold=fold)
    texts = Texts(d)
    who = Learner(Smol(args.smol), device)
    who.model.how = chosen(device, who.dtype)
    start = who.weights()
    say("ready:", sum(p.numel() for p in who.params) // 10**6, "M parameters,", who.model.how)
    save()
    try:
        stage1(who, texts, T0 + LISTS_UNTIL * args.seconds, tiny)
    except Exception as error:  # noqa: BLE001
        say("stage 1 failed:", repr(error), traceback.format_exc())
        who.freed()
    taught, need = who.weights(), 0.08 * args.seconds
    try:
        need = real(who, texts, "smol_lists", everyone, T0 + SCORED_UNTIL * args.seconds, tiny)
        compared(d, everyone, ["smol_lists"], stage=1)
    except Exception as error:  # noqa: BLE001
        say("scoring failed:", repr(error), traceback.format_exc())
    lists = Issues(texts, np.random.default_rng(11))
    last = end - max(3.0, 0.015 * args.seconds)

    def one_fold(name: str, number: int, weights: list[torch.Tensor], until: float) -> None:
        try:
            held = np.flatnonzero(fold == number)
            for_scores = 1.1 * need * len(held) / len(everyone) + 0.3
            who.begin(1.7e-5, weights)
            stage2(who, lists, np.flatnonzero(fold != number), until - min(for_scores, 0.5 * (until - time.time())), tiny, name=name, fold=number)
            real(who, texts, name, held, until, tiny)
            compared(d, held, [n for n in ("smol_lists", "smol_issues", "smol_direct") if n in SCORES and np.isfinite(SCORES[n][held]).any()], stage=2, fold=number, name=name)
        except Exception as error:  # noqa: BLE001
            say("fold", number, "failed:", repr(error), traceback.format_exc())
            who.freed()

    for number in range(3):
        one_fold("smol_issues", number, taught, time.time() + (last - time.time()) / (3 - number))
    try:
        compared(d, everyone, ["smol_lists", "smol_issues"], stage=2)
    except Exception as error:  # noqa: BLE001
        say("comparison failed:", repr(error))
    if tiny or last - time.time() > 0.08 * args.seconds:
        one_fold("smol_direct", 0, start, last)
    leave("done")


if __name__ == "__main__":
    main()
