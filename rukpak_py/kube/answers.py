"""Results of the client, decoded from the bodies of answers; only what callers read is decoded.

Lists come in pages, all of them as of one version.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

import msgspec

from rukpak_py.core.nesting import decoded
from rukpak_py.kube.calls import Call, HttpAnswer
from rukpak_py.kube.errors import ErrorAnswer, GoneError, ServerUnavailableError
from rukpak_py.kube.metadata import LiveObject, Metadata, decode_metadata
from rukpak_py.kube.resources import Resource


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplyAnswer:
    """The answer to an apply. `resent`: an answer was lost and the request repeated, so 200 may be our own create.

    `body`: the whole object as JSON, where it was asked for.
    """

    status: int
    object: LiveObject
    resent: bool = False
    body: bytes = b""

    @property
    def created(self) -> bool:
        return self.status == 201

    @property
    def metadata(self) -> Metadata:
        return self.object.metadata


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    items: list[LiveObject]
    resource_version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    items: list[LiveObject]
    resource_version: str
    token: str  # empty on the last page
    remaining: int | None = None  # after this page; the server does not tell it for selections


class _ListMetadata(msgspec.Struct, gc=False, kw_only=True, rename="camel"):
    resource_version: str | None = None
    token: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct, gc=False, kw_only=True):
    metadata: _ListMetadata | None = None
    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct, gc=False, kw_only=True):
    kind: str | None = None


_LIST = msgspec.json.Decoder(_List)
_KIND = msgspec.json.Decoder(_Kind)


def live_object(resource: Resource, json: bytes, *, full: bool) -> LiveObject:
    """Raises `msgspec.MsgspecError` when `json` is no object."""
    metadata = decode_metadata(json)
    return LiveObject(
        key=resource.key(metadata.namespace, metadata.name), metadata=metadata, json=json if full else None
    )


def read_object(resource: Resource, answer: HttpAnswer, *, full: bool) -> LiveObject:
    try:
        return live_object(resource, answer.body, full=full)
    except msgspec.MsgspecError as error:
        raise _not_understood(resource, answer) from error


def read_page(resource: Resource, answer: HttpAnswer, *, full: bool) -> Page:
    try:
        listed = decoded(_LIST, answer.body)
        # Each item gets bytes of its own: a view would keep the whole page alive as long as one object of it lives.
        items = [live_object(resource, bytes(raw), full=full) for raw in listed.items or []]
    except msgspec.MsgspecError as error:
        raise _not_understood(resource, answer) from error
    metadata = listed.metadata or _ListMetadata()
    return Page(
        items=items,
        resource_version=metadata.resource_version or "",
        token=metadata.token or "",
        remaining=metadata.remaining_item_count,
    )


def read_remains(resource: Resource, answer: HttpAnswer) -> Metadata | None:
    """The object that a DELETE left; None when it is gone: then the server sent a Status, or the object as it was."""
    try:
        if _KIND.decode(answer.body).kind == "Status":
            return None
    except msgspec.MsgspecError as error:
        raise _not_understood(resource, answer) from error
    metadata = read_object(resource, answer, full=False).metadata
    return metadata if metadata.is_deleted else None


def _not_understood(resource: Resource, answer: HttpAnswer) -> ServerUnavailableError:
    """A success whose body is no JSON: something between us and the server answers in its place."""
    text = f"the answer with HTTP status {answer.status} is not the API server's"
    return ServerUnavailableError(ErrorAnswer(subject=resource.gvk.kind, status=answer.status, message=text))


Send = Callable[[Call], Awaitable[HttpAnswer]]


def selection(label_selector: str, field_selector: str) -> dict[str, str]:
    """The query parameters of a selection; an empty selector selects everything."""
    chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in chosen.items() if value}


async def pages(send: Send, call: Call, resource: Resource, *, full: bool) -> AsyncGenerator[Page, None]:
    """Page by page. `GoneError`: the version that they belong to is history by now; begin again."""
    first = call
    while True:
        page = read_page(resource, await send(call), full=full)
        yield page
        if not page.token:
            return
        call = replace(first, params={**first.params, "continue": page.token})


async def all_pages(send: Send, call: Call, resource: Resource, *, full: bool) -> Listing:
    """All items. When their version becomes history on the way, once more from the first page."""
    may_restart = True
    while True:
        items: list[LiveObject] = []
        page: Page | None = None
        try:
            async with aclosing(pages(send, call, resource, full=full)) as found:
                async for page in found:
                    items += page.items
        except GoneError:
            if page is None or not may_restart:
                raise
            may_restart = False
            continue
        return Listing(items=items, resource_version=page.resource_version if page is not None else "")
