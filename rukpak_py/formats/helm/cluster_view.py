"""The cluster as templates see it: the kinds that it serves, its version, and objects that they look up.

A rendering runs in a worker process that is given no client of the cluster. The kinds come with the request, and are
those of one moment; objects are asked for, one question after the other, of the operator, which decides what is shown.
That bounds templates. It does not confine the process: see `workers/answers.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple


class Lookup(NamedTuple):
    """A question: an object, or where `name` is empty all of a kind. `namespace` empty: of the cluster."""

    group: str
    version: str
    plural: str
    namespace: str
    name: str


class LookedUp(NamedTuple):
    """The answer of an API server. NOT_FOUND means that there is no such object, and nothing else."""

    status: int
    body: bytes


LookUp = Callable[[Lookup], LookedUp]
LOOKUP_STATUSES = frozenset({HTTPStatus.OK, HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE})


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedKind:
    kind: str
    plural: str
    namespaced: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedVersion:
    """One version of a group. `other_kinds`: those that only subresources have, which `.Capabilities` names, too."""

    group: str
    version: str
    kinds: tuple[ServedKind, ...]
    other_kinds: tuple[str, ...] = ()
    is_stale: bool = False  # its own server does not answer: kinds may be missing

    @property
    def name(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterView:
    version: bytes  # as `/version` answers
    served: tuple[ServedVersion, ...]  # those of a group beside each other, the preferred one first
