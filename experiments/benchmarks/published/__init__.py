"""Released predictions of other systems under their own rules, beside their published figures, and under ours."""
