"""``python -m experiments.downstream``: a main agent repairs issues, alone or with a localizer."""

from experiments.downstream.command import downstream
from fusesearch.cli.app import OneLineCommand, command_group

app = command_group()
app.command(cls=OneLineCommand)(downstream)

if __name__ == "__main__":
    app(prog_name="python -m experiments.downstream")
