"""The dashboard: pages over artifacts and MLflow, as an app (``app.py``) and as static HTML (``export.py``)."""
