"""The pages of experiments: their results as one record, and tables and figures made of it."""
