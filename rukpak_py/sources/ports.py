"""Ports of the sources, which the operator and the command line provide."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, ParamSpec, Protocol, TypeVar

from rukpak_py.content.tree import Tree

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
