"""MLflow as a projection: every record (:mod:`tasks.running.record`) becomes a run, filled from the artifacts it names.

- :func:`track` makes or completes the run of a record. Doing it twice changes nothing. If the store is down, it
  logs one warning, and `python -m flows track` records the run later.
- :class:`Live` shows a run and its curves while a stage runs, if the store answers.

| record | MLflow's experiment | run |
|---|---|---|
| reproduction, stage | ``fusesearch`` | a parent per reproduction, a child per stage and per evaluated arm |
| node | ``fusesearch/nodes`` | a stage with other params than the main pipeline's |
| experiment, arm | ``fusesearch/<name>`` | a parent per experiment and profile, a child per arm and seed |

The store is ``sqlite:///mlflow.db`` in the project's root unless ``MLFLOW_TRACKING_URI`` names another. MLflow takes seconds to
import, so it is imported inside functions.
"""

from tasks.tracking.live import Live
from tasks.tracking.projection import EXPERIMENT, Projection, track
from tasks.tracking.store import tracking_uri

__all__ = ["EXPERIMENT", "Live", "Projection", "track", "tracking_uri"]
