"""Which workloads an autoscaler of the same content scales: their `replicas` are its to set, not the content's."""

from collections.abc import Iterable, Mapping
from typing import Any

from rukpak_py.core.objects import GroupKind, GroupVersionKind, Object, ObjectKey

REPLICAS = "/spec/replicas"
# What a reference means that names no API version and no kind; None: it has to name them.
_SCALERS: Mapping[GroupKind, tuple[str, str] | None] = {
    GroupKind("autoscaling", "HorizontalPodAutoscaler"): None,
    GroupKind("keda.sh", "ScaledObject"): ("apps/v1", "Deployment"),
}


def scaled(objects: Iterable[Object], *, default_namespace: str) -> Mapping[ObjectKey, ObjectKey]:
    """By the workload what scales it."""
    found: dict[ObjectKey, ObjectKey] = {}
    for one in objects:
        if one.head.gvk.group_kind not in _SCALERS:
            continue
        scaler = one.head.key._replace(namespace=one.head.namespace or default_namespace)
        target = _target(one.manifest(), _SCALERS[one.head.gvk.group_kind])
        if target is not None:
            group, kind, name = target
            found.setdefault(ObjectKey(group, kind, scaler.namespace, name), scaler)
    return found


def _target(manifest: dict[str, Any], default: tuple[str, str] | None) -> tuple[str, str, str] | None:
    spec = manifest.get("spec")
    reference = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict):
        return None
    api_version, kind = default or ("", "")
    named = (reference.get("apiVersion") or api_version, reference.get("kind") or kind, reference.get("name"))
    version, kind, name = (one if isinstance(one, str) else "" for one in named)
    return (GroupVersionKind.parse(version, kind).group, kind, name) if version and kind and name else None
