"""Why content of one deployment is not rendered again: it is wrong, or its rendering is lost."""

from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import NamedTuple

from rukpak_py.controllers.deployment.content_key import ContentKey
from rukpak_py.core.errors import ContentError
from rukpak_py.kube.discovery_documents import Served

LOOKED_UP_SECONDS = 60.0  # between two renderings of a chart that failed after it had looked objects up
REMEMBERED_ERRORS = 32  # of one deployment: edits that were rendered and are of no interest any more


class FailedAfterLookupsError(ContentError):
    """It may be about what was found then: other objects may give another answer."""


class Loss(NamedTuple):
    content: ContentKey
    installed: str  # the digest of what was installed
    lacks_values: bool  # they may come back


class _Wrong(NamedTuple):
    error: ContentError
    served: Served | None  # by the cluster, where the error may be about that
    until: float  # by `monotonic`


@dataclass(slots=True)
class RenderingFailures:
    lost: set[Loss] = field(default_factory=set)
    _errors: dict[ContentKey, _Wrong] = field(default_factory=dict)

    def add_error(self, content: ContentKey, error: ContentError, served: Served | None) -> None:
        """Until the cluster serves other kinds, where `served` is given; after lookups for a while only."""
        self._errors.pop(content, None)
        until = monotonic() + LOOKED_UP_SECONDS if isinstance(error, FailedAfterLookupsError) else inf
        self._errors[content] = _Wrong(error, served, until)
        if len(self._errors) > REMEMBERED_ERRORS:
            del self._errors[next(iter(self._errors))]  # what was rendered longest ago

    def error_of(self, content: ContentKey, served: Served | None) -> ContentError | None:
        wrong = self._errors.get(content)
        return wrong.error if wrong is not None and wrong.served is served and monotonic() < wrong.until else None
