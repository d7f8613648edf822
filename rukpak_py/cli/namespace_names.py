"""Names of namespaces that are given as options, checked before anything is read."""

import click


def namespace_name(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Callback of an option; empty is none."""
    if name:
        _check(name)
    return name


def namespace_names(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Callback of an option that may be repeated; empty is all namespaces."""
    for name in filter(None, names):
        _check(name, advice="; give the option once for each" if "," in name else "")
    return names


def _check(name: str, *, advice: str = "") -> None:
    from rukpak_py.formats import dns  # noqa: PLC0415 - most commands do not need it

    if reasons := dns.label(name):
        raise click.BadParameter(f"{name!r} is not a valid namespace name: {', '.join(reasons)}{advice}")
