"""What this project promises about speed and safety, measured: ``python -m experiments.benchmarks.bench``.

One module per subject. Each has ``measure(quick, say)``, which returns the rows of its table; a new subject is a module
here and its name in ``SUBJECTS`` of ``__main__``.
"""
