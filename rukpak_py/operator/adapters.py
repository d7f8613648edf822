"""The ports of `server`, `controllers` and `sources`, in terms of the API client."""

import base64
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import orjson

from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_INSTANCE_KIND,
    BUNDLE_KIND,
    FIELD_MANAGER,
    HOSTS_ANNOTATION,
    Reason,
)
from rukpak_py.api.own_secrets import OWN_SECRET_LABELS, own_by_marks, own_by_name
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.logs import about, log_event
from rukpak_py.core.objects import GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.events import EventRecorder, EventSubject
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import (
    BUNDLE_DEPLOYMENTS,
    BUNDLE_INSTANCES,
    BUNDLES,
    CONFIG_MAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    Resource,
)
from rukpak_py.kube.seen_versions import OnRestore
from rukpak_py.server.certificate_secrets import Secret
from rukpak_py.sources.config_maps import ConfigMap
from rukpak_py.sources.ports import OPAQUE, SourceSecret

DEFAULT_ACCOUNT = "default"  # of pods that name no other
_LOGS = {
    BUNDLE_KIND: logging.getLogger("rukpak_py.controllers.bundle"),
    BUNDLE_DEPLOYMENT_KIND: logging.getLogger("rukpak_py.controllers.deployment"),
    BUNDLE_INSTANCE_KIND: logging.getLogger("rukpak_py.controllers.instance"),
}
WEBHOOK_CONFIGURATIONS = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)


class Events:
    """The controllers' `Recorder`: Events, and the same words in the log, by the logger of the room of their kind."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder
        self._kinds = {resource.gvk.kind: resource.gvk for resource in (BUNDLES, BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES)}

    def normal(self, kind: str, name: str, uid: str, reason: str, message: str) -> None:
        with about(kind, name):
            log_event(_LOGS[kind], logging.INFO, reason, message)
        subject = EventSubject(gvk=self._kinds[kind], name=name, uid=uid)
        self._recorder.record(subject, reason=reason, message=message)

    def warning(self, kind: str, name: str, uid: str, reason: str, message: str) -> None:
        with about(kind, name):
            log_event(_LOGS[kind], _level(kind, reason), reason, message)
        subject = EventSubject(gvk=self._kinds[kind], name=name, uid=uid)
        self._recorder.record(subject, type="Warning", reason=reason, message=message)


def _level(kind: str, reason: str) -> int:
    """A deployment repeats of its Bundle why that could not be unpacked: that line is in the log already."""
    is_repeated = (kind, reason) == (BUNDLE_DEPLOYMENT_KIND, Reason.UNPACK_FAILED)
    return logging.DEBUG if is_repeated else logging.WARNING


class SystemSecrets:
    """The certificate keeper's `Secrets`."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def read(self, name: str) -> Secret | None:
        try:
            manifest = orjson.loads(await self._client.get(SECRETS, self._namespace, name))
        except NotFoundError:
            return None
        return Secret(data=data_of_secret(manifest), version=manifest["metadata"]["resourceVersion"])

    async def create(self, name: str, data: Mapping[str, bytes]) -> bool:
        try:
            await self._client.create(SECRETS, self._namespace, self._body(name, data))
        except AlreadyExistsError:
            return False
        return True

    async def replace(self, name: str, data: Mapping[str, bytes], version: str) -> bool:
        try:
            await self._client.replace(SECRETS, self._namespace, name, self._body(name, data, version))
        except (StaleError, NotFoundError):
            return False
        return True

    def _body(self, name: str, data: Mapping[str, bytes], version: str = "") -> bytes:
        metadata = {
            "name": name,
            "namespace": self._namespace,
            "labels": OWN_SECRET_LABELS,
            **({"resourceVersion": version} if version else {}),
        }
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        return canonical_json({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded})


