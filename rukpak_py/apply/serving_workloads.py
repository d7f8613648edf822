"""Workloads of the content that serve a kind: by a conversion webhook of its CRD, or by admission webhooks.

Objects of such a kind come after the workload is available; before that the API server refuses them. Only what the
content itself shows is followed: webhook, Service, and the workload whose pods the Service selects.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import orjson

from rukpak_py.apply.desired import Desired
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.core.ca_bundles import caller_outline
from rukpak_py.core.objects import GroupKind, ObjectKey

_CONFIGURATIONS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})

Manifest = Mapping[str, Any]


def serving_workloads(desired: Iterable[Desired]) -> dict[GroupKind, frozenset[ObjectKey]]:
    """The workloads that serve each kind. Only what has a webhook is decoded: CRDs may be large."""
    desired = tuple(desired)
    crds = [one for one in desired if one.phase is ApplyPhase.CRDS]
    configurations = [_manifest(one) for one in desired if one.head.gvk.kind in _CONFIGURATIONS]
    kinds = {one.key.name: kind for one in crds for kind in one.defines}
    services: dict[GroupKind, set[ObjectKey]] = {}
    for kind, service in (*_converted(crds), *_admitted(configurations, kinds)):
        services.setdefault(kind, set()).add(service)
    if not services:
        return {}
    workloads = _workloads_of(desired, frozenset[ObjectKey]().union(*services.values()))
    found = {
        kind: frozenset[ObjectKey]().union(*(workloads.get(one, ()) for one in of)) for kind, of in services.items()
    }
    return {kind: keys for kind, keys in found.items() if keys}


def _converted(crds: Iterable[Desired]) -> Iterator[tuple[GroupKind, ObjectKey]]:
    for crd in crds:
        if b'"strategy":"Webhook"' in crd.payload.body:
            service = _service(_inside(caller_outline(crd.payload.body), "spec", "conversion", "webhook"))
            if service is not None:
                yield from ((kind, service) for kind in crd.defines)


def _admitted(
    configurations: Iterable[Manifest], kinds: Mapping[str, GroupKind]
) -> Iterator[tuple[GroupKind, ObjectKey]]:
    """Kinds, by the names of their CRDs, that a rule names; one about all groups waits for nothing."""
    for configuration in configurations:
        for webhook in _list(configuration, "webhooks"):
            service = _service(webhook)
            named = {
                (group, resource)
                for rule in _list(webhook, "rules")
                for group in _strings(rule, "apiGroups")
                for resource in _strings(rule, "resources")
            }
            if service is not None:
                yield from ((kind, service) for crd, kind in kinds.items() if _is_named(crd, named))


def _is_named(crd: str, rules: Collection[tuple[str, str]]) -> bool:
    plural, _, group = crd.partition(".")
    return any((group, resource) in rules for resource in (plural, f"{plural}/*", "*", "*/*"))


def _workloads_of(desired: Iterable[Desired], services: Collection[ObjectKey]) -> dict[ObjectKey, set[ObjectKey]]:
    """The workloads whose pods each Service selects."""
    selectors = {one.key: _inside(_manifest(one), "spec", "selector") for one in desired if one.key in services}
    found: dict[ObjectKey, set[ObjectKey]] = {}
    for one in desired:
        if one.head.gvk.kind not in _WORKLOADS or one.head.gvk.group != "apps":
            continue
        labels = _inside(_manifest(one), "spec", "template", "metadata", "labels")
        for service, selector in selectors.items():
            if selector and service.namespace == one.key.namespace and selector.items() <= labels.items():
                found.setdefault(service, set()).add(one.key)
    return found


def _service(webhook: Manifest) -> ObjectKey | None:
    service = _inside(webhook, "clientConfig", "service")
    namespace, name = service.get("namespace"), service.get("name")
    return ObjectKey("", "Service", namespace, name) if isinstance(namespace, str) and isinstance(name, str) else None


def _manifest(one: Desired) -> Manifest:
    manifest: dict[str, Any] = orjson.loads(one.payload.body)
    return manifest


def _inside(manifest: Manifest, *path: str) -> Manifest:
    value: Any = manifest
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _list(manifest: Manifest, name: str) -> list[Manifest]:
    value = manifest.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _strings(manifest: Manifest, name: str) -> list[str]:
    value = manifest.get(name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
