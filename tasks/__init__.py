"""The pipeline above the library: stages, places, resume, experiments, tracking."""
