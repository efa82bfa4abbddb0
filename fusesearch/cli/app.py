"""The Typer application: its commands, and the one place that turns errors into a line on stderr and an exit code."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fusesearch.cli.output import complain, fault_of_stdout, standard_streams, usage_error
from fusesearch.cli.screen import screen
from fusesearch.core.errors import FusesearchError, OptionError, one_line

COMMANDS = dict.fromkeys(("localize", "context", "ask", "install", "mcp"), "Every day") | dict.fromkeys(
    ("doctor", "localizers", "view", "score", "evaluate", "compare", "judge"), "More"
)
"""Each command's panel on the page of help. Its module and its function are called as it is."""

EPILOG = """
**Exit codes:** 0 done · 1 failure, explained in one line on stderr · 2 wrong usage ·
3 `localize`, `context` or `ask` found no answer · 130 interrupted.
"""


TRACEBACK = "FUSESEARCH_TRACEBACK"
"""The variable that, if set, shows where an unexpected error arose."""


@contextmanager
def errors_on_one_line() -> Iterator[None]:
    """Every error becomes a line on stderr and exit code 1, wrong options 2, Ctrl-C 130."""
    try:
        yield
    except OptionError as error:
        raise usage_error(error.message, f"--{error.option}") from None
    except BrokenPipeError:  # as `head` ends what it reads of
        raise typer.Exit(1) from None
    except Exception as error:
        if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):  # Typer's own, which it makes lines and codes of
            raise
        if os.environ.get(TRACEBACK) and not isinstance(error, FusesearchError):
            raise
        complain(_line_of(error))
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(130) from None


def _line_of(error: Exception) -> str:
    """What a person needs of an error: what it is and, where it was not raised on purpose, what it may depend on."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FusesearchError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        from fusesearch.cli.checks import what_to_install

        if line := what_to_install(error, sys.argv[1:]):
            return line
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        return fault_of_stdout() or str(error)
    from fusesearch.core.network import network_note

    foreign = network_note(error) if type(error).__module__ != "builtins" else ""
    return f"{one_line(error)}{foreign} (unexpected: set {TRACEBACK}=1 to see where)"


class OneLine:
    """A command or group with :func:`errors_on_one_line`."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        with standard_streams():
            return super().main(*args, **{"color": screen().colour} | kwargs)  # type: ignore[misc]

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command line, for which Typer imports pydantic."""
        with errors_on_one_line():
            return super().make_context(*args, **kwargs)  # type: ignore[misc]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with errors_on_one_line():
            return super().invoke(ctx)  # type: ignore[misc]


class OneLineCommand(OneLine, TyperCommand):
    """The only command of a program."""


class OneLineGroup(OneLine, TyperGroup):
    """The commands of a program."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands; those that need an extra which is not installed say so."""
        from fusesearch.cli.checks import NEEDS, missing

        for name, command in self.commands.items():
            if (extra := NEEDS.get(name)) and missing(extra):
                command.short_help = f"{command.get_short_help_str(200)} (Needs the extra {extra}, not installed.)"
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


def _print_version(wanted: bool) -> None:
    if wanted:
        from fusesearch.core.installation import DISTRIBUTION, installed

        typer.echo(f"fusesearch {installed(DISTRIBUTION) or 'is not installed'}")
        raise typer.Exit


def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the files and functions an issue is about.

    ```
    fusesearch localize "the text of an issue"
    fusesearch context Class.method
    fusesearch install
    ```
    """


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with the commands ``names``, whose modules are imported."""
    made = command_group(inspect.getdoc(about), EPILOG)
    made.callback()(about)
    for name in names:
        made.command(name, rich_help_panel=COMMANDS[name])(resolve_name(f"fusesearch.cli.{name}:{name}"))
    return made


def main() -> None:
    """Entry point of the console script. A command does not wait for the imports of the others."""
    sys.argv += ["--help"] if len(sys.argv) == 1 else []
    application([name for name in sys.argv[1:2] if name in COMMANDS] or COMMANDS)(prog_name="fusesearch")
