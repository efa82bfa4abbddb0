"""Questions about a package with exact truth (RepoSearch-R1's task, checked without a judge).

Modules: resolve (names in the syntax), runtime (the running package), families (both routes compared), making (the questions of
one package, with literals that memory does not know). Their words are in :mod:`fusesearch.agents.questions`.
"""
