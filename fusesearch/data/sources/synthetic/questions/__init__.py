"""Questions about a package with exact truth (RepoSearch-R1's task, checked without a judge).

Modules: resolve (names in the syntax), occurrences (all uses of a name), runtime (the running package), families (the six, both
routes compared), altering (literals that memory does not know), making (the questions of one package). The words of questions
are in :mod:`fusesearch.localizers.answerers.wording`.
"""
