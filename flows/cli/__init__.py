"""Commands that need a checkout: ``python -m flows``, one file per command."""
