"""What each stage does: reads what earlier stages made, calls the library, writes its outputs, returns its metrics.

Stages never import each other: they meet in artifacts (:mod:`tasks.pipeline.places`).
"""
