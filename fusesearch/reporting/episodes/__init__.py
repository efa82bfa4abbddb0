"""The HTML page of an episode, with the calls that showed the truth.

``observed.py`` reads the observations and finds the truth in them, ``explain.py`` the calls that showed an answered
location; ``page.py`` and ``folding.py`` make the content of the page, ``rendering.py`` writes it.
"""
