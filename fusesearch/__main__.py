"""``python -m fusesearch``: the command line where the console script is not installed."""

from fusesearch.cli import main

if __name__ == "__main__":
    main()
