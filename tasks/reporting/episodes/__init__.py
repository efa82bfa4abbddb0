"""An episode as people read it: what its calls showed of the truth, and one HTML page of it.

``observed.py`` says what the observations showed, ``hits.py`` what of that is truth, ``explain.py`` which call showed an answered
location; ``page.py`` and ``folding.py`` say what is on the page, ``rendering.py`` how it is written.
"""
