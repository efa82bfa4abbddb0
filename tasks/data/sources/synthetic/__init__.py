"""The default source: faults planted in installed packages and kept where a doctest observes them.

:func:`mine` makes repositories and instances; the modules follow its steps: packages, doctests, tracing, mutations,
patching, sandbox, issues, git_writer, worker (one repository), mining (all of them).
"""

from tasks.data.sources.synthetic.mining import Mined, mine

__all__ = ["Mined", "mine"]
