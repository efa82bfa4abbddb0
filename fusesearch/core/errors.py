"""Every error a user can meet, in one tree.

::

    FusesearchError              one clear line; the command line prints it and exits with code 1
    ├── ConfigError              params.yaml or a command-line value is unknown or malformed
    │   └── OptionError          an option of `localize` is wrong, or does not go with another
    ├── DataError                an artifact, dataset row or patch cannot be used as it is
    │   └── ArtifactError        a file of an earlier stage is missing or corrupt
    ├── RepositoryError          a repository or snapshot cannot be read
    │   └── OutsideRootError     a path would leave the snapshot
    ├── ToolError                a tool call failed; the message is what the model sees
    ├── AlreadyRunning           another process is doing the same work
    ├── EndpointDown             an endpoint failed too often in a row: the work ends
    └── InfrastructureError      the world failed, not the model: the score is absent, never zero
        ├── ModelUnavailable     endpoint down, refused or out of retries
        └── TrackingUnavailable  the MLflow or Prefect server does not answer
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

AGAIN = "run the same command again to go on from here"
"""The end of messages about failures that another try may fix."""


class FusesearchError(Exception):
    """Base of all errors raised on purpose. ``str(error)`` is one line that says what to do."""


class ConfigError(FusesearchError):
    """Params or options are unknown or malformed."""


class OptionError(ConfigError):
    """``option`` is wrong, or does not go with another."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option, self.message = option, message


class DataError(FusesearchError):
    """A row, patch or artifact cannot be used."""


class ArtifactError(DataError):
    """A file another stage should have written is missing or corrupt."""


class RepositoryError(FusesearchError):
    """A repository or snapshot cannot be read."""


class OutsideRootError(RepositoryError):
    """A path would lead out of the snapshot's root."""


class ToolError(FusesearchError):
    """A tool call failed. The message is an observation: what was wrong, and what would be right."""


class AlreadyRunning(FusesearchError):
    """Another process is already doing the same work."""


class EndpointDown(FusesearchError):
    """An endpoint failed too often in a row, so the work ends. Earlier results are kept."""


class InfrastructureError(FusesearchError):
    """Something outside the model's control failed; the affected score is absent."""


class ModelUnavailable(InfrastructureError):
    """The model endpoint is down, refuses, or ran out of retries."""


class TrackingUnavailable(InfrastructureError):
    """The MLflow store or the Prefect server does not answer."""


def one_line(error: BaseException) -> str:
    """Kind and message of an error that was not raised on purpose, as one line of limited length."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def first_fault(error: ValidationError) -> str:
    """Where the first fault of a value is, and what is wrong there: ``cells.0.name: Field required``."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part)[:100] for part in fault["loc"][:6])
    return f"{place + ': ' if place else ''}{fault['msg'].removeprefix('Value error, ')}"
