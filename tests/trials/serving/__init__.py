"""Checkpoints behind the real vLLM."""
