"""One folder per table or question; see experiments/README.md."""
