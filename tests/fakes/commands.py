"""The whole command line, with every command's module imported."""

from fusesearch.cli.app import application

app = application()
