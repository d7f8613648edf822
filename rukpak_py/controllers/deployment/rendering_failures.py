"""Why content of one deployment is not rendered again: it is wrong, or its rendering is lost."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rukpak_py.controllers.deployment.content_key import ContentKey
from rukpak_py.core.errors import ContentError
from rukpak_py.kube.discovery_documents import Served

REMEMBERED_ERRORS = 32  # of one deployment: edits that were rendered and are of no interest any more


class Loss(NamedTuple):
    content: ContentKey
    installed: str  # the digest of what was installed
    lacks_values: bool  # they may come back


class _Wrong(NamedTuple):
    error: ContentError
    served: Served | None  # by the cluster, where the error may be about that


@dataclass(slots=True)
class RenderingFailures:
    lost: set[Loss] = field(default_factory=set)
    _errors: dict[ContentKey, _Wrong] = field(default_factory=dict)

    def add_error(self, content: ContentKey, error: ContentError, served: Served | None) -> None:
        """Until the cluster serves other kinds, where `served` is given."""
        self._errors.pop(content, None)
        self._errors[content] = _Wrong(error, served)
        if len(self._errors) > REMEMBERED_ERRORS:
            del self._errors[next(iter(self._errors))]  # what was rendered longest ago

    def error_of(self, content: ContentKey, served: Served | None) -> ContentError | None:
        wrong = self._errors.get(content)
        return wrong.error if wrong is not None and wrong.served is served else None
