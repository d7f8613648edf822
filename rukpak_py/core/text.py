"""Words of messages: text that others wrote, made short before anything else reads it, and several things named.

A server or an author decides how long such a text is, and so how long a pattern or a loop takes that reads it. Cut the
text first, match and compose afterwards. Both ends stay: the subject is at the start, the cause at the end.

A message names some of several things by name and the rest by number, with one separator between statements.
"""

import json
from collections.abc import Iterable, Sequence

SHOWN_CHARACTERS = 512  # of what a client or a server sent, in a message
_SHORTEST_END = 8  # characters at each end; with less, the mark would be most of the text


def excerpt(text: str, most: int) -> str:
    """At most `most` characters: the text, or its head and its tail around a mark that says how much is left out."""
    if len(text) <= most:
        return text
    kept = most - len(_mark(len(text)))  # a mark for what is left out is no longer than one for everything
    if kept < 2 * _SHORTEST_END:
        return text[: max(most, 0)]
    tail = kept // 2
    head = kept - tail
    return f"{text[:head]}{_mark(len(text) - kept)}{text[len(text) - tail :]}"


def shown(text: str) -> str:
    """The text as a message or the log quotes it."""
    return excerpt(text, SHOWN_CHARACTERS)


def quoted(text: str) -> str:
    """The text in double quotes; what could break out of them, or out of the line, is escaped."""
    return json.dumps(shown(text), ensure_ascii=False)


def _mark(left_out: int) -> str:
    return f" … ({left_out} characters left out) … "


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
