"""How a message names several things: some by name, the rest by number, and one separator between statements."""

from collections.abc import Iterable, Sequence

NAMED = 10  # objects that a line names; the others are counted


def counted(number: int, noun: str = "object") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def named(names: Iterable[object], most: int = NAMED) -> str:
    listed = [str(one) for one in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def joined(messages: Iterable[str]) -> str:
    """Messages about several objects, each with its own advice, with the original's separator between them."""
    return " && ".join(messages)


def with_finalizers(finalizers: Sequence[str]) -> str:
    """Text after the name of an object whose deletion waits for these finalizers."""
    if not finalizers:
        return ""
    return f" ({'finalizer' if len(finalizers) == 1 else 'finalizers'} {named(finalizers)})"
