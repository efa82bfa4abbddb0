"""Synthesis, selection, supervised fine-tuning and GRPO."""
