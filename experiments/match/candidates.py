"""``candidates.py OUT.pkl [REPOSITORY...]``: texts of the first forty functions and twenty files of every real issue that has feature tables."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import polars as pl

from fusesearch.code.functions import function_spans
from fusesearch.core.text import safe_name
from mine import blobs
from texts import file_text, function_text, issue_text

FILES, FUNCTIONS = 20, 40
REAL, MULTI, CLONES = Path("data/real"), Path("data/mswe"), Path("data/clones")
SETS = [(REAL / "swebench_verified.jsonl", REAL / "new2"), (REAL / "swebench_lite.jsonl", REAL / "new2"), (REAL / "loc.jsonl", REAL / "new2"),
        (MULTI / "part0.jsonl", MULTI / "features"), (MULTI / "part1.jsonl", MULTI / "features")]


def main() -> None:
    rows, folder = {}, {}
    for path, tables in SETS:
        for line in open(path):
            row = json.loads(line)
            name = row["instance_id"]
            if all((tables / f"{safe_name(name)}.{level}.parquet").exists() for level in ("file", "function")):
                rows.setdefault(name, row)
                folder.setdefault(name, tables)
    by_repo = defaultdict(list)
    for row in rows.values():
        if sys.argv[2:] and row["repo"] not in sys.argv[2:]:
            continue
        by_repo[row["repo"]].append(row)
    texts: dict[str, int] = {}
    lists, missing, begun = [], 0, time.time()
    for repo, found in sorted(by_repo.items()):
        git = CLONES / f"{repo.replace('/', '__')}.git"
        parsed: dict[str, tuple] = {}
        for start in range(0, len(found), 20):
            part, asked = found[start : start + 20], {}
            for row in part:
                tables = {level: pl.read_parquet(folder[row["instance_id"]] / f"{safe_name(row['instance_id'])}.{level}.parquet", columns=["candidate", "label"])
                          for level in ("file", "function")}
                files, functions = tables["file"]["candidate"].to_list()[:FILES], tables["function"]["candidate"].to_list()[:FUNCTIONS]
                paths = list(dict.fromkeys([*files, *(f.partition("::")[0] for f in functions)]))
                asked[row["instance_id"]] = (files, functions, paths, tables)
            specs = [(f"{row['base_commit']}:{path}", row["instance_id"], path) for row in part for path in asked[row["instance_id"]][2]]
            raw = subprocess.run(["git", "-C", str(git), "cat-file", "--batch-check"], input="".join(f"{s}\n" for s, *_ in specs).encode(), capture_output=True).stdout.decode()
            of = {}
            for (_, name, path), line in zip(specs, raw.splitlines(), strict=True):
                if " blob " in line:
                    of[name, path] = line.split()[0]
            new = [b for b in dict.fromkeys(of.values()) if b not in parsed]
            sources = {}
            for at in range(0, len(new), 200):
                sources |= blobs(git, new[at : at + 200], 2_000_000)
            for (name, path), blob in of.items():
                if blob not in parsed:
                    source = sources.get(blob, "")
                    spans = function_spans(source, path) if source else []
                    parsed[blob] = (source.split("\n"), {s.name: s for s in reversed(spans)}, file_text(path, source, [s.name for s in spans]))
            for row in part:
                name = row["instance_id"]
                files, functions, paths, tables = asked[name]
                fs, us = [], []
                for path in files:
                    text = parsed[of[name, path]][2] if (name, path) in of else path
                    fs.append(texts.setdefault(text, len(texts)))
                for entity in functions:
                    path, _, qualified = entity.partition("::")
                    lines, spans, _ = parsed[of[name, path]] if (name, path) in of else ([], {}, "")
                    span = spans.get(qualified)
                    missing += span is None
                    text = function_text(path, qualified, lines, span.start, span.end) if span else entity
                    us.append(texts.setdefault(text, len(texts)))
                lists.append({"id": name, "repo": repo, "issue": issue_text(row["problem_statement"]), "files": fs, "functions": us,
                              "right_files": tables["file"]["label"].to_list()[:FILES], "right_functions": tables["function"]["label"].to_list()[:FUNCTIONS]})
        print(repo, len(found), len(texts), "missing", missing, round(time.time() - begun), flush=True)
    with open(sys.argv[1], "wb") as stream:
        pickle.dump({"texts": list(texts), "lists": lists}, stream)
    print(len(lists), "issues", len(texts), "texts", sum(map(len, texts)), "characters")


if __name__ == "__main__":
    main()
