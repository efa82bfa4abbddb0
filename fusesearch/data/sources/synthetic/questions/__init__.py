"""Questions about a package with exact truth (RepoSearch-R1's task, checked without a judge).

Modules: resolve (names in the syntax), runtime (a module with other literals), families, making (the questions of
one package, with literals that memory does not know). Their words are in :mod:`fusesearch.agents.questions`.
"""
