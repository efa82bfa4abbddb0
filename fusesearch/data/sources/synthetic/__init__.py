"""The default source: plants faults in installed packages and keeps those that a doctest observes.

:class:`Synthetic` makes repositories and instances. The modules follow its steps: packages, corpus, doctests, recording,
edits, mutations, sandbox, search, issues, git_writer, worker (one repository) and mining (all of them).
"""

from fusesearch.data.sources.synthetic.mining import Synthetic

__all__ = ["Synthetic"]
