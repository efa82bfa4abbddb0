"""The commands of a checkout, run in this process."""

import pytest
from typer.testing import CliRunner


@pytest.fixture
def run():
    """Run ``python -m flows``; gives exit code, stdout and stderr."""
    from flows.__main__ import app

    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])
