"""A client of an API server that only stores and counts, and the controllers' other ports, as small as they go."""

import asyncio
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

import orjson

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import Judged
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.source import Source
from rukpak_py.content.records import BundleRecord
from rukpak_py.content.store import StoredForm
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.controllers.events import EventNote, Recorder
from rukpak_py.controllers.judging import NO_VERDICT, JudgedObject, Judging, Verdict
from rukpak_py.controllers.ports import ReplyToLookup, ValuesObject
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.keyed_digests import KEY_BYTES, DigestKey
from rukpak_py.core.objects import Object
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.kube.answers import Listing, Page, live_object
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import AlreadyExistsError, ApiError, ErrorAnswer, NotFoundError, StaleError
from rukpak_py.kube.events import EventSubject
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import Resource
from rukpak_py.sources.source import Fetched, FetchRequest, ImageAccess, Waiting

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"


def refusal(kind: type[ApiError], message: str = "refused") -> ApiError:
    return kind(ErrorAnswer(subject="test", status=400, message=message))


@dataclass
class FakeClient:
    """`calls` are verb, kind and name. `failing` raises instead of answering, for a verb, `refused_kinds` for a kind;
    what is `ignored` changes nothing.
    """

    calls: list[str] = field(default_factory=list)
    propagations: list[str] = field(default_factory=list)  # of deletions
    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    failing: dict[str, Exception] = field(default_factory=dict)
    refused_kinds: dict[str, Exception] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)
    versions: "count[int]" = field(default_factory=lambda: count(100))

    def as_client(self) -> Client:
        return cast("Client", self)

    def timed(self, _: object) -> "FakeClient":
        return self

    def acting_as(self, _user: str, *, gate: Callable[[], None] | None = None) -> "FakeClient":
        return self

    def put(self, kind: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        stored: dict[str, Any] = orjson.loads(orjson.dumps(manifest))
        metadata = stored.setdefault("metadata", {})
        version = next(self.versions)
        metadata.setdefault("uid", f"uid-{version}")
        metadata.setdefault("generation", 1)
        metadata["resourceVersion"] = str(version)
        self.objects[kind, metadata["name"]] = stored
        return stored

    async def create(self, resource: Resource, _namespace: str, body: bytes, **_: Any) -> LiveObject:
        manifest = orjson.loads(body)
        name = manifest["metadata"]["name"]
        self._called("create", resource, name)
        if (resource.gvk.kind, name) in self.objects:
            raise refusal(AlreadyExistsError)
        return self._answer(resource, self.put(resource.gvk.kind, manifest))

    async def get(self, resource: Resource, _namespace: str, name: str) -> bytes:
        self._called("get", resource, name)
        return orjson.dumps(self._found(resource, name))

    async def get_metadata(self, resource: Resource, _namespace: str, name: str) -> Metadata:
        self._called("get", resource, name)
        return self._answer(resource, self._found(resource, name)).metadata

    async def list_metadata(self, resource: Resource) -> Listing:
        self._called("list", resource, "")
        found = [one for (kind, _), one in self.objects.items() if kind == resource.gvk.kind]
        return Listing(items=[self._answer(resource, one) for one in found], resource_version=str(next(self.versions)))

    async def list_page(self, resource: Resource, namespace: str = "", *, limit: int, token: str = "") -> Page:
        """All in one page."""
        assert limit
        assert not token
        items = [one for one in (await self.list_metadata(resource)).items if namespace in {"", one.key.namespace}]
        return Page(items=items, resource_version="1", token="")

    async def delete(
        self, resource: Resource, _namespace: str, name: str, *, uid: str = "", propagation: str = "", **_: Any
    ) -> None:
        self._called("delete", resource, name)
        self.propagations.append(propagation)
        found = self._found(resource, name)
        if uid and found["metadata"]["uid"] != uid:
            raise refusal(StaleError)
        del self.objects[resource.gvk.kind, name]

    async def patch_status(self, resource: Resource, namespace: str, name: str, body: bytes) -> LiveObject:
        return await self.patch(resource, namespace, name, body, subresource="status")

    async def patch(
        self,
        resource: Resource,
        _namespace: str,
        name: str,
        body: bytes,
        *,
        content_type: str = "",
        subresource: str = "",
        **_: Any,
    ) -> LiveObject:
        self._called("status" if subresource else "patch", resource, name)
        found = self._found(resource, name)
        patch = _as_merge_patch(orjson.loads(body)) if content_type == JSON_PATCH else orjson.loads(body)
        for wanted in ("uid", "resourceVersion"):
            if patch.get("metadata", {}).get(wanted, found["metadata"][wanted]) != found["metadata"][wanted]:
                raise refusal(StaleError)
        if "patch" in self.ignored and not subresource:
            return self._answer(resource, found)
        return self._answer(resource, self.put(resource.gvk.kind, merged(found, patch)))

    def _called(self, verb: str, resource: Resource, name: str) -> None:
        self.calls.append(f"{verb} {resource.gvk.kind} {name}".rstrip())
        if verb in self.failing:
            raise self.failing[verb]
        if resource.gvk.kind in self.refused_kinds:
            raise self.refused_kinds[resource.gvk.kind]

    def _found(self, resource: Resource, name: str) -> dict[str, Any]:
        if (resource.gvk.kind, name) not in self.objects:
            raise refusal(NotFoundError)
        return self.objects[resource.gvk.kind, name]

    @staticmethod
    def _answer(resource: Resource, manifest: Mapping[str, Any]) -> LiveObject:
        return live_object(resource, orjson.dumps(manifest), full=True)


def merged(value: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), change)
    return result


