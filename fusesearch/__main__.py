"""``python -P -m fusesearch``: the command line without its script. Without ``-P``, modules of the working folder come first."""

from fusesearch.cli import main

if __name__ == "__main__":
    main()
