"""Synthesis, selection, supervised fine-tuning and GRPO; :mod:`~fusesearch.training.nano` is what only a CPU needs."""
