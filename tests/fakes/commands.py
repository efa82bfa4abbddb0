"""The whole command line, with every command's module imported, and how its commands fail."""

from fusesearch.cli.app import application

app = application()


def failed(result) -> str:
    """The error of a failed command: exactly one line that begins with the program's name."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("fusesearch: ")
    return line
