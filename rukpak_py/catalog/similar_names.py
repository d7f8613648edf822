"""A name that was probably meant, for advice. Comparing costs time, so few names and short ones are compared."""

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nsmallest
from typing import Final

_COMPARED: Final = 300
_LONGEST: Final = 100  # characters of a name


def near(name: str, names: Iterable[str]) -> str | None:
    """The most similar of the names, if one is similar."""
    if len(name) > _LONGEST:
        return None
    compared = nsmallest(_COMPARED, (one for one in names if len(one) <= _LONGEST))
    found = get_close_matches(name, compared, n=1, cutoff=0.7)
    return found[0] if found else None
