"""``python -m tasks.cli``: the command line where the console script is not installed."""

from tasks.cli import main

main()
