"""MLflow, and nothing else: what came out of a run, with everything needed to make it again.

- :func:`stage_run`: one parent run per *reproduction*, a child per stage and per evaluated arm. Stages belong to the same
  reproduction while the git revision, uncommitted changes and params stay the same. A killed stage goes on in its own run.
- :func:`stage_run` with ``node``: a stage with other params than the main pipeline's, in the experiment ``fusesearch/nodes``.
- :func:`experiment_run` and :func:`arm_run`: MLflow's experiment ``fusesearch/<name>``, a parent with a child per arm and seed.
- :func:`grid_run` and :func:`cell_run`: a grid of evaluations, with a child per cell.
- :mod:`tasks.pipeline.tracking.registry`: versions of checkpoints, and which of them is the champion.

The store is ``sqlite:///mlflow.db`` in the project's root, MLflow's own default, unless ``MLFLOW_TRACKING_URI`` says otherwise.
What a store that went away in the middle of a run did not take is kept in ``.fusesearch/outbox`` and delivered when it is back
(:mod:`tasks.pipeline.tracking.outbox`). Every write can be made twice without a second effect.

Importing MLflow takes seconds: it happens inside functions.
"""

from tasks.pipeline.tracking.experiments import arm_run, experiment_run, mark_current
from tasks.pipeline.tracking.grids import cell_run, grid_run, log_cell
from tasks.pipeline.tracking.run import EXPERIMENT, Run
from tasks.pipeline.tracking.stages import REPRODUCTION, stage_run
from tasks.pipeline.tracking.store import tracking_uri
from tasks.reporting.names import METRICS, summary

__all__ = [
    "EXPERIMENT",
    "METRICS",
    "REPRODUCTION",
    "Run",
    "arm_run",
    "cell_run",
    "experiment_run",
    "grid_run",
    "log_cell",
    "mark_current",
    "stage_run",
    "summary",
    "tracking_uri",
]
