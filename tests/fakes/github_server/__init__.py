"""The tests' GitHub: REST and GraphQL over HTTP on this machine, with real git repositories.

``world`` has the contents in the words of GitHub's GraphQL, ``history`` writes them as git, ``schema.graphql`` is the supported
part of GitHub's schema, ``server`` answers, prices queries by GitHub's formula, and fails where it is told to.
"""
