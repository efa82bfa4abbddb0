"""The command line ``fusesearch``: one file per command, heavy imports inside the functions that need them."""

from fusesearch.cli.app import app, main

__all__ = ["app", "main"]
