"""The Typer application: its commands, and the one place that turns errors into a line on stderr and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fusesearch.cli import (
    ask,
    compare,
    context,
    doctor,
    evaluate,
    exports,
    imports,
    install,
    judge,
    localize,
    localizers,
    mcp,
    score,
    tool,
    truth,
    view,
)
from fusesearch.cli.extras import NEEDS, missing, what_to_install
from fusesearch.core.errors import FusesearchError
from fusesearch.core.installation import DISTRIBUTION, installed

EPILOG = """
**Exit codes:** 0 done · 1 failure, explained in one line on stderr · 2 wrong usage ·
3 `localize`, `context` or `ask` found no answer · 130 interrupted.
"""


@contextmanager
def errors_on_one_line() -> Iterator[None]:
    """Errors meant for people and failed writes become a line on stderr and exit code 1, Ctrl-C 130."""
    try:
        yield
    except FusesearchError as error:
        typer.echo(f"fusesearch: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(1) from None
    except ModuleNotFoundError as error:
        if (line := what_to_install(error, sys.argv[1:])) is None:
            raise
        typer.echo(f"fusesearch: {line}", err=True)
        raise typer.Exit(1) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        typer.echo(f"fusesearch: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("fusesearch: interrupted", err=True)
        raise typer.Exit(130) from None


class OneLineCommand(TyperCommand):
    """The only command of a program, with :func:`errors_on_one_line`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with errors_on_one_line():
            return super().invoke(ctx)


class OneLineGroup(TyperGroup):
    """The commands of a program, with :func:`errors_on_one_line`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        with errors_on_one_line():
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List commands that need an extra which is not installed last, in a panel that names the extra."""
        absent = {name: extra for name in self.commands if (extra := NEEDS.get(name)) and missing(extra)}
        for name, extra in absent.items():
            self.commands[name].rich_help_panel = f"Needs the extra {extra}, which is not installed"  # type: ignore[attr-defined]
        self.commands = dict(sorted(self.commands.items(), key=lambda item: item[0] in absent))
        super().format_help(ctx, formatter)


def command_group(about: str | None = None, epilog: str | None = None) -> typer.Typer:
    """An application whose errors are one line, and whose help reads Markdown."""
    return typer.Typer(
        cls=OneLineGroup,
        help=about,
        epilog=epilog,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


app = command_group(epilog=EPILOG)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fusesearch {installed(DISTRIBUTION) or 'is not installed'}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the files and functions an issue is about.

    ```
    fusesearch localize --repo . --issue issue.md
    ```
    """


app.command("localize", rich_help_panel="Use")(localize.localize)
app.command("context", rich_help_panel="Use")(context.context)
app.command("ask", rich_help_panel="Use")(ask.ask)
app.command("localizers", rich_help_panel="Use")(localizers.localizers)
app.command("view", rich_help_panel="Use")(view.view)
app.command("mcp", rich_help_panel="Use")(mcp.mcp)
app.command("tool", rich_help_panel="Use")(tool.tool)
app.command("truth", rich_help_panel="Measure")(truth.truth)
app.command("score", rich_help_panel="Measure")(score.score)
app.command("evaluate", rich_help_panel="Measure")(evaluate.evaluate)
app.command("compare", rich_help_panel="Measure")(compare.compare)
app.command("judge", rich_help_panel="Measure")(judge.judge)
app.command("import-predictions", rich_help_panel="Measure")(imports.import_predictions)
app.command("export-predictions", rich_help_panel="Measure")(exports.export_predictions)
app.command("install", rich_help_panel="Set up")(install.install)
app.command("doctor", rich_help_panel="Set up")(doctor.doctor)


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="fusesearch")
