"""A name that was probably meant, for advice. Comparing costs time, so few names and short ones are compared."""

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nsmallest
from typing import Final

_COMPARED: Final = 300
_COMPARED_ONCE: Final = 2_000  # for the name of a question, not for every name of a catalog
_LONGEST: Final = 100  # characters of a name
_ADVISED: Final = 50
_SHOWN: Final = 5


def near(name: str, names: Iterable[str]) -> str | None:
    """The most similar of the names, if one is similar."""
    if len(name) > _LONGEST:
        return None
    compared = nsmallest(_COMPARED, (one for one in names if len(one) <= _LONGEST))
    found = get_close_matches(name, compared, n=1, cutoff=0.7)
    return found[0] if found else None


class SimilarNames:
    """Looks names up for the first problems of a rule; a catalog may have very many of the same kind."""

    def __init__(self) -> None:
        self._left = _ADVISED

    def near(self, name: str, names: Iterable[str]) -> str | None:
        self._left -= 1
        return near(name, names) if self._left >= 0 else None

    def meant(self, name: str, names: Iterable[str]) -> str | None:
        """The similar name as advice."""
        found = self.near(name, names)
        return f'Did you mean "{found}"?' if found is not None else None


def close_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Several names that are like this one, the closest first; then those that contain it."""
    if not name or len(name) > _LONGEST:
        return ()
    compared = nsmallest(_COMPARED_ONCE, (one for one in names if len(one) <= _LONGEST))
    found = [*get_close_matches(name, compared, n=_SHOWN), *(one for one in compared if name in one)]
    return tuple(dict.fromkeys(found))[:_SHOWN]
