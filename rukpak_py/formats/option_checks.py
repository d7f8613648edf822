"""Options as programs give them: a mistake of the caller is a TypeError or a ValueError that names the option."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from rukpak_py.formats import dns

E = TypeVar("E", bound=StrEnum)


def demand_namespace(name: object, option: str) -> None:
    """Empty is not given, where that is possible."""
    if not isinstance(name, str):
        raise TypeError(f"{option} must be a string, got {name!r}")
    if reasons := dns.label(name) if name else []:
        raise ValueError(f"{option} is {name!r}, not a valid namespace name: {', '.join(reasons)}")


def demand_namespaces(names: Iterable[object], option: str) -> None:
    demand_several(names, option)
    for name in names:
        demand_namespace(name, f"each of {option}")


def demand_several(given: object, option: str) -> None:
    if isinstance(given, str):  # which is a sequence of strings too: its letters
        raise TypeError(f"{option} must be a list of strings, got the string {given!r}")


def member(choices: type[E], value: str, option: str) -> E:
    try:
        return choices(value)
    except ValueError as error:
        raise ValueError(f"{option} must be one of {', '.join(choices)}, got {value!r}") from error
