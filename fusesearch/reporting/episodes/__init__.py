"""The HTML page of an episode, with the calls that showed the truth.

``observed.py`` reads the observations and finds the truth in them, ``page.py`` makes the content, ``rendering.py`` writes it.
"""
