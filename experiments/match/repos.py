"""Repositories that may be learned from: those whose owner is in none of the evaluation sets; prints ``owner/name=folder``."""

import json
from pathlib import Path

FILES = [*(f"data/real/{n}.jsonl" for n in ("swebench_verified", "swebench_lite", "locbench", "loc")), "data/mswe/rows.jsonl"]
barred = {json.loads(line)["repo"].split("/")[0].lower() for name in FILES for line in open(name)}
barred |= {p.name.split("__")[0].lower() for p in Path("data/mswe/raw").iterdir()}
forks = {"anntzer", "claudep", "felixxm", "glemaitre", "nessita", "sarahboyce", "thomasjpfan", "timgraham", "ashadullahbajwa",
         "asadullahbajwa", "zhonghaojiang", "itmo-nss-team", "kuppireddypravalika", "ifabrish", "ghabix"}
if __name__ == "__main__":
    found = {}
    for folder in sorted(Path("data/clones").iterdir()):
        owner, _, name = folder.name.partition("+")
        if name and owner.lower() not in barred | forks:
            found[f"{owner}/{name}"] = folder / "repo"
    for repo, folder in found.items():
        print(f"{repo}={folder}")
