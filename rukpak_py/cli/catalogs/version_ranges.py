"""Ranges of versions that are given as options, checked before anything is read."""

import click


def range_option(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Callback of an option."""
    if text is not None and (problem := range_problem(text)):
        raise click.BadParameter(problem)
    return text


def range_problem(text: str) -> str:
    """Why the text is not a range, with advice where it shows what was meant; empty: it is one."""
    from rukpak_py.catalog.checks import advice  # noqa: PLC0415 - help and completion do not need it
    from rukpak_py.core.ranges import Range  # noqa: PLC0415 - the same
    from rukpak_py.core.text import quoted, shown  # noqa: PLC0415 - the same

    try:
        Range.parse(text)
    except ValueError as error:
        advised = advice.on_range(text) or 'Write conditions with full versions: ">=1.2.0 <2.0.0".'
        return f"{quoted(text)} is not a valid range of versions: {shown(str(error))}. {advised}"
    return ""
