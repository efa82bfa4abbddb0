"""HTML pages of the command line: what is on them (``episode.py``, ``folding.py``) and how it is written (``rendering.py``)."""
