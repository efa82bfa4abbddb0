"""Library of fusesearch: everything a stage, the command line or a notebook calls."""
