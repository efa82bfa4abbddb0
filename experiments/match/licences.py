"""``licences.py OUT.csv REPOSITORY=FOLDER...``: what the licence file at the newest commit looks like."""

import re
import subprocess
import sys

KINDS = [("AGPL-3.0", r"AFFERO GENERAL PUBLIC"), ("LGPL", r"LESSER GENERAL PUBLIC|LIBRARY GENERAL PUBLIC"), ("GPL", r"GNU GENERAL PUBLIC LICENSE"), ("MPL-2.0", r"Mozilla Public License"),
         ("EPL", r"Eclipse Public"), ("Apache-2.0", r"Apache License"), ("BSL-1.0", r"Boost Software License"), ("MIT", r"Permission is hereby granted, free of charge|\bMIT License"),
         ("ISC", r"Permission to use, copy, modify,? and/?(?:or)? ?distribute"), ("BSD-3-Clause", r"[Nn]either the name|may not be used to endorse|names of (?:its|any) contributors|endorse or promote"),
         ("BSD-2-Clause", r"Redistributions of source code"), ("CC0", r"CC0"), ("RSAL/SSPL", r"Redis Source Available|Server Side Public")]
with open(sys.argv[1], "w") as out:
    out.write("repository,commit,file,licence\n")
    for spec in sys.argv[2:]:
        repo, _, folder = spec.partition("=")
        run = lambda *a: subprocess.run(["git", "-C", folder, *a], capture_output=True).stdout.decode("utf-8", "replace")  # noqa: E731
        names = [n for n in run("ls-tree", "--name-only", "HEAD").split("\n") if re.match(r"(?i)(licen[cs]e|copying|unlicense|redistribution)", n) and "." not in n.replace(".md", "").replace(".txt", "").replace(".rst", "")]
        text = "".join(run("show", f"HEAD:{n}")[:20000] for n in names[:3])
        found = [kind for kind, pattern in KINDS if re.search(pattern, text)]
        out.write(f"{repo},{run('rev-parse', 'HEAD').strip()[:12]},{' '.join(names)},{' '.join(found[:3]) or '?'}\n")
