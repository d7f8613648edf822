"""Which workloads of the content serve a kind: by a conversion webhook of its CRD, or by admission webhooks.

Objects of such a kind come after the workload is available; before that the API server refuses them. Only what the
content itself shows is followed: webhook, Service, and the workload whose pods the Service selects.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import orjson

from rukpak_py.apply.desired import Desired
from rukpak_py.apply.order import Phase
from rukpak_py.core.objects import GroupKind, ObjectKey

_CONFIGURATIONS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})

Manifest = Mapping[str, Any]


def serving_workloads(desired: Iterable[Desired]) -> dict[GroupKind, frozenset[ObjectKey]]:
    """By kind. Content without webhooks is not decoded: its CRDs may be large."""
    desired = tuple(desired)
    configurations = [_manifest(one) for one in desired if one.head.gvk.kind in _CONFIGURATIONS]
    crds = [
        _manifest(one)
        for one in desired
        if one.phase is Phase.CRDS and (configurations or b'"strategy":"Webhook"' in one.form.body)
    ]
    kinds = {_resource_of(crd): _kind_of(crd) for crd in crds}
    services: dict[GroupKind, set[ObjectKey]] = {}
    for kind, service in (*_converted(crds), *_admitted(configurations, kinds)):
        services.setdefault(kind, set()).add(service)
    if not services:
        return {}
    wanted = frozenset[ObjectKey]().union(*services.values())
    workloads = _workloads_of(desired, wanted)
    found = {kind: frozenset().union(*(workloads.get(one, ()) for one in of)) for kind, of in services.items()}
    return {kind: keys for kind, keys in found.items() if keys}


def _converted(crds: Iterable[Manifest]) -> Iterator[tuple[GroupKind, ObjectKey]]:
    for crd in crds:
        webhook = _inside(crd, "spec", "conversion", "webhook")
        service = _service(webhook)
        if service is not None:
            yield _kind_of(crd), service


def _admitted(
    configurations: Iterable[Manifest], kinds: Mapping[tuple[str, str], GroupKind]
) -> Iterator[tuple[GroupKind, ObjectKey]]:
    """Kinds that a rule names; one that names all groups is about everything, and waits for nothing."""
    for configuration in configurations:
        for webhook in _list(configuration, "webhooks"):
            service = _service(webhook)
            if service is None:
                continue
            for rule in _list(webhook, "rules"):
                for group in rule.get("apiGroups") or ():
                    for resource in rule.get("resources") or ():
                        yield from (
                            (kind, service)
                            for (of_group, plural), kind in kinds.items()
                            if group == of_group and resource in {plural, "*", "*/*", f"{plural}/*"}
                        )


def _workloads_of(desired: Iterable[Desired], services: Collection[ObjectKey]) -> dict[ObjectKey, set[ObjectKey]]:
    """By Service: the workloads whose pods it selects."""
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


def _resource_of(crd: Manifest) -> tuple[str, str]:
    return str(_inside(crd, "spec").get("group")), str(_inside(crd, "spec", "names").get("plural"))


def _kind_of(crd: Manifest) -> GroupKind:
    return GroupKind(str(_inside(crd, "spec").get("group")), str(_inside(crd, "spec", "names").get("kind")))


def _manifest(one: Desired) -> Manifest:
    manifest: dict[str, Any] = orjson.loads(one.form.body)
    return manifest


def _inside(manifest: Manifest, *path: str) -> Manifest:
    value: Any = manifest
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _list(manifest: Manifest, name: str) -> list[Manifest]:
    value = manifest.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
