"""One module per stage: reads the artifacts of earlier stages, calls the library, writes its own; returns its figures.

Each is called by the flow of its name and takes params, a scratch folder that outlives a killed run, and a callback for
progress. Stages never import each other: they meet in artifacts (:mod:`tasks.pipeline.layout`).
"""
