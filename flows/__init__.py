"""Prefect flows: one short file per stage, ``pipeline.py`` for all of them; what they do lives in ``tasks``.

Set before any library is imported, unless the environment says otherwise: usage statistics are off; Prefect never starts a
temporary server of its own, because :mod:`flows.server` keeps one for all stages; and a server that was there and is gone is
waited for (eight minutes with Prefect's doubling pauses), so that a stage outlives a restart of its server.
"""

import os

from fusesearch.core.cores import one_openmp_thread

os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("PREFECT_SERVER_ALLOW_EPHEMERAL_MODE", "false")
os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", "8")
one_openmp_thread()  # before any stage imports torch
