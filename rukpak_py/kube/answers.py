"""Results of the client, decoded from the bodies of answers; only what callers read is decoded."""

from dataclasses import dataclass

import msgspec

from rukpak_py.core.nesting import cut
from rukpak_py.kube.calls import HttpAnswer
from rukpak_py.kube.errors import ErrorAnswer, ServerUnavailableError
from rukpak_py.kube.metadata import LiveObject, Metadata, decode_metadata
from rukpak_py.kube.resources import Resource


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplyAnswer:
    """The answer to an apply. `resent`: an answer was lost and the request repeated, so 200 may be our own create."""

    status: int
    object: LiveObject
    resent: bool = False

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


def _listed(body: bytes) -> _List:
    try:
        return _LIST.decode(body)
    except RecursionError:
        return _LIST.decode(cut(body))


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
        listed = _listed(answer.body)
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
