"""The option `--troubleshooting-url` of commands that link to the troubleshooting page."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def troubleshooting_option() -> Callable[[F], F]:
    return click.option(
        "--troubleshooting-url",
        "troubleshooting",
        default="",
        envvar="RUKPAK_TROUBLESHOOTING_URL",
        show_envvar=True,
        metavar="URL",
        help="URL of docs/troubleshooting.md, where you serve it.",
    )
