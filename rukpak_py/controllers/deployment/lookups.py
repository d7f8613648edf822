"""Lookups that the templates of a chart make in the cluster while it is rendered, and the Secrets they may see.

Helm makes nothing of a 404, and charts make a new password of nothing. So 404 is answered only where the API server
says that the object does not exist. A question that cannot be answered, because a right is missing, the server is away
or a Secret is not shown to this chart, ends the rendering: `failure` is the reason, and it counts whatever helm makes
of it. A list that leaves something out would be a wrong answer, and ends it, too.

Of the namespace of their release templates may look up all Secrets but those that the operator issued; of the system
namespace those of their own deployment, and those of their own release that helm left; of any other namespace none. A
setting opens namespaces. A Secret of the operator itself is never shown, whatever the setting says. Objects of any
other kind may be looked up.
"""

from base64 import b64decode
from collections.abc import Awaitable
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from typing import Final, NamedTuple, TypeVar

import msgspec
import orjson

from rukpak_py.api.names import (
    HELM_RELEASE_ANNOTATION,
    HELM_RELEASE_NAMESPACE_ANNOTATION,
    MANAGED_BY_LABEL,
    RELEASED_ANNOTATION,
)
from rukpak_py.api.own_secrets import own_by_marks, own_by_name
from rukpak_py.apply.marks import released_value
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.controllers.deployment.state_parts import FailedAfterLookupsError
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.core.masking import MOST_VALUES
from rukpak_py.formats.helm.api_answers import status_body
from rukpak_py.formats.helm.cluster_view import LookedUp, Lookup
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery_documents import Served
from rukpak_py.kube.errors import ApiError, ForbiddenError, KindNotServedError, NotFoundError
from rukpak_py.kube.metadata import Metadata, decode_metadata
from rukpak_py.kube.resources import SECRETS, Resource, is_segment

EVERY_NAMESPACE: Final = "*"
FLAG: Final = "--lookup-secrets-in"
_HELM: Final = "Helm"


@dataclass(frozen=True, kw_only=True, slots=True)
class LookupPolicy:
    """`opened`: namespaces whose Secrets every chart may look up; `EVERY_NAMESPACE` for all of them."""

    system_namespace: str
    opened: frozenset[str] = frozenset()

    def opens(self, namespace: str) -> bool:
        return not self.opened.isdisjoint({namespace, EVERY_NAMESPACE})


@dataclass(frozen=True, kw_only=True, slots=True)
class LookingUp:
    """The release that looks Secrets up, of the deployment with this uid."""

    release: str
    namespace: str
    uid: str
    policy: LookupPolicy

    def hidden_by_name(self, namespace: str, name: str) -> str:
        """Reason why a Secret of this name is not even read; an empty `name`: none of the namespace, "" for all."""
        if not namespace:
            return "a list of all Secrets of the cluster has those of the operator"
        if self._is_system(namespace):
            return own_by_name(name)
        if namespace == self.namespace or self.policy.opens(namespace):
            return ""
        return (
            f"it is not in {self.namespace}, the namespace of its release; {FLAG}={namespace} of the operator opens "
            "the Secrets of that namespace to all charts"
        )

    def hidden(self, metadata: Metadata, secret_type: str) -> str:
        """Reason why this Secret of a namespace in which some can be seen is not shown; empty: it is."""
        is_system = self._is_system(metadata.namespace)
        name, labels, annotations = metadata.name, metadata.labels, metadata.annotations
        own = own_by_name(name) if is_system else ""
        own = own or own_by_marks(name, kind=secret_type if is_system else "", labels=labels, annotations=annotations)
        if own or not is_system or self.policy.opens(metadata.namespace):
            return own
        is_left_by_helm = (
            labels.get(MANAGED_BY_LABEL) == _HELM
            and annotations.get(HELM_RELEASE_ANNOTATION) == self.release
            and annotations.get(HELM_RELEASE_NAMESPACE_ANNOTATION) == self.namespace
        )
        if is_left_by_helm or self._is_of_deployment(metadata):
            return ""
        return (
            "it is in the system namespace, and neither of this BundleDeployment nor of its release; set "
            f"spec.installNamespace to a namespace of its own, or {FLAG}={metadata.namespace} for the operator"
        )

    def _is_system(self, namespace: str) -> bool:
        return namespace == self.policy.system_namespace

    def _is_of_deployment(self, metadata: Metadata) -> bool:
        """Whether the deployment owns the object, or released it when it left the content."""
        key = SECRETS.key(metadata.namespace, metadata.name)
        seen = observed_object(key, SECRETS.gvk, metadata)
        is_owned = seen.owner_uid == self.uid and seen.is_proven_of(self.uid)
        return is_owned or metadata.annotations.get(RELEASED_ANNOTATION) == released_value(self.uid, key, metadata)


_PAGE: Final = 250
_REMEMBERED: Final = 4096  # characters of a value in a Secret, for messages to hide
T = TypeVar("T")


class _Secret(msgspec.Struct, gc=False, kw_only=True):
    type: str | None = None
    data: dict[str, str] | None = None


class _Place(NamedTuple):
    """Target of a lookup: one object, or all where `name` is empty."""

    resource: Resource
    namespace: str
    name: str

    @property
    def is_secret(self) -> bool:
        return self.resource.group_kind == SECRETS.group_kind

    def __str__(self) -> str:
        if self.name:
            return str(self.resource.key(self.namespace, self.name))
        where = f"in namespace {self.namespace}" if self.namespace else "of the cluster"
        return f"all {self.resource.group_kind} objects {where}"


