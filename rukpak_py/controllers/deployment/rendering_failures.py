"""Why content of one deployment is not rendered again: it is wrong, or its rendering is lost."""

from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import NamedTuple

from rukpak_py.controllers.deployment.content_key import ContentKey
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.kube.discovery_documents import Served

LOOKED_UP_SECONDS = 60.0  # between two renderings of a chart that failed after it had looked objects up
LOST_SECONDS = 600.0  # and of one that has come out differently then
PAUSE_SECONDS = 5.0  # and of content whose rendering lacked a right or an answer: each event would begin another
REMEMBERED_ERRORS = 32  # of one deployment: edits that were rendered and are of no interest any more


class FailedAfterLookupsError(ContentError):
    """It may be about what was found then: other objects may give another answer."""


class Loss(NamedTuple):
    content: ContentKey
    installed: str  # the digest of what was installed
    lacks_values: bool  # they may come back


class _Wrong(NamedTuple):
    error: RukPakError
    served: Served | None  # by the cluster, where the error may be about that
    until: float  # by `monotonic`


@dataclass(slots=True)
class RenderingFailures:
    _lost: dict[Loss, float] = field(default_factory=dict)  # until when, by `monotonic`
    _errors: dict[ContentKey, _Wrong] = field(default_factory=dict)

    def lose(self, loss: Loss, *, sees_cluster: bool) -> None:
        """`sees_cluster`: other objects may give what was installed again."""
        self._lost[loss] = monotonic() + LOST_SECONDS if sees_cluster else inf

    def is_lost(self, loss: Loss) -> bool:
        return bool(self._lost) and monotonic() < self._lost.get(loss, -inf)

    def add_error(self, content: ContentKey, error: RukPakError, served: Served | None) -> None:
        """Until the cluster serves other kinds, where `served` is given; after lookups for a while only."""
        self._errors.pop(content, None)
        self._errors[content] = _Wrong(error, served, monotonic() + _seconds(error))
        if len(self._errors) > REMEMBERED_ERRORS:
            del self._errors[next(iter(self._errors))]  # what was rendered longest ago

    def error_of(self, content: ContentKey, served: Served | None) -> RukPakError | None:
        wrong = self._errors.get(content)
        return wrong.error if wrong is not None and wrong.served is served and monotonic() < wrong.until else None


def _seconds(error: RukPakError) -> float:
    match error:
        case FailedAfterLookupsError():
            return LOOKED_UP_SECONDS
        case ContentError():
            return inf
        case _:
            return PAUSE_SECONDS
