"""Pages over a project's artifacts: an app (``app.py``) and static HTML (``export.py``) that draw the same parts."""
