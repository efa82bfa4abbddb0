"""``folds.py``: three folds of whole owners over the real issues (as ``parts_of``, count=3) -> payload2/folds.npz."""
import pickle
from collections import Counter, defaultdict
from pathlib import Path
import numpy as np
import sys
from base import load
here = Path(__file__).parent
ids = [str(i) for i in load(here / "payload/data.npz.xz")["issue_ids"]]
of = pickle.load(open(here / "repo_of.pkl", "rb"))
repos = [of[i] for i in ids]
size = Counter(r.split("/")[0].lower() for r in repos)
filled, part = [0] * 3, {}
for owner, n in sorted(size.items(), key=lambda x: (-x[1], x[0])):
    part[owner] = filled.index(min(filled))
    filled[part[owner]] += n
fold = np.array([part[r.split("/")[0].lower()] for r in repos], np.uint8)
np.savez_compressed(here / "payload2/folds.npz", issue_ids=np.array(ids), fold=fold, repo=np.array(repos))
print(filled, {f: [o for o in part if part[o] == f][:6] for f in range(3)})
