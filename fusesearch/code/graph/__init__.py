"""The directed heterogeneous graph of a Python snapshot (LocAgent): what contains, imports, invokes and inherits what.

``facts`` reads one file, ``linking`` builds the graph from the facts of all, ``code_graph`` is the graph, ``storing`` shares and
caches it, ``index`` finds its nodes by name and by words, ``listing`` shows their code.
"""
