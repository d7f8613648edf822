"""A source fetches the content that one member of `spec.source` names, through ports that the operator provides."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, ParamSpec, Protocol, TypeVar

from rukpak_py.api.source import Source
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import UnavailableError

OPAQUE: Final = "Opaque"  # the type of a Secret that has none
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Workers(Protocol):
    """Workers that read content of others: processes with bounded time and memory, which can be ended."""

    async def run(
        self, call: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return or raise what the call does; call, arguments and result must be picklable.

        `ContentError` when it needs too much time or memory, or ends its process. Cancelling ends the process.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceSecret:
    """A Secret that a source names, for `logins` alone.

    `hosts`: its annotation; None: it has none. `own`: why nothing may refer to it, when it is the operator's own.
    `version`: another one whenever anything of the Secret changes.
    """

    data: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    type: str = OPAQUE
    hosts: str | None = None
    own: str = ""
    version: str = ""


class Credentials(Protocol):
    """Sources do not ask for it themselves; see `logins`."""

    async def secret(self, name: str) -> SourceSecret:
        """A Secret of the system namespace; `UnavailableError` when there is none (yet)."""
        ...


class PullSecrets(Protocol):
    async def names(self) -> Sequence[str]:
        """The `imagePullSecrets` of the service account that pods of the system namespace have by default."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageAccess:
    """An image, and who wants its content. `bundle` and `deployment` are uids; the latter may be empty."""

    image: str  # by its digest, as `resolvedSource` names it
    provisioner_class: str
    bundle: str
    deployment: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageContent:
    """`artifact_type`: as in `status.artifactType` of a Bundle."""

    tree: Tree
    artifact_type: str = ""


class UnpackedImages(Protocol):
    """Content of images that is stored, and who has proved that they may read the image where it came from."""

    async def find(self, access: ImageAccess) -> ImageContent | None:
        """The stored content, for a Bundle or a deployment that has proved access; else None."""
        ...

    async def is_stored(self, access: ImageAccess) -> bool:
        """Whether there is content, without a proof of access to it."""
        ...

    async def prove(self, access: ImageAccess) -> None:
        """The registry of the image let this Bundle read the manifest."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PodClaim:
    uid: str
    owner: str  # the uid of the controller, or empty
    is_watched: bool


class Pods(Protocol):
    """The unpack pods of the system namespace, as a watch shows them."""

    async def watch(self) -> None:
        """Watch, so that `get` knows every pod, for a while. Raises UnavailableError when that is not possible."""
        ...

    def get(self, name: str) -> bytes | None:
        """The whole pod as JSON. What was created or deleted a moment ago may not show yet."""
        ...

    def is_in_step(self) -> bool:
        """Whether what `get` does not know is not there."""
        ...

    def was_deleted(self, name: str, bundle_uid: str) -> bool:
        """Whether the watch saw the pod of this Bundle go."""
        ...

    async def create(self, manifest: bytes) -> bool:
        """False when there is a pod of this name; AccessError when the API server refuses it."""
        ...

    async def claim(self, name: str) -> PodClaim | None:
        """The claim to a pod, read from the API server; None when there is no pod."""
        ...

    async def delete(self, name: str, uid: str) -> None:
        """Delete just this pod; it may be gone already."""
        ...

    def run(self, name: str, container: str, command: Sequence[str], *, end: str = "") -> AsyncGenerator[bytes, None]:
        """The standard output of a command, as it arrives. It stops without an error only when the exit code was 0.

        `end`: what the command prints last, before it waits for a line on its standard input. It is no part of the
        output, and shows that all of that has arrived.
        """
        ...

    async def obstacle(self) -> str:
        """The reason that no pod can run in this cluster at all; empty when nothing is known against it."""
        ...


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