class WebhookConfigurations:
    """The certificate keeper's port of the same name."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, name: str) -> dict[str, Any] | None:
        try:
            body: dict[str, Any] = orjson.loads(await self._client.get(WEBHOOK_CONFIGURATIONS, "", name))
        except NotFoundError:
            return None
        return body

    async def patch(self, name: str, patch: list[dict[str, Any]]) -> None:
        body = canonical_json(patch)
        await self._client.patch(WEBHOOK_CONFIGURATIONS, "", name, body, content_type=JSON_PATCH)

    async def apply(self, manifest: dict[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        body = canonical_json(manifest)
        await self._client.apply(WEBHOOK_CONFIGURATIONS, "", name, body, field_manager=FIELD_MANAGER, force=True)


class SystemConfigMaps:
    """The content of ConfigMaps of the system namespace, for the configMaps source."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def get(self, name: str) -> ConfigMap:
        try:
            manifest = orjson.loads(await self._client.get(CONFIG_MAPS, self._namespace, name))
        except NotFoundError as error:
            text = f'get configmap {self._namespace}/{name}: ConfigMap "{name}" not found'
            raise UnavailableError(text) from error
        return ConfigMap(data=data_of_config_map(manifest))


def data_of_config_map(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    binary = manifest.get("binaryData") or {}
    text = {key: value.encode() for key, value in (manifest.get("data") or {}).items()}
    return text | {key: base64.b64decode(value) for key, value in binary.items()}


def data_of_secret(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (manifest.get("data") or {}).items()}


def own_secret(name: str, manifest: Mapping[str, Any]) -> str:
    """Why nothing may refer to this Secret of the system namespace, when it is our own; its data is not looked at."""
    metadata = manifest["metadata"]
    return own_by_name(name) or own_by_marks(
        name,
        kind=manifest.get("type") or "",
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
    )


class _Reference(msgspec.Struct, frozen=True):
    name: str = ""


class SystemCredentials:
    """The Secrets of the system namespace, for the sources. What they hold is never remembered and never logged."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def secret(self, name: str) -> SourceSecret:
        try:
            body = await self._client.get(SECRETS, self._namespace, name)
        except NotFoundError as error:
            raise UnavailableError(f'get secret {self._namespace}/{name}: Secret "{name}" not found') from error
        manifest = orjson.loads(body)
        version = manifest["metadata"]["resourceVersion"]
        if own := own_secret(name, manifest):
            return SourceSecret(own=own, version=version)
        return SourceSecret(
            data=data_of_secret(manifest),
            type=manifest.get("type") or OPAQUE,
            hosts=(manifest["metadata"].get("annotations") or {}).get(HOSTS_ANNOTATION),
            version=version,
        )


class _Account(msgspec.Struct, rename="camel"):
    image_pull_secrets: list[_Reference] | None = None


class AccountPullSecrets:
    """Of the service account that a pod of the system namespace has when it names none."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.last_names: Sequence[str] = ()  # as the last fetch of an image found them

    async def names(self) -> Sequence[str]:
        self.last_names = await self._names()
        return self.last_names

    async def _names(self) -> Sequence[str]:
        try:
            body = await self._client.get(SERVICE_ACCOUNTS, self._namespace, DEFAULT_ACCOUNT)
        except NotFoundError:
            return ()
        account = msgspec.json.decode(body, type=_Account)
        return tuple(secret.name for secret in account.image_pull_secrets or [] if secret.name)


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    config_map: _Reference = _Reference()


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    config_maps: list[_Item] | None = None


class _Spec(msgspec.Struct, frozen=True):
    source: _Source = _Source()


class _BundleHead(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


class ConfigMapUsers:
    """Which Bundles refer to which ConfigMaps: a watch of its own, because every replica serves the webhook."""

    def __init__(self, client: Client, *, on_restore: OnRestore | None = None) -> None:
        self._users: dict[str, set[str]] = {}
        self._named: dict[str, frozenset[str]] = {}
        self.informer = Informer(client, BUNDLES, full=True, on_change=self._changed, on_restore=on_restore)

    async def using(self, config_map: str) -> Sequence[str]:
        return sorted(self._users.get(config_map, ()))

    def _changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        names = _config_maps_of(new) if new is not None else frozenset()
        for name in self._named.pop(key.name, frozenset()) - names:
            self._users[name].discard(key.name)
            if not self._users[name]:
                del self._users[name]
        for name in names:
            self._users.setdefault(name, set()).add(key.name)
        if names:
            self._named[key.name] = names


def _config_maps_of(bundle: LiveObject) -> frozenset[str]:
    """Whatever its type, as the original: a Bundle that lists a ConfigMap uses it."""
    try:
        source = msgspec.json.decode(bundle.json or b"{}", type=_BundleHead).spec.source
    except msgspec.DecodeError:
        return frozenset()
    return frozenset(item.config_map.name for item in source.config_maps or [] if item.config_map.name)
