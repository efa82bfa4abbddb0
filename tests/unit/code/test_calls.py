"""The call graph of modules: which names are followed, through what, and that hostile modules give no endless way."""

import pytest

from fusesearch.code.calls import CallGraph
from fusesearch.code.modules import Outlines
from fusesearch.localizers.cosil.tools import structure_list
from fusesearch.search.repository import Repository
from tests.fakes.git import write

FILES = {
    "src/pkg/__init__.py": "from .core import Engine\nfrom .tools import *\n",
    "src/pkg/core.py": """\
from pkg import tools
from pkg.base import Base
import pkg.deep.inner as inner
import pkg.deep.inner
from .tools import helper as aid


class Engine(Base):
    def __init__(self): super().__init__()
    def run(self):
        self.start(), self.stop(), aid(), tools.helper(), inner.dig(), pkg.deep.inner.dig(), Plain(), Engine()
        self.missing(), other.thing(), len([])
    def stop(self): return Base.stop(self)


class Plain: pass
""",
    "src/pkg/base.py": "class Base:\n  def __init__(self): pass\n  def start(self): self.stop()\n  def stop(self): pass\n",
    "src/pkg/tools.py": "def helper():\n    return _hidden()\n\ndef _hidden():\n    return helper()\n",
    "src/pkg/deep/__init__.py": "",
    "src/pkg/deep/inner.py": """\
from ..core import Plain
from ... import nowhere
def dig():
    from .. import helper
    return helper(), Plain()
""",
    "use.py": "import pkg\nfrom pkg import Engine, helper as h\ndef main():\n    pkg.Engine()\n    Engine()\n    h()\n",
}


@pytest.fixture
def outlines(tmp_path):
    return made(tmp_path, FILES)


def made(folder, files):
    return Outlines(Repository(write(folder, files)))


def test_calls_are_followed_to_their_functions(outlines):
    graph = CallGraph(outlines)
    assert graph.callees("src/pkg/core.py::Engine.run") == [
        "src/pkg/base.py::Base.start", "src/pkg/core.py::Engine.stop", "src/pkg/tools.py::helper", "src/pkg/deep/inner.py::dig",
        "src/pkg/core.py::Plain", "src/pkg/core.py::Engine.__init__",
    ]  # fmt: skip
    assert graph.callees("src/pkg/core.py::Engine.__init__") == ["src/pkg/base.py::Base.__init__"]
    assert graph.callees("src/pkg/core.py::Engine.stop") == ["src/pkg/base.py::Base.stop"]
    # through packages that pass names on
    assert graph.callees("use.py::main") == ["src/pkg/core.py::Engine.__init__", "src/pkg/tools.py::helper"]
    assert graph.callees("src/pkg/deep/inner.py::dig") == ["src/pkg/tools.py::helper", "src/pkg/core.py::Plain"]


def test_a_folder_without_init_belongs_to_the_package_above_it(tmp_path):
    files = {
        "src/pkg/__init__.py": "",
        "src/pkg/bare/base.py": "class App:\n    def find(self):\n        pass\n",
        "src/pkg/app.py": "from .bare.base import App\nclass Flask(App):\n    def run(self):\n        self.find()\n",
    }
    outlines = made(tmp_path, files)
    assert outlines.dotted("src/pkg/bare/base.py") == "pkg.bare.base"
    assert outlines.dotted("src/pkg/__init__.py") == "pkg"
    assert outlines.dotted("setup.py") == "setup"
    assert CallGraph(outlines).callees("src/pkg/app.py::Flask.run") == ["src/pkg/bare/base.py::App.find"]


def test_callers_are_known_of_opened_modules_alone(outlines):
    graph = CallGraph(outlines)
    graph.open("src/pkg/tools.py")
    assert graph.callers("src/pkg/tools.py::helper") == ["src/pkg/tools.py::_hidden"]
    graph.open("use.py")
    assert graph.callers("src/pkg/tools.py::helper") == ["src/pkg/tools.py::_hidden", "use.py::main"]
    assert graph.opened == {"src/pkg/tools.py", "use.py"}
    assert graph.callees("no.py::f") == graph.callers("no.py::f") == graph.callees("use.py::g") == []  # there is no such entity


def test_lists_of_structure_name_every_function_once_and_are_cut_to_their_room(outlines, tmp_path):
    shown = structure_list(outlines, ["src/pkg/core.py", "src/pkg/tools.py"], 4000)
    assert shown.startswith(
        "file: src/pkg/core.py\n  classes: Engine, Plain\n  functions outside of classes: none\n"
        "  methods of Engine: __init__, run, stop\n  methods of Plain: none\n"
    )
    assert "file: src/pkg/tools.py\n  classes: none\n  functions outside of classes: helper, _hidden" in shown

    many = made(tmp_path / "many", {"a.py": "\n".join(f"class Class{i}:\n    def method(self): pass" for i in range(200))})
    shown = structure_list(many, ["a.py"], 2500)
    assert len(shown) < 2600
    assert shown.endswith("more lines of this file are not shown)")


def test_modules_that_import_one_another_in_circles_come_to_an_end(tmp_path):
    stars = {
        f"m{i}.py": "\n".join(f"from m{j} import *" for j in range(12)) + "\ndef f():\n    nothing_of_that_name()\n"
        for i in range(12)
    }
    circle = {"a.py": "from b import A\nclass A(A):\n  def f(self): self.g()\n", "b.py": "from a import A\nclass B(A, B): pass\n"}
    graph = CallGraph(made(tmp_path, {**stars, **circle}))
    assert graph.callees("m0.py::f") == graph.callees("a.py::A.f") == []
