"""Durations as options take them: a number of seconds, or a time such as 90s, 5m or 1h30m."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_WAIT = "5m"


def timeout_option(text: str) -> Callable[[F], F]:
    """`--timeout`, as seconds."""
    return click.option(
        "--timeout",
        "seconds",
        default=DEFAULT_WAIT,
        show_default=True,
        metavar="DURATION",
        callback=_seconds,
        help=f"{text} (such as 90s, 5m or 1h30m).",
    )


def _seconds(_context: click.Context, _option: click.Parameter, text: str) -> float:
    from rukpak_py.api.upgrade_windows import duration_of  # noqa: PLC0415 - only commands that wait pay for it

    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return duration_of(text).total_seconds()
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither a number of seconds nor a time such as 90s, 5m or 1h30m"
        ) from None
