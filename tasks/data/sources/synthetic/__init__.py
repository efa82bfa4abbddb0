"""The default source: faults planted in installed packages and kept where a doctest observes them.

:class:`Synthetic` makes repositories and instances; the modules follow its steps: packages, corpus, doctests, tracing,
recording, mutations, patching, sandbox, search, symptoms, issues, git_writer, worker (one repository), mining (all of them).
"""

from tasks.data.sources.synthetic.mining import Synthetic

__all__ = ["Synthetic"]
