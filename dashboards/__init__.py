"""Pages over a project's artifacts, in an app (``app.py``)."""
