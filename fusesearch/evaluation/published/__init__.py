"""Released predictions of other systems, read from their published files and converted to this project's terms.

``formats`` (with ``orcaloca``) reads rows into :class:`~fusesearch.evaluation.published.claims.Published`;
:mod:`fusesearch.code.names` resolves their names in a snapshot; ``importing`` does both and counts what was not found.
``patches`` reads patches, which name what they modify.
"""
