"""Names by which objects refer to each other, where the API server's own kinds have them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rukpak_py.formats.json_fields import Json, at, each, text
from rukpak_py.formats.object_rules.judged import Judged, Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    kind: str
    name: str
    namespace: str
    origin: Origin
    key: str = ""  # of a ConfigMap or Secret, without which the container does not start


class _Field(NamedTuple):
    """`kind`: empty where `kind` stands beside the name, and `namespace` may."""

    kind: str
    listed: str  # as for `each`
    name: str  # the field below


_CONTAINERS: Final = ("spec.initContainers[]", "spec.containers[]")
_OF_PODS: Final = (
    _Field("ServiceAccount", "", "spec.serviceAccountName"),
    _Field("Secret", "spec.imagePullSecrets[]", "name"),
    _Field("ConfigMap", "spec.volumes[]", "configMap.name"),
    _Field("Secret", "spec.volumes[]", "secret.secretName"),
    _Field("PersistentVolumeClaim", "spec.volumes[]", "persistentVolumeClaim.claimName"),
    *(_Field("ConfigMap", f"{one}.env[]", "valueFrom.configMapKeyRef.name") for one in _CONTAINERS),
    *(_Field("Secret", f"{one}.env[]", "valueFrom.secretKeyRef.name") for one in _CONTAINERS),
    *(_Field("ConfigMap", f"{one}.envFrom[]", "configMapRef.name") for one in _CONTAINERS),
    *(_Field("Secret", f"{one}.envFrom[]", "secretRef.name") for one in _CONTAINERS),
)
_BINDING: Final = (_Field("", "", "roleRef.name"), _Field("", "subjects[]", "name"))
_OF_KINDS: Final[dict[str, Sequence[_Field]]] = {
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "HorizontalPodAutoscaler": (_Field("", "", "spec.scaleTargetRef.name"),),
    "StatefulSet": (_Field("Service", "", "spec.serviceName"),),
    "Ingress": (
        _Field("Service", "", "spec.defaultBackend.service.name"),
        _Field("Service", "spec.rules[].http.paths[]", "backend.service.name"),
        _Field("Secret", "spec.tls[]", "secretName"),
    ),
}


def references(judged: Judged) -> Iterator[Reference]:
    for pods in judged.pods:
        yield from _found(pods.template, _OF_PODS, pods.namespace, pods.origin)
    for one in judged.objects:
        if one.is_built_in:
            yield from _found(one.document.manifest, _OF_KINDS.get(one.document.kind, ()), one.namespace, one.origin)


def _found(value: Json, fields: Sequence[_Field], namespace: str, origin: Origin) -> Iterator[Reference]:
    for field in fields:
        *above, last = field.name.split(".")
        for path, item in each(value, field.listed):
            beside = at(item, *above)
            if name := text(beside, last):
                yield Reference(
                    kind=field.kind or text(beside, "kind"),
                    name=name,
                    namespace=namespace if field.kind else text(beside, "namespace") or namespace,
                    origin=origin.below(*path, *above, last),
                    key=_needed_key(beside) if field.name.endswith("KeyRef.name") else "",
                )


def _needed_key(source: Any) -> str:
    return "" if at(source, "optional") is True else text(source, "key")
