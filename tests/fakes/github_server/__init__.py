"""The tests' GitHub: REST and GraphQL over HTTP on this machine, with real git repositories.

``world`` has the contents, ``history`` writes them as git, ``schema`` answers GraphQL (validated against a schema in GitHub's
words, priced by its formula), ``faults`` spoils answers, ``server`` serves.
"""
