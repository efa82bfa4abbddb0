"""The source ``github``: issues and the merged pull requests that closed them.

Modules in the order of the work: accounts, client (with failures), queries, selection, crawling (one repository), parsing,
pairing, source (everything together).
"""

from fusesearch.data.sources.github.source import GitHub

__all__ = ["GitHub"]
