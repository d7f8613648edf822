"""The way that an image takes: straight from its registry, or by a pod; and how long that is remembered.

`auto` asks the registry first. A pod is tried where the registry is not for us but may be for the node: it cannot be
reached, fails in TLS, says nothing, or answers 401, 403, 404, or 429 to the last try. Never for a limit, a digest that
does not match, a bad archive, or an address that is refused: a pod would only hide what is wrong.

`pod` asks no registry, but for charts: what `helm push` made cannot run, so it comes from its registry in any case.
Whatever keeps the operator from finding out whether it is a chart leaves it to the pod.

Remembered for the whole registry is only that it cannot be reached. All else is about one question: a mistyped tag, a
missing login or an authority that one Bundle does not name says nothing of other images, and is asked again soon.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic
from typing import Final

from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.sources.source import DirectFailure

OUT_OF_REACH_SECONDS: Final = 600.0
# Between two questions about one image, however often its pod changes; a wait for a pod is tried again after a minute.
ASKED_AGAIN_SECONDS: Final = 30.0


class ImageUnpack(StrEnum):
    """The setting of this name."""

    AUTO = "auto"
    DIRECT = "direct"
    POD = "pod"


class NotForOperatorError(UnavailableError):
    """The registry has nothing for the operator: TLS, silence, 429. From a node it may be otherwise."""


class OutOfReachError(NotForOperatorError):
    """Its name does not resolve from here, or nothing takes the connection: that holds for each of its images."""


class ImageNotFoundError(NotForOperatorError):
    """The registry knows no such image, or does not admit that it does."""


class NoChartError(ContentError):
    """The image is not known to be a chart, which a pod cannot unpack. `cause`: why nothing is known."""

    def __init__(self, text: str, *, cause: RukPakError | None = None) -> None:
        super().__init__(text)
        self.cause = cause


def may_help(error: RukPakError) -> bool:
    """Whether a pod may succeed where this happened."""
    return isinstance(error, AccessError | NotForOperatorError)


def retold(error: RukPakError, text: str, *, brief: str) -> RukPakError:
    """The same failure in other words."""
    told: RukPakError
    match error:
        case NotForOperatorError():
            told = type(error)(text, retry_after=error.retry_after)
        case UnavailableError():
            told = UnavailableError(text, retry_after=error.retry_after)
        case AccessError():
            told = AccessError(text)
        case ConflictError():
            told = ConflictError(text)
        case _:
            told = type(error)(text)
    told.brief = brief
    return told


@dataclass(frozen=True, kw_only=True)
class ImageQuestion:
    """The request that a registry gets, with its authorities and logins.

    `logins`: names and versions of the Secrets, so that one that appears or changes makes another question.
    """

    ref: str
    ca_bundle: str
    logins: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """Images that pods pull: all of a registry, or those of one question. `failure`: what came of asking it."""

    about: str | ImageQuestion
    failure: DirectFailure
    until: float
    at_least_until: float  # the server wants no other request before


class PodFallbacks:
    """Images and registries that unpack pods pull at the moment."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._known: dict[str | ImageQuestion, Fallback] = {}

    def remember(
        self, about: str | ImageQuestion, failure: DirectFailure, seconds: float, *, at_least: float = 0.0
    ) -> Fallback:
        """`at_least`: seconds for which the server wants no other request."""
        now = self._clock()
        self._known = {name: known for name, known in self._known.items() if known.until > now}
        made = Fallback(about=about, failure=failure, until=now + max(seconds, at_least), at_least_until=now + at_least)
        self._known[about] = made
        return made

    def forget(self, known: Fallback) -> None:
        """A pod was of no use: the registry is asked again, as soon as it allows that."""
        self._known[known.about] = replace(known, until=known.at_least_until)

    def find(self, about: str | ImageQuestion) -> Fallback | None:
        known = self._known.get(about)
        return known if known is not None and known.until > self._clock() else None
