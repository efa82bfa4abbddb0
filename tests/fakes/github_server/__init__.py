"""The GitHub that tests talk to: REST and GraphQL over HTTP on this machine, before real git repositories that it makes.

``world`` says what there is, ``history`` writes it as git, ``schema`` answers GraphQL (validated against a schema in GitHub's
words, priced by its formula), ``faults`` spoils answers, ``server`` is the server.
"""
