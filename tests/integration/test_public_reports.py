"""Kinds of inputs that users of other localizers reported, from the files to the answer of the localizer that needs no model."""

import asyncio

import pytest

from fusesearch import localize
from fusesearch.search.repository import Repository
from fusesearch.search.tools import Toolbox
from tests.fakes.git import git, write

BODY = "        {\n            var order = Load();\n            order.Reset();\n        }\n\n"
DOTNET = {
    f"src/Acme.Shop/{folder}/{holder}.cs": (
        f"namespace Acme.Shop.{folder}\n{{\n    public class {holder}\n    {{\n"
        + "".join(f"        public void {name}()\n{BODY}" for name in names)
        + "    }\n}\n"
    )
    for folder, holder, names in [
        ("Api", "Runner", ["Run", "Crash", "Exception"]), ("Orders", "Ledger", ["Settle", "Load"]),
        ("Carts", "CrashReport", ["Object", "Reference"]), ("Carts", "Cart", ["Empty", "Load"]),
    ]
}  # fmt: skip
CRASH = (
    "Crash after the update\n\nSince the update it crashes every time with an exception, object reference not set:\n\n"
    "   at Acme.Shop.Orders.Ledger.Settle() in {0}Orders{1}Ledger.cs:line 7\n"
    "   at Acme.Shop.Api.Runner.Run() in {0}Api{1}Runner.cs:line 7\n"
)
NEXT = {
    "app/[slug]/page.tsx": "export default function Page() { return renderSlugPrice(1) }\n",
    "app/(shop)/cart.tsx": "export function Cart() { return 2 }\n",
    "app/s.tsx": "export function s() { return renderSlugPrice(2) }\n",
}
IGNORED = {
    ".gitignore": "build/\n",
    "build/wheel_maker.py": "def pack_wheel(files):\n    return sorted(files)[1:]\n",
    "src/other.py": "def unrelated(x):\n    return x + 1\n",
}
NODE = {"src/loader.js": "export class Object {\n  load() { return this.x(); }\n}\n", "src/x.js": "export function other() {}\n"}


@pytest.mark.parametrize(
    ("files", "issue", "place"),
    [
        (DOTNET, CRASH.format("/_/src/Acme.Shop/", "/"), "src/Acme.Shop/Orders/Ledger.cs::Ledger.Settle"),
        (DOTNET, CRASH.format("C:\\build\\src\\Acme.Shop\\", "\\"), "src/Acme.Shop/Orders/Ledger.cs::Ledger.Settle"),
        (
            NODE,
            "It throws\n\nTypeError: x is not a function\n    at Object.load (C:\\work\\app\\src\\loader.js:2:7)\n",
            "src/loader.js::Object.load",
        ),
        (NEXT, "wrong price in app/(shop)/cart.tsx", "app/(shop)/cart.tsx"),
        (IGNORED, "pack_wheel drops the first file", "build/wheel_maker.py::pack_wheel"),
    ],
    ids=["dotnet", "dotnet on windows", "node on windows", "brackets", "ignored"],
)
def test_the_place_that_is_meant_comes_first(tmp_path, files, issue, place):
    write(tmp_path, files)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", ".")
    path, _, function = place.partition("::")
    answer = localize(tmp_path, issue)
    assert answer.files[:1] == [path]
    assert answer.functions[: bool(function)] == [place] * bool(function)
    found = asyncio.run(Toolbox(Repository(tmp_path)).call("glob", {"pattern": path}))
    assert found.output.splitlines()[:1] == [f"/repo/{path}"]
