"""The HTML page of an episode, with the calls that showed the truth.

``observed.py`` reads the observations and finds the truth in them, ``page.py`` makes the content, ``rendering.py`` writes it;
``cases.py`` chooses instances, and sets the episodes of several arms side by side.
"""
