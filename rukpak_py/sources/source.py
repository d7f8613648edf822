"""A source: it fetches the content that one member of `spec.source` names, within all limits."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto

from rukpak_py.api.source import Source
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import UnavailableError
from rukpak_py.sources.ports import ImageAccess


async def no_wait() -> None:
    """Return at once: no other job holds content."""


@dataclass(frozen=True, kw_only=True)
class FetchRequest:
    """A fetch for one Bundle: pods and uploads are named after it; of an image its class reads only a part.

    `deployment`: the uid of the one whose template this Bundle is of, if any: what it has proved counts for the Bundle.

    A source awaits `content_arrives` when a server has answered and content is about to be held in memory, before it
    reads on: only some jobs may do that at a time, and one that waits for an answer is not among them.
    """

    bundle: str
    uid: str
    source: Source
    provisioner_class: str = ""
    deployment: str = ""
    content_arrives: Callable[[], Awaitable[None]] = no_wait

    def access_to(self, image: str) -> ImageAccess:
        """`image`: by its digest."""
        return ImageAccess(
            image=image, provisioner_class=self.provisioner_class, bundle=self.uid, deployment=self.deployment
        )


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """`resolved`: the source pinned to exactly this content. `artifact_type`: as in `status.artifactType`."""

    tree: Tree
    resolved: Source
    artifact_type: str = ""


class ContentPendingError(UnavailableError):
    """There is no content yet, and nothing failed: it is on its way, and wakes the Bundle when it is there."""


class DirectAnswer(Enum):
    """The answer of a server to the operator itself."""

    DENIED = auto()
    NOT_FOUND = auto()
    UNUSABLE = auto()  # it cannot be reached, fails in TLS, is silent, or asks to be left alone


@dataclass(frozen=True, kw_only=True)
class DirectFailure:
    """The reason that the operator could not fetch it itself. `brief`: the cause alone, for where one line has room."""

    answer: DirectAnswer
    message: str
    brief: str


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """No content yet: a pod or a client works on it, and a watch tells of it.

    `message`: what they report, for the status of the Bundle; `brief`: the cause in it, for where one line has
    room. `direct`: why they are used, if the operator tried itself before.
    """

    message: str = ""
    brief: str = ""
    direct: DirectFailure | None = None


class Fetcher(ABC):
    """A fetcher of the content of one type of source. The answers here are those of a type that needs no other."""

    def lane(self, source: Source) -> str:
        """The lane in which fetches wait for each other: the host that they ask, or all of this type."""
        return source.type

    @abstractmethod
    async def fetch(self, request: FetchRequest) -> Fetched | Waiting: ...

    async def clean_up(self, bundle: str, uid: str, source: Source) -> None:  # noqa: B027 - most types make nothing
        """The content is stored: remove what was made in the cluster to fetch it."""
