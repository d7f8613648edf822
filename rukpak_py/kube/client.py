"""The API of a cluster, as calls on a `Resource`. Bodies go in as JSON bytes; what comes back is metadata or bytes.

Answers are metadata-only wherever the whole object was not asked for. A write is repeated after a lost answer only
where that is harmless; where it may matter, the result says so (`ApplyAnswer.resent`). Every failure is an `ApiError`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import ClientWebSocketResponse

from rukpak_py.api.names import FIELD_MANAGER
from rukpak_py.kube.answers import (
    ApplyAnswer,
    Listing,
    Page,
    all_pages,
    pages,
    read_object,
    read_page,
    read_remains,
    selection,
)
from rukpak_py.kube.calls import JSON, Call, HttpAnswer, Lane, Repeat
from rukpak_py.kube.config import Connection
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import PODS, Resource
from rukpak_py.kube.transport import Transport
from rukpak_py.kube.watching import Batch, events_of

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
ANYTHING = "*/*"
PAGE = 500
TRY_SECONDS = 10.0  # for a watch to begin


@dataclass(frozen=True, kw_only=True)
class RequestSender:
    """For whom requests are sent, and how: what clients of one connection differ in."""

    user: str | None = None  # None: the operator itself
    fence: Callable[[], None] | None = None
    gate: Callable[[], None] | None = None
    lane: Lane = Lane.WORK
    on_write: Callable[[str, float], None] | None = None  # the subject of a write, and how many seconds it took


_OPERATOR = RequestSender()


class Client:
    def __init__(
        self,
        connection: Connection,
        *,
        timeout: float = 30.0,
        transport: Transport | None = None,
        sender: RequestSender = _OPERATOR,
    ) -> None:
        self._connection = connection
        self._transport = transport or Transport(connection, timeout=timeout)
        self._sender = sender

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.close()

    @property
    def namespace(self) -> str:
        """The namespace that the kubeconfig or the pod names."""
        return self._connection.namespace

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._connection.server

    def acting_as(self, user: str, *, gate: Callable[[], None] | None = None) -> "Client":
        """The same connection with another identity. Its groups are the server's business, never ours.

        `gate` raises, before each request, while the identity may not be used.

        Raises `ValueError` for what is not a user name: the server takes an empty one for the operator itself, and
        does not see white space around it.
        """
        if not user or user != user.strip() or not user.isprintable():
            raise ValueError(f"cannot act as {user!r}: a user name is neither empty nor surrounded by white space")
        return self._sending_as(replace(self._sender, user=user, gate=gate))

    def fenced(self, fence: Callable[[], None]) -> "Client":
        """The same connection for one who may lose the right to write: `fence` raises then, before each write."""
        return self._sending_as(replace(self._sender, fence=fence))

    def in_lane(self, lane: Lane) -> "Client":
        """The same connection for requests that must not wait behind those of other lanes."""
        return self._sending_as(replace(self._sender, lane=lane))

    def timed(self, on_write: Callable[[str, float], None]) -> "Client":
        """The same connection for one who hears how long each write took, whatever came of it."""
        return self._sending_as(replace(self._sender, on_write=on_write))

    def _sending_as(self, sender: RequestSender) -> "Client":
        return Client(self._connection, transport=self._transport, sender=sender)

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """The whole object as JSON."""
        call = Call(method="GET", verb="get", resource=resource, namespace=namespace, name=name)
        return (await self._send(call)).body

    async def get_metadata(self, resource: Resource, namespace: str, name: str) -> Metadata:
        call = Call(method="GET", verb="get", resource=resource, namespace=namespace, name=name, accept=METADATA_ONLY)
        return read_object(resource, await self._send(call), full=False).metadata

    async def log(
        self, namespace: str, pod: str, container: str, *, lines: int, most: int, previous: bool = False
    ) -> bytes:
        """The last lines of a container, of its run before this one where `previous`; `most`: bytes."""
        params = {"container": container, "tailLines": str(lines), "limitBytes": str(most)}
        call = Call(
            method="GET",
            verb="get",
            resource=PODS,
            namespace=namespace,
            name=pod,
            subresource="log",
            params={**params, "previous": "true"} if previous else params,
            accept=ANYTHING,
            most=most + 1,
            repeat=Repeat.UNTOUCHED,
        )
        return (await self._send(call)).body

    async def list_metadata(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        page: int = PAGE,
    ) -> Listing:
        """All objects, page by page, as of one version."""
        params = selection(label_selector, field_selector) | {"limit": str(page)}
        call = _list_call(resource, namespace, params, full=False)
        return await all_pages(self._send, call, resource, full=False)

    async def list_page(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        limit: int,
        token: str = "",
        label_selector: str = "",
        full: bool = False,
        most: int | None = None,
    ) -> Page:
        """One page. `GoneError`: the version that `token` belongs to is history; begin again without it.

        `most`: bytes; `AnswerTooLargeError` for a page that has more.
        """
        params = selection(label_selector, "") | {"limit": str(limit), **({"continue": token} if token else {})}
        call = replace(_list_call(resource, namespace, params, full=full), most=most)
        return read_page(resource, await self._send(call), full=full)

    async def list_cached(
        self, resource: Resource, namespace: str = "", *, params: Mapping[str, str], full: bool = False
    ) -> Listing:
        """List from the server's watch cache: cheap for the server, possibly a little old, and always in one page."""
        call = _list_call(resource, namespace, {**params, "resourceVersion": "0"}, full=full)
        return await all_pages(self._send, call, resource, full=full)

    def list_by_page(
        self, resource: Resource, namespace: str = "", *, params: Mapping[str, str], page: int, full: bool = False
    ) -> AsyncGenerator[Page, None]:
        """The newest state, for objects that are too large to have all of them in memory.

        `GoneError`: that state is history by now; begin again.
        """
        call = _list_call(resource, namespace, {**params, "limit": str(page)}, full=full)
        return pages(self._send, call, resource, full=full)

    async def current_version(
        self, resource: Resource, namespace: str = "", *, verb: str = "list", field_selector: str = ""
    ) -> str:
        """The resourceVersion of a consistent list of one object: the newest state that the server can know of.

        `field_selector`: of a reader whose rights end at one name.
        """
        call = Call(
            method="GET",
            verb=verb,
            resource=resource,
            namespace=namespace,
            params=selection("", field_selector) | {"limit": "1"},
            accept=METADATA_LIST,
        )
        return read_page(resource, await self._send(call), full=False).resource_version

    async def try_watch(self, resource: Resource, version: str) -> None:
        """Open a watch and close it when the server has agreed to it; raises what it says otherwise."""
        call = Call(
            method="GET",
            verb="review",  # it asks for a right and reads nothing
            resource=resource,
            params={"watch": "true", "resourceVersion": version},
            accept=METADATA_ONLY,
            repeat=Repeat.NEVER,
        )
        async with self._transport.stream(self._own(call), idle=TRY_SECONDS):
            pass

    async def create(
        self,
        resource: Resource,
        namespace: str,
        body: bytes,
        *,
        field_manager: str = FIELD_MANAGER,
        dry_run: bool = False,
    ) -> LiveObject:
        call = Call(
            method="POST",
            verb="create",
            resource=resource,
            namespace=namespace,
            params={"fieldManager": field_manager},
            body=body,
            repeat=Repeat.UNTOUCHED,
            dry_run=dry_run,
        )
        return read_object(resource, await self._send(call), full=True)

    async def review(self, resource: Resource, body: bytes) -> bytes:
        """Ask the server about a token or a permission; nothing is stored, so a retry is safe."""
        call = Call(method="POST", verb="review", resource=resource, body=body)
        return (await self._send(call)).body

    async def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        *,
        field_manager: str,
        force: bool,
        dry_run: bool = False,
        whole: bool = False,
    ) -> ApplyAnswer:
        """Server-side apply. Without `force` other managers' fields raise `FieldConflictError`.

        `whole`: the answer has the object, and not only its metadata.
        """
        call = Call(
            method="PATCH",
            verb="apply",
            resource=resource,
            namespace=namespace,
            name=name,
            params={"fieldManager": field_manager, "force": "true" if force else "false"},
            body=body,
            content_type=APPLY_PATCH,
            accept=JSON if whole else METADATA_ONLY,
            dry_run=dry_run,
        )
        answer = await self._send(call)
        applied = read_object(resource, answer, full=False)
        return ApplyAnswer(
            status=answer.status, object=applied, resent=answer.resent, body=answer.body if whole else b""
        )

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        *,
        content_type: str = MERGE_PATCH,
        field_manager: str = FIELD_MANAGER,
        subresource: str = "",
        dry_run: bool = False,
    ) -> LiveObject:
        call = Call(
            method="PATCH",
            verb="patch",
            resource=resource,
            namespace=namespace,
            name=name,
            subresource=subresource,
            params={"fieldManager": field_manager},
            body=body,
            content_type=content_type,
            accept=METADATA_ONLY,
            repeat=Repeat.UNTOUCHED,
            dry_run=dry_run,
        )
        return read_object(resource, await self._send(call), full=False)

    async def patch_status(
        self, resource: Resource, namespace: str, name: str, body: bytes, *, content_type: str = MERGE_PATCH
    ) -> LiveObject:
        return await self.patch(resource, namespace, name, body, content_type=content_type, subresource="status")

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: bytes, *, subresource: str = ""
    ) -> LiveObject:
        """Compare and swap where the body has a resourceVersion: `StaleError` when another client was faster."""
        call = Call(
            method="PUT",
            verb="update",
            resource=resource,
            namespace=namespace,
            name=name,
            subresource=subresource,
            params={"fieldManager": FIELD_MANAGER},
            body=body,
            repeat=Repeat.UNTOUCHED,
        )
        return read_object(resource, await self._send(call), full=True)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
        dry_run: bool = False,
    ) -> Metadata | None:
        """Delete; None when it is gone, else the metadata of what waits for finalizers.

        A precondition (uid, resourceVersion) that does not hold raises `StaleError`; only with one is a request
        repeated whose answer was lost, because the name may have been taken by another object meanwhile.
        """
        conditions = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {key: value for key, value in conditions.items() if value is not None}
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
        if dry_run:
            options["dryRun"] = ["All"]  # with a body, the server does not look at the query
        if propagation is not None:
            options["propagationPolicy"] = propagation
        call = Call(
            method="DELETE",
            verb="delete",
            resource=resource,
            namespace=namespace,
            name=name,
            body=orjson.dumps(options),
            accept=METADATA_ONLY,
            repeat=Repeat.SAFE if preconditions else Repeat.UNTOUCHED,
            dry_run=dry_run,
        )
        return read_remains(resource, await self._send(call))

    async def raw_get(self, path: str, *, accept: str = JSON, etag: str = "", verb: str = "get") -> HttpAnswer:
        """A path that is no resource: discovery, version, readiness. 304 when `etag` still holds."""
        return await self._send(Call(method="GET", verb=verb, path=path, accept=accept, etag=etag))

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        params: Mapping[str, str],
        idle: float,
        full: bool = False,
        on_open: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Batch, None]:
        """The events as they arrive, in batches, until the server ends it; an ERROR event raises what it means.

        `on_open` is called when the server has agreed, which may be long before the first event.
        `TimeoutError`: silent for `idle` seconds. Close the generator (`aclosing`) to end the watch.
        """
        call = Call(
            method="GET",
            verb="watch",
            resource=resource,
            namespace=namespace,
            params={"watch": "true", **params},
            accept=JSON if full else METADATA_ONLY,
            repeat=Repeat.NEVER,
        )
        async with (
            self._transport.stream(self._own(call), idle=idle) as content,
            aclosing(events_of(content, call)) as batches,
        ):
            on_open()
            async for batch in batches:
                yield batch

    @asynccontextmanager
    async def websocket(
        self, call: Call, *, protocols: Sequence[str], longest: int
    ) -> AsyncIterator[ClientWebSocketResponse[bool]]:
        """A connection in both directions, for `exec` and `port_forward`."""
        async with self._transport.websocket(self._own(call), protocols=protocols, longest=longest) as socket:
            yield socket

    async def _send(self, call: Call) -> HttpAnswer:
        on_write = self._sender.on_write
        answered = partial(on_write, call.subject) if on_write is not None and call.is_write else None
        return await self._transport.send(replace(self._own(call), answered=answered))

    def _own(self, call: Call) -> Call:
        sender = self._sender
        return replace(call, user=sender.user, fence=sender.fence, gate=sender.gate, lane=sender.lane)


def _list_call(resource: Resource, namespace: str, params: Mapping[str, str], *, full: bool) -> Call:
    accept = JSON if full else METADATA_LIST
    return Call(method="GET", verb="list", resource=resource, namespace=namespace, params=params, accept=accept)
