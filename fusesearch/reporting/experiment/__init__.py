"""The pages of experiments: a record of the results, and its tables and figures."""
