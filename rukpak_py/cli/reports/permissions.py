"""Permissions for people: what stands out, what is granted to whom, what an installer needs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rukpak_py.apply.permissions.documents import of_scope, scopes_of
from rukpak_py.apply.permissions.grants import Grants
from rukpak_py.apply.permissions.installer import Needs
from rukpak_py.apply.permissions.permission import rule_text, rules_of, scope_text
from rukpak_py.apply.permissions.risky import warnings_of
from rukpak_py.cli.terminal import Style, clean, table, wrapped

Json = dict[str, Any]


def lines_of(grants: Grants, needs: Needs, style: Style) -> Iterator[str]:
    """The risks come first: the rest is long for most operators."""
    yield style.paint("What stands out", "bold")
    yield from list(_standing_out(grants, style)) or ["  nothing"]
    yield ""
    yield style.paint("What the bundle grants", "bold")
    if not grants.permissions and not grants.references:
        yield "  nothing"
    for holder, permissions in grants.permissions.items():
        for scope in scopes_of(permissions):
            yield _head(f"{holder} {scope_text(scope)}", style)
            yield from _rules(rules_of(of_scope(permissions, scope)), style)
    for reference in grants.references:
        yield _head(f"{reference.holder} {scope_text(reference.scope)}: {reference}", style)
    yield ""
    yield style.paint("What an installer needs", "bold")
    yield from lines_of_needs(needs.rules, style)


def lines_of_needs(needs: Mapping[str, list[Json]], style: Style) -> Iterator[str]:
    if not needs:
        yield "  nothing"
    for scope, rules in needs.items():
        yield _head(scope_text(scope), style)
        yield from _rules(rules, style)


def _head(text: str, style: Style) -> str:
    return wrapped(clean(text), width=style.width, first="  ", indent=8)


def _standing_out(grants: Grants, style: Style) -> Iterator[str]:
    for holder, permissions in grants.permissions.items():
        warnings = warnings_of(permissions)
        if warnings:
            yield _head(str(holder), style)
        for warning in warnings:
            text = clean(f"{warning.text}, {scope_text(warning.scope)}")
            yield style.paint(wrapped(text, width=style.width, first="    ! ", indent=6), "yellow")
            yield from _rules(rules_of(warning.permissions), style, indent=8)


def _rules(rules: Iterable[Json], style: Style, *, indent: int = 4) -> list[str]:
    rows = [(clean(verbs), clean(about)) for verbs, about in map(rule_text, rules)]
    return table(rows, width=style.width, indent=indent)
