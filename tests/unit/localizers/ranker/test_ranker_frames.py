"""Stack traces as languages and tools print them."""

import pytest

from fusesearch.localizers.ranker.frames import all_frames


@pytest.mark.parametrize(
    ("trace", "innermost"),
    [
        ("    at Object.load (C:\\work\\app\\src\\loader.js:12:7)", ("C:/work/app/src/loader.js", 12, "Object.load")),
        ("    at load (/home/a b/app/loader.ts:12:7)", ("/home/a b/app/loader.ts", 12, "load")),
        ("    at async load (file:///home/app/loader.mjs:12:7)", ("/home/app/loader.mjs", 12, "load")),
        ("    at file:///home/app/loader.mjs:12:7", ("/home/app/loader.mjs", 12, None)),
        ("    at webpack:///./src/App.vue:12:7", ("./src/App.vue", 12, None)),
        ("    at new Store (/app/store.js:3:1)", ("/app/store.js", 3, "Store")),
        ("lib/a.rb:3:in `block (2 levels) in run'", ("lib/a.rb", 3, "run")),
        ("lib/a.rb:3:in `rescue in block in run'", ("lib/a.rb", 3, "run")),
        ("/app/lib/a.rb:3:in 'Store::Disk#paid?'", ("/app/lib/a.rb", 3, "Store::Disk#paid?")),
        ("bin/tool.rb:1:in `<top (required)>'", ("bin/tool.rb", 1, "<top (required)>")),
        ("\tat app//org.pkg.Raw.write(Raw.java:7)", ("org/pkg/Raw.java", 7, "org.pkg.Raw.write")),
        ("\tat com.acme@1.2/org.pkg.Raw$Inner.write(Raw.java:7)", ("org/pkg/Raw.java", 7, "org.pkg.Raw.Inner.write")),
        ("\tat org.pkg.Raw.lambda$save$0(Raw.java:7)", ("org/pkg/Raw.java", 7, "org.pkg.Raw.save")),
        ("\tat ammonite.$file.build$.deps(build.sc:7)", ("build.sc", 7, "ammonite..file.build..deps")),
        ("main.Map[...](0x1)\n\t/app/raw.go:7 +0x1d", ("/app/raw.go", 7, "main.Map")),
        ("pkg.(*Store).Put.func1(0x1)\n\t/app/raw.go:7 +0x1d", ("/app/raw.go", 7, "pkg.(*Store).Put")),
        ("created by pkg.(*Server).Run in goroutine 1\n\t/app/server.go:9 +0x2", ("/app/server.go", 9, "pkg.(*Server).Run")),
        ("   3: <p::Raw as p::Write>::write\n      at ./src\\raw.rs:7:5", ("./src/raw.rs", 7, "<p::Raw as p::Write>::write")),
        ("   3: p::raw::write::{{closure}}::h0123456789abcdef\n      at src/raw.rs:7", ("src/raw.rs", 7, "p::raw::write")),
        ("thread 'main' panicked at 'no entry', src/raw.rs:7:5", ("src/raw.rs", 7, None)),
        ("#0 /app/src/Raw.php(7): Acme\\Raw->write()\n#1 {main}", ("/app/src/Raw.php", 7, "Acme\\Raw->write")),
        (" Util\\Git->sync() at phar:///c.phar/src/Util/Git.php:153", ("/c.phar/src/Util/Git.php", 153, "Util\\Git->sync")),
        ("  at ~/venv/site-packages/poetry/app.py:12 in run", ("~/venv/site-packages/poetry/app.py", 12, "run")),
        ("│ /srv/app/store.py:12 in write                   │", ("/srv/app/store.py", 12, "write")),
        (
            "   at Acme.Shop.Orders.Ledger.Settle() in C:\\build\\src\\Acme.Shop\\Ledger.cs:line 7",
            ("C:/build/src/Acme.Shop/Ledger.cs", 7, "Acme.Shop.Orders.Ledger.Settle"),
        ),
        ("   at A.Ledger.<SetAsync>d__5.MoveNext() in /_/src/A/Ledger.cs:line 7", ("/_/src/A/Ledger.cs", 7, "A.Ledger.SetAsync")),
        ("    #0 0x4f2b1c in put /src/p/store.c:3:12", ("/src/p/store.c", 3, "put")),
        ("#1  0x00007f in ring::put (key=1) at ../src/store.cc:12", ("../src/store.cc", 12, "ring::put")),
        ("/go/w/web@v1.7.2/tree.go:862 (0x7a3)\n\t(*node).find: n.kids[i]", ("/go/w/web@v1.7.2/tree.go", 862, "(*node).find")),
        ("/app/main.go:8 (0x7a3)\n", ("/app/main.go", 8, None)),
        ("\tsrc/store.lua:12: in function 'Store.put'", ("src/store.lua", 12, "Store.put")),
        ("0 [ra] 0x00000001043 put(_:at:) + 40 in Store at /app/Store.swift:12:3", ("/app/Store.swift", 12, "put")),
        ("put@http://localhost:80/src/store.js?v=1:12:5", ("/src/store.js", 12, "put")),
        ("/usr/bin/redis-server *:6379(bigkeysCommand+0x27d)[0x4f]", ("", 0, "bigkeysCommand")),
    ],
)  # fmt: skip
def test_a_frame_is_read(trace, innermost):
    frame = all_frames(f"Crash\n\n{trace}\n")[-1]
    assert (frame.path, frame.line, frame.name) == innermost


