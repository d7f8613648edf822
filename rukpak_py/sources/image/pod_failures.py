"""Unpack pods that failed: when the next may come, which has to be root, and why a kubelet cannot pull the image."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

from rukpak_py.core.errors import UnavailableError

_FIRST_PAUSE: Final = 5.0  # seconds, doubled with each failure
_LONGEST_PAUSE: Final = 60.0
_FORGOTTEN_AFTER: Final = 1800.0  # seconds without another failure


@dataclass(frozen=True, kw_only=True)
class _Failure:
    count: int
    until: float
    message: str


class PodFailures:
    """Failures of unpack pods, by the uid of the Bundle."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, _Failure] = {}
        self._root: dict[str, float] = {}

    def failed(self, uid: str, message: str) -> UnavailableError:
        """The error for it, with the pause."""
        now = self._clock()
        self._forget_old(now)
        count = self._failures[uid].count + 1 if uid in self._failures else 1
        pause = min(_FIRST_PAUSE * 2.0 ** min(count - 1, 16), _LONGEST_PAUSE)
        self._failures[uid] = _Failure(count=count, until=now + pause, message=message)
        return UnavailableError(message, retry_after=pause)

    def check(self, uid: str) -> None:
        """UnavailableError while it is too early for another pod; it says what the last one said."""
        failure = self._failures.get(uid)
        if failure is not None and (left := failure.until - self._clock()) > 0:
            raise UnavailableError(failure.message, retry_after=left)

    def wants_root(self, uid: str) -> None:
        self._root[uid] = self._clock()

    def needs_root(self, uid: str) -> bool:
        return uid in self._root

    def forget(self, uid: str) -> None:
        """Forget the failures of a Bundle: all is well."""
        self._failures.pop(uid, None)
        self._root.pop(uid, None)

    def _forget_old(self, now: float) -> None:
        for uid in [uid for uid, one in self._failures.items() if now - one.until > _FORGOTTEN_AFTER]:
            del self._failures[uid]
        for uid in [uid for uid, since in self._root.items() if now - since > _FORGOTTEN_AFTER]:
            del self._root[uid]


_LONGEST: Final = 4096  # characters that are looked at; kubelets send up to some hundreds
_WRAPPER: Final = re.compile(
    r'Back-off pulling image "(?P<kubelet>[^"]*)"(?:: )?'
    r"|(?:ErrImagePull|ImagePullBackOff): "
    r"|rpc error: code = \w+ desc = "
    r'|failed to (?:pull and unpack image|pull image|resolve reference|resolve image) "(?P<runtime>[^"]*)": '
    r"|(?:Error response from daemon|failed to resolve image|failed to do request): "
)
_CANNOT: Final = "the node cannot pull the image"


def cause_of_pull(message: str) -> str:
    """The cause, for one line; without one, just that the node cannot pull the image.

    The kubelet, the CRI and containerd each put the reference in front of it, so a line of 300 characters may hold
    nothing else. Only texts for people are made of it, and nothing is decided by it.
    """
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]} …"
    rest, references = message, dict[str, None]()
    while (found := _WRAPPER.match(rest)) is not None:
        references |= dict.fromkeys(reference for reference in found.groups() if reference)
        rest = rest[found.end() :]
    for reference in references:  # containerd: `REFERENCE: not found`
        rest = rest.removeprefix(f"{reference}: ")
    return f"{_CANNOT}: {rest}" if rest else _CANNOT
