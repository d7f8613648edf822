"""rukpakctl, also installed as kubectl-rukpak: one program, and what becomes of its failures.

A failure is one or a few lines on standard error and an exit status, never a traceback; `RUKPAKCTL_DEBUG=1` shows one
for a bug of the program itself. A reader that goes away (`| head`) and Ctrl-C end it without a word.
"""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import PurePath

import click

from rukpak_py.cli.reports.text import lines_of_findings
from rukpak_py.cli.terminal import Exit, LazyGroup, Style, clean, print_error, print_hint
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.findings import InvalidBundleError

_COMMANDS = "rukpak_py.cli.commands"
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
COMPLETE_VARIABLE = "_RUKPAKCTL_COMPLETE"
KUBECTL_NAME = "kubectl rukpak"
DEBUG_VARIABLE = "RUKPAKCTL_DEBUG"


def _print_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click calls it so
    if asked and not context.resilient_parsing:
        from rukpak_py.cli.commands import version  # noqa: PLC0415 - see LazyGroup

        click.echo(version.text())
        context.exit()


@click.group(
    cls=LazyGroup,
    context_settings=_CONTEXT,
    commands_at={
        "approve": f"{_COMMANDS}.approve:approve",
        "bundle": f"{_COMMANDS}.bundle:bundle",
        "catalog": f"{_COMMANDS}.catalog:catalog",
        "check": f"{_COMMANDS}.check:check",
        "completion": f"{_COMMANDS}.completion:completion",
        "content": f"{_COMMANDS}.content:content",
        "diff": f"{_COMMANDS}.live_diff:diff",
        "events": f"{_COMMANDS}.events:events",
        "get": f"{_COMMANDS}.get:get",
        "history": f"{_COMMANDS}.history:history",
        "permissions": f"{_COMMANDS}.deployment_permissions:permissions",
        "plan": f"{_COMMANDS}.plan:plan",
        "reconcile": f"{_COMMANDS}.reconcile:reconcile",
        "refresh": f"{_COMMANDS}.reconcile:refresh",
        "release": f"{_COMMANDS}.release:release",
        "resume": f"{_COMMANDS}.suspend:resume",
        "rollback": f"{_COMMANDS}.rollback:rollback",
        "run": f"{_COMMANDS}.run:run",
        "suspend": f"{_COMMANDS}.suspend:suspend",
        "tree": f"{_COMMANDS}.tree:tree",
        "ui": f"{_COMMANDS}.ui:ui",
        "version": f"{_COMMANDS}.version:version",
        "wait": f"{_COMMANDS}.wait:wait",
        "why": f"{_COMMANDS}.why:why",
    },
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def program() -> None:
    """Check, render, compare and build bundles without a cluster; install them in one, check it, and read content."""


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 in every locale, as kubectl writes it
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(run(sys.argv))


def run(argv: Sequence[str]) -> int:
    """The exit status of the command line."""
    called_as = PurePath(argv[0]).name
    name = KUBECTL_NAME if called_as == "kubectl-rukpak" else "rukpakctl"
    try:
        try:
            status = _run(argv[1:], name)
            sys.stdout.flush()
        except Exception as error:  # noqa: BLE001 - the outermost place: whatever it is, the user gets a sentence
            return _exit_code_of(error, name)
    except BrokenPipeError:
        # What is still buffered must not fail again when the interpreter closes its streams.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return status


def _run(arguments: Sequence[str], name: str) -> int:
    if COMPLETE_VARIABLE in os.environ:
        from rukpak_py.cli import completion  # noqa: PLC0415 - only shells that complete ask for it

        completion.register()
        program.main(args=[], prog_name=name, complete_var=COMPLETE_VARIABLE)  # answers the shell, and exits
    # Not by `main`, which has its own mind about pipes that break.
    with program.make_context(name, list(arguments)) as context:
        status = program.invoke(context)
    return status if isinstance(status, int) else Exit.OK


def _exit_code_of(error: Exception, name: str) -> int:
    match error:
        case BrokenPipeError():
            raise error
        case click.exceptions.Exit():
            return error.exit_code
        case click.Abort():
            return Exit.INTERRUPTED
        case click.ClickException():
            error.show()
            return error.exit_code
        case InvalidBundleError():
            _say_findings(error)
            return Exit.FAILED
        case RukPakError():
            print_error(str(error))
            return Exit.FAILED
        case OSError():
            print_error(clean(f"{error.filename}: {error.strerror}" if error.filename else str(error)))
            return Exit.FAILED
        case _:
            if os.environ.get(DEBUG_VARIABLE):
                raise error
            text = clean(f"{type(error).__name__}: {error}")
            print_error(f"this is a bug of {name}, please report it: {text} ({DEBUG_VARIABLE}=1 shows more)")
            return Exit.DEFECT


def _say_findings(error: InvalidBundleError) -> None:
    if str(error) != "\n".join(map(str, error.findings)):  # a text of its own, as another tool words it
        print_error(str(error))
        for hint in dict.fromkeys(finding.hint for finding in error.findings if finding.hint):
            print_hint(hint)
        return
    print_error(f"the {error.noun} cannot be used:")
    for line in lines_of_findings(error.findings, Style(sys.stderr), noun=error.noun):
        click.echo(line, err=True)
