"""Several right answers: what patches that resolve an issue modify, beside what the gold patch modifies."""
