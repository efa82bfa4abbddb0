"""Prefect flows: one short file per stage, ``pipeline.py`` for all of them; what they do lives in ``tasks``.

Usage statistics of the libraries are off unless the environment says otherwise; set before any of them is imported.
"""

import os

os.environ.setdefault("DO_NOT_TRACK", "true")
