"""``python -m tasks.pipeline.tracking``: deliver what earlier runs could not say to the tracking store while it was away."""

from __future__ import annotations

import sys

from tasks.core.errors import FusesearchError
from tasks.pipeline.tracking.outbox import deliver_left, waiting
from tasks.pipeline.tracking.store import answers, ask, make_client, shown, tracking_uri


def main() -> None:
    """Deliver, and say how much was delivered and how much waits."""
    uri = tracking_uri()
    if not answers(uri):
        sys.exit(f"error: the MLflow server at {shown(uri)} does not answer: start it, then run this again")
    ask(make_client(uri), uri)
    print(f"{deliver_left(uri)} writes delivered to {shown(uri)}, {waiting()} still wait")


if __name__ == "__main__":
    try:
        main()
    except FusesearchError as error:
        sys.exit(f"error: {error}")
