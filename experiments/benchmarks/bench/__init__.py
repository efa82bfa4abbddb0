"""Measures what this project promises about speed and safety: ``python -m experiments.benchmarks.bench``.

One module per subject, with ``measure(quick, say)``, which returns the rows of its table. A new subject is a module here and
its name in ``SUBJECTS`` of ``__main__``.
"""
