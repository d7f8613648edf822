"""Notes of a status, typed: failures, waits and lasting facts that it reports at the moment."""

from typing import Annotated

from rukpak_py.api.schema import ApiType, doc

NOTES_AT_MOST = 16


class Note(ApiType, frozen=True, kw_only=True):
    """One thing that the conditions tell, and that an Event has told if it is one of those that Events tell."""

    reason: Annotated[str, doc("The cause, in one CamelCase word. While an object is unhealthy: the worst one.")]
    object: Annotated[str, doc("The first object that it is about; empty when it is about none.")] = ""
    since: Annotated[str, doc("When it began.", format="date-time")]
    id: Annotated[
        str,
        doc("Identity of what is told. An Event is emitted for a new one, so a restart of the operator repeats none."),
    ]


Notes = Annotated[
    tuple[Note, ...],
    doc("What the conditions tell at the moment; beyond sixteen, only the most important.", maxItems=NOTES_AT_MOST),
]
