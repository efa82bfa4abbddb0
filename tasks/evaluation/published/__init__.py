"""Released predictions of other systems, read from the files they publish and put into this project's terms.

One file for each format (``agentless``, ``cosil``, ``locagent``, ``orcaloca``, ``codescout``) reads rows into
:class:`~tasks.evaluation.published.claims.Published`; ``matching`` finds what their names mean in a snapshot; ``importing`` does
both and counts what could not be found; ``rules`` scores by the systems' own rules, for comparison.
"""