class Lookups:
    """Lookups of one rendering."""

    def __init__(self, client: Client, served: Served, who: LookingUp, *, limits: Limits) -> None:
        """`client`: with the identity of the deployment."""
        self._client = client
        self._resources = {(*gvk[:2], resource.plural): resource for gvk, resource in served.resources.items()}
        self._who = who
        self._limits = limits
        self._bytes = 0
        self.count = 0
        self.asked = set[Lookup]()  # where only the rights of the client decide the answer
        self.secrets = list[ValuesDocument]()  # what templates have seen of Secrets, for messages to hide
        self.failure: RukPakError | None = None

    async def reply(self, question: object) -> LookedUp:
        """The process that asks reads hostile content, so its question may be anything."""
        if self.failure is None:
            try:
                return await self._looked_up(self._place_of(question))
            except RukPakError as error:
                self.failure = error
        status = HTTPStatus.FORBIDDEN if isinstance(self.failure, AccessError) else HTTPStatus.SERVICE_UNAVAILABLE
        return LookedUp(status, status_body(status, "", "it cannot be looked up now"))

    async def during(self, rendering: Awaitable[T]) -> T:
        """Return the result of the rendering, unless a question of it could not be answered."""
        try:
            made = await rendering
        except ContentError as error:
            if self.failure is not None:
                raise self.failure from error
            if self.count:
                failed = FailedAfterLookupsError(str(error))
                failed.brief = error.brief
                raise failed from error
            raise
        if self.failure is not None:
            raise self.failure
        return made

    def _place_of(self, question: object) -> _Place:
        self.count += 1
        if self.count > self._limits.chart_lookups:
            raise self._limits.exceeded("chart_lookups", "the number of lookups of the chart")
        if not isinstance(question, Lookup) or not all(isinstance(part, str) for part in question):
            raise UnavailableError("the process that renders the chart asked for what is no object")
        resource = self._resources.get(question[:3])
        if resource is None or not (is_segment(question.namespace) and is_segment(question.name)):
            raise UnavailableError("the chart looks up an object of a kind that is not served at the moment")
        return _Place(resource, question.namespace, question.name)

    async def _looked_up(self, place: _Place) -> LookedUp:
        if place.is_secret:
            self._demand_shown(place, self._who.hidden_by_name(place.namespace, place.name))
        resource = place.resource
        self.asked.add(Lookup(*resource.gvk[:2], resource.plural, place.namespace, place.name))
        try:
            return LookedUp(HTTPStatus.OK, await (self._object(place) if place.name else self._list(place)))
        except NotFoundError as error:
            return LookedUp(HTTPStatus.NOT_FOUND, status_body(HTTPStatus.NOT_FOUND, "NotFound", error.message))
        except ForbiddenError as error:
            raise AccessError(f"the chart looks up {place}, which is refused: {error.message}") from error
        except KindNotServedError as error:
            raise UnavailableError(f"the chart looks up {place}, whose kind is not served at the moment") from error
        except ApiError as error:
            text = f"the chart looks up {place}, which fails: {error.message}"
            raise UnavailableError(text, retry_after=error.retry_after) from error

    async def _object(self, place: _Place) -> bytes:
        body = await self._client.get(place.resource, place.namespace, place.name)
        self._count_bytes(len(body))
        if place.is_secret:
            self._see_secret(place, decode_metadata(body), body)
        return body

    async def _list(self, place: _Place) -> bytes:
        items, token, version = list[bytes](), "", ""
        while token or not version:
            page = await self._client.list_page(place.resource, place.namespace, limit=_PAGE, token=token, full=True)
            for item in page.items:
                body = item.json or b"{}"
                self._count_bytes(len(body))
                if place.is_secret:
                    self._see_secret(place, item.metadata, body)
                items.append(body)
            token, version = page.token, page.resource_version or "0"
        gvk, metadata = place.resource.gvk, {"resourceVersion": version}
        head = orjson.dumps({"apiVersion": gvk.api_version, "kind": f"{gvk.kind}List", "metadata": metadata})
        return head.removesuffix(b"}") + b',"items":[' + b",".join(items) + b"]}"

    def _see_secret(self, place: _Place, metadata: Metadata, body: bytes) -> None:
        secret = msgspec.json.decode(body, type=_Secret)
        if hidden := self._who.hidden(metadata, secret.type or ""):
            self._demand_shown(place, hidden if place.name else f"one of them is {metadata.name}: {hidden}")
        room = MOST_VALUES - sum(len(one.document) for one in self.secrets)
        data = {key: _text_of(value) for key, value in islice((secret.data or {}).items(), max(room, 0))}
        self.secrets.append(ValuesDocument(document=data, is_secret=True))

    @staticmethod
    def _demand_shown(place: _Place, hidden: str) -> None:
        if hidden:
            raise AccessError(f"the chart looks up {place}, which it may not read: {hidden}")

    def _count_bytes(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._limits.chart_lookup_bytes:
            raise self._limits.exceeded("chart_lookup_bytes", "the size of what the chart looks up")


def _text_of(value: str) -> str:
    """The text of data in Base64; the data as it is, where that is binary. Its beginning alone, which a mask needs."""
    try:
        return b64decode(value).decode()[:_REMEMBERED]
    except ValueError:
        return value[:_REMEMBERED]