def _as_merge_patch(operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Enough of JSON patches: flat fields of the metadata, and what is beside the metadata."""
    fields = {one["path"]: one["value"] for one in operations}
    metadata = {path.removeprefix("/metadata/"): value for path, value in fields.items() if path.count("/") > 1}
    return {"metadata": metadata, **{path[1:]: value for path, value in fields.items() if path.count("/") == 1}}


@dataclass
class FakeContent:
    """A store in memory, and formats that take everything."""

    stored: dict[str, Tree] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    objects: list[Object] = field(default_factory=list)
    refusing: RukPakError | None = None
    renders: int = 0
    foreign: set[str] = field(default_factory=set)  # digests that no record has

    async def check(self, _classes: Classes, _tree: Tree, *, is_directory: bool) -> Tree | None:
        if self.refusing is not None:
            raise self.refusing
        return None

    async def keep(self, tree: Tree, _converted: Tree | None = None) -> str:
        self.stored[tree.digest] = tree
        return tree.digest

    async def has(self, digest: str) -> bool:
        return digest in self.stored

    async def link(self, bundle: str, digest: str, _form: StoredForm) -> None:
        if digest not in self.stored:
            raise UnavailableError("not there")
        self.links[bundle] = digest

    async def is_linked(self, bundle: str, digest: str) -> bool:
        return self.links.get(bundle) == digest and digest in self.stored

    async def unlink(self, bundle: str) -> None:
        self.links.pop(bundle, None)

    def is_content_of(self, digest: str, *, bundle: str, deployment: str) -> bool:
        return bool(bundle or deployment) and digest not in self.foreign

    async def load(self, digest: str) -> Tree | None:
        return self.stored.get(digest)

    def renders_in_place(self, _classes: Classes, _tree: Tree) -> bool:
        return True

    async def render(self, _classes: Classes, _tree: Tree, _options: RenderOptions) -> RenderedContent:
        self.renders += 1
        return RenderedContent(objects=list(self.objects))

    async def render_with_lookups(
        self, classes: Classes, tree: Tree, options: RenderOptions, _reply: ReplyToLookup
    ) -> RenderedContent:
        return await self.render(classes, tree, options)


@dataclass
class FakeRecords:
    """In memory."""

    kept: dict[str, BundleRecord] = field(default_factory=dict)
    images: list[tuple[ImageAccess, str]] = field(default_factory=list)
    are_new: bool = False

    def of(self, uid: str) -> BundleRecord | None:
        return self.kept.get(uid)

    def of_deployment(self, digest: str, deployment: str, *, spec_digest: str = "") -> BundleRecord | None:
        found = (one for one in self.kept.values() if (one.deployment, one.digest) == (deployment, digest))
        return next((one for one in found if spec_digest in {"", one.spec_digest}), None)

    async def keep(self, record: BundleRecord) -> None:
        self.kept[record.uid] = record

    async def image_unpacked(self, access: ImageAccess, digest: str, *, artifact_type: str = "") -> None:
        self.images.append((access, digest))


@dataclass
class FakeRenderings:
    """In memory."""

    stored: dict[str, RenderedContent] = field(default_factory=dict)

    async def load(self, key: str) -> RenderedContent | None:
        return self.stored.get(key)

    async def keep(self, key: str, content: RenderedContent) -> None:
        self.stored[key] = content

    async def sweep(self, keep: AbstractSet[str]) -> None:
        self.stored = {key: content for key, content in self.stored.items() if key in keep}


@dataclass
class FakeDigestKeys:
    key: DigestKey = DigestKey(b"k" * KEY_BYTES)  # noqa: RUF009 - frozen
    asked: int = 0

    async def get(self) -> DigestKey:
        self.asked += 1
        return self.key


class ImpersonatingClient(FakeClient):
    user = ""  # of the operator itself

    def acting_as(self, user: str, *, gate: Callable[[], None] | None = None) -> "ImpersonatingClient":
        other = ImpersonatingClient()
        other.user = user
        return other


@dataclass
class FakeValuesObjects:
    """`data` by kind and name; `failing` raises instead. `asked`: what was read, and with which client."""

    data: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    failing: Exception | None = None
    retained: set[ValuesObject] = field(default_factory=set)
    asked: list[tuple[ValuesObject, Client]] = field(default_factory=list)

    async def read(self, one: ValuesObject, client: Client) -> dict[str, bytes] | None:
        self.asked.append((one, client))
        if self.failing is not None:
            raise self.failing
        return self.data.get((one.kind, one.name))

    def retain(self, wanted: AbstractSet[ValuesObject]) -> None:
        self.retained = set(wanted)

    async def close(self) -> None:
        pass


@dataclass
class FakeSources:
    """Gives `tree`, or `waiting`, or raises `error`; waits while `gate` is not open."""

    tree: Tree
    resolved: Source | None = None
    error: Exception | None = None
    waiting: Waiting | None = None
    asked: list[FetchRequest] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None

    def lane(self, source: Source) -> str:
        return source.type

    async def fetch(self, request: FetchRequest) -> Fetched | Waiting:
        self.asked.append(request)
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        if self.waiting is not None:
            return self.waiting
        return Fetched(tree=self.tree, resolved=self.resolved or request.source)

    async def clean_up(self, bundle: str, _uid: str, _source: Source) -> None:
        self.settled.append(bundle)


class Trusting(Judging):
    """Judging where the policies have judged everything."""

    def __init__(self) -> None:
        pass

    def noticed(self, uid: str, *, is_free: bool) -> None:
        pass

    def is_asked(self, uid: str) -> bool:
        return False

    def forget(self, uid: str) -> None:
        pass

    async def judge(
        self,
        resource: Resource,
        obj: JudgedObject,
        judged: Judged | None,
        *,
        has_account: bool,
        mirrored: ObjectMeta | None = None,
    ) -> Verdict:
        return NO_VERDICT


@dataclass
class FakeEvents(Recorder):
    told: list[tuple[str, str, str]] = field(default_factory=list)

    def record(self, subject: EventSubject, note: EventNote) -> None:
        self.told.append((note.type, subject.name, note.reason))


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def nothing_installed(_: Bundle) -> None:
    """A deployment that has installed nothing under the Bundle's name."""


def tree(**files: bytes) -> Tree:
    builder = TreeBuilder()
    for path, content in files.items():
        builder.add(path, content)
    return builder.build()
