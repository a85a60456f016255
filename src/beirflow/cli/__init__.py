"""The command ``beirflow``: each of its commands is a module here or of an extension, imported when it is chosen.

A module has ``HELP``, one line; ``add_arguments(parser)``, which ends the help with an example (``parser.epilog``); and
``main(options)``, which returns the exit status. With ``PASSES_ON = True`` it gets ``options.words``, those before the first
option that its parser does not know and those behind ``--``, ``options.rest``, what is between, and ``options.typed``, all.

Exit status: 0, done; 1, a failed verdict, a run that failed or was interrupted; 2, input that cannot be used, found before
anything was written; 130, an interrupt of another command.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

COMMANDS = {
    "init": "init",
    "demo": "demo",
    "try": "trial",
    "estimate": "estimate",
    "run": "run",
    "report": "report",
    "audit": "audit",
    "evaluate": "evaluate",
    "list": "listing",
}
"""The commands of the core, in the order of the help, and their modules here."""

FAILED, UNUSABLE, INTERRUPTED = 1, 2, 130  # exit statuses

USAGE = "usage: beirflow <command> …"
EXAMPLE = "Example: beirflow run my.yaml\nHelp on a command: beirflow <command> --help. All commands: docs/command.md"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command of a command line, without the program; return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print_overview()
        return 0
    if arguments[0] == "--version":
        from importlib.metadata import version

        sys.stdout.write(f"beirflow {version('beirflow')}\n")
        return 0
    name, *words = arguments
    if name not in COMMANDS and name not in (known := command_names()):
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return complain(f"{name!r} is no command of beirflow{meant}; there are {', '.join(known)}")
    try:
        return _run(name, words)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        return complain(str(end.code), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are a sentence."""

    def error(self, message: str) -> NoReturn:
        """Exit with a message and the command that shows the help."""
        self.exit(UNUSABLE, f"{message}; all options: {self.prog} --help\n")


def _run(name: str, words: Sequence[str]) -> int:
    """Run a command on its words; return its exit status."""
    module = command_module(name)
    parser = _Parser(
        prog=f"beirflow {name}",
        description=module.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # Snakemake has options that begin alike
    )
    module.add_arguments(parser)
    if getattr(module, "PASSES_ON", False):
        dashes = words.index("--") if "--" in words else len(words)
        # No positional arguments: argparse would take values of unknown options for these.
        options, left = parser.parse_known_args(words[:dashes])
        unknown = next((place for place, word in enumerate(left) if word.startswith("-")), len(left))
        options.words, options.rest, options.typed = [*left[:unknown], *words[dashes + 1 :]], left[unknown:], [name, *words]
    else:
        options = parser.parse_args(words)

    from beirflow.core.errors import BeirflowError, VerdictError  # after the parser: --help needs neither

    try:
        return int(module.main(options))
    except VerdictError as verdict:
        sys.stdout.write(f"{verdict}\n")
        return FAILED
    except BeirflowError as error:
        return complain(str(error))


def command_module(name: str) -> ModuleType:
    """Return the module of a command."""
    if name in COMMANDS:
        return importlib.import_module(f"{__name__}.{COMMANDS[name]}")
    from beirflow.core.extensions import commands

    return importlib.import_module(commands()[name].module)


def command_names() -> list[str]:
    """Return the commands of the core, then those of extensions."""
    from beirflow.core.extensions import commands

    return [*COMMANDS, *commands()]


def print_overview() -> None:
    """Print all commands with a line on each."""
    lines = [f"  {name:12} {command_module(name).HELP}" for name in command_names()]
    sys.stdout.write("\n".join([USAGE, "", *lines, "", EXAMPLE, ""]))


def complain(message: str, status: int = UNUSABLE) -> int:
    """Print a message on standard error, and return the exit status."""
    sys.stderr.write(f"{message}\n".replace("\n\n", "\n"))
    return status


def run_and_exit() -> None:
    """Run the command of this process, and end it with the exit status."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    sys.exit(status)