TRACES = [
    "#0 0x1 in put /p/store.c:3:1\n#1 0x2 in save /p/disk.c:4:1\n#2 0x3 in main /p/main.c:5:1",
    "   at A.Put() in /_/a/store.cs:line 3\n   at A.Save() in /_/a/disk.cs:line 4\n   at A.Main() in /_/a/main.cs:line 5",
    "1  a/main.py:5 in main\n2  a/disk.py:4 in save\n3  a/store.py:3 in put",
    "\tat org.Raw.put(Raw.java:3)\n\tat org.Disk.save(Disk.java:4)\n\tat org.Main.main(Main.java:5)",
    "main.put(0x1)\n\t/app/raw.go:3 +0x1d\nmain.save(...)\n\t/app/disk.go:4 +0x2\nmain.main()\n\t/app/main.go:5 +0x2",
    " 1: p::put\n    at src/raw.rs:3\n 2: p::save\n    at src/disk.rs:4\n 3: p::main\n    at src/main.rs:5",
    "raw.rb:3:in `put'\ndisk.rb:4:in `save'\nmain.rb:5:in `main'\n",
    "#0 /app/Raw.php(3): Raw->put()\n#1 /app/Disk.php(4): Disk->save()\n#2 /app/Main.php(5): Main->main()",
    "/a/store.go:3 (0x1)\n\tput: x\n/a/disk.go:4 (0x2)\n\t(*Disk).save: y\n/a/main.go:5 (0x3)\n\tmain: z\n",
    "a/store.lua:3: in function 'put'\na/disk.lua:4: in local 'save'\na/main.lua:5: in main chunk\n".replace(
        "main chunk", "<main>"
    ),
    "    at put (/p/store.js:3:1)\n    at save (/p/disk.js:4:1)\n    at main (/p/main.js:5:1)",
]
HANDLERS = [
    "/usr/bin/redis-server(logStackTrace+0x2d)[0x1]\n/usr/bin/redis-server(sigsegvHandler+0x1d)[0x2]",
    "#0 0x1 in raise /b/raise.c:50:1\n#1 0x2 in abort /b/abort.c:79:1\n#2 0x3 in __assert_fail /b/assert.c:1:1",
    "\tat java.base/java.util.ArrayList.get(ArrayList.java:427)",
]


def test_the_innermost_frame_is_the_last_and_what_a_crash_runs_through_afterwards_is_none():
    assert [trace for trace in TRACES if [frame.line for frame in all_frames(trace)] != [5, 4, 3]] == []
    for handler in HANDLERS:
        assert [frame.name for frame in all_frames(f"{handler}\n./server(put+0x27d)[0x4f]\n")][-1] == "put"
        assert "abort" not in [frame.name for frame in all_frames(handler)]
