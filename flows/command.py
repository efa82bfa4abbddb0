"""A flow as a command: against the local Prefect server, one clear line and exit code 1 when it fails."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import NoReturn

import httpx
from prefect.exceptions import PrefectHTTPStatusError
from prefect.logging.configuration import setup_logging

from flows.server import prefect_server
from fusesearch.core.config import load_params
from fusesearch.core.errors import AGAIN, FusesearchError
from fusesearch.evaluation.names import check_names
from tasks.running.process import end_with_starter


def run_prepared(prepare: Callable[[], Callable[[], object]], is_done: Callable[[], bool] = lambda: False) -> NoReturn:
    """Run the flow that ``prepare`` returns and exit; what ``prepare`` refuses is reported before any server is started.

    If ``is_done()`` is true, losing the Prefect server is only a warning.
    """
    one_line_errors()
    end_with_starter()
    try:
        check_names(load_params(), "params.yaml")
        flow = prepare()
        with prefect_server():
            flow()
    except FusesearchError as error:
        _fail(str(error))
    except (httpx.TransportError, PrefectHTTPStatusError, RuntimeError) as error:
        lost = _lost_server(error)
        if lost is None:
            raise
        if not is_done():
            _fail(lost)
        print(f"warning: {lost.partition(': ')[0]}; everything is made, only Prefect's pages do not show it", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"interrupted: {AGAIN}", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


def _fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)


def _lost_server(error: Exception) -> str | None:
    """One line for an error that the Prefect server, or its absence, caused; None for any other."""
    cause = error.__cause__ if isinstance(error, RuntimeError) else error  # Prefect 3.7, where it asks for the server's version
    if isinstance(cause, httpx.TransportError):
        return f"the Prefect server no longer answers ({type(cause).__name__}): {AGAIN}"
    if isinstance(cause, PrefectHTTPStatusError):
        status = cause.response.status_code
        return f"the Prefect server answered {status} to {cause.request.url.path}: {AGAIN if status >= 500 else 'see its log'}"
    return None


def one_line_errors() -> None:
    """Keep Prefect's tracebacks of errors raised on purpose off the terminal; its server still gets all of it."""
    setup_logging()
    for handler in logging.getLogger().handlers:
        handler.addFilter(_unless_expected)


def _unless_expected(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, FusesearchError) and "Finished in state Failed" not in record.getMessage()
