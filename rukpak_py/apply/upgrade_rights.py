"""Rights that an upgrade gains and loses, as lines of text: by RBAC, and by objects that count as rights.

Webhook configurations, API services and admission policies see or decide what other clients do, and a privileged pod
has its node: each such object that is new or changed, and each privilege that a workload did not have, is a right
gained. What cannot be resolved counts as gained (`permissions.changes`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rukpak_py.apply.permissions.changes import PermissionChange, permission_changes
from rukpak_py.apply.permissions.permission import Permission, mapping, rule_text, rules_of, scope_text, text
from rukpak_py.apply.permissions.pod_accounts import POD_SPECS, runs_pods
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupKind, ObjectKey, canonical_json

Json = dict[str, Any]

_ADMISSION = "admissionregistration.k8s.io"
_COUNT_AS_RIGHTS = frozenset(
    {
        GroupKind(_ADMISSION, "MutatingWebhookConfiguration"),
        GroupKind(_ADMISSION, "ValidatingWebhookConfiguration"),
        GroupKind(_ADMISSION, "MutatingAdmissionPolicy"),
        GroupKind(_ADMISSION, "MutatingAdmissionPolicyBinding"),
        GroupKind(_ADMISSION, "ValidatingAdmissionPolicy"),
        GroupKind(_ADMISSION, "ValidatingAdmissionPolicyBinding"),
        GroupKind("apiregistration.k8s.io", "APIService"),
    }
)
_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class RightsChange(NamedTuple):
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def rights_change(old: Mapping[ObjectKey, Json], new: Mapping[ObjectKey, Json]) -> RightsChange:
    try:
        changes = permission_changes(old.values(), new.values())
    except ContentError as error:
        return RightsChange((f"not known: {error}",), ())
    gained = [*_lines(changes, gained=True), *_of_objects(old, new), *_new_privileges(old, new)]
    lost = [*_lines(changes, gained=False), *_of_objects(new, old, missing_only=True), *_new_privileges(new, old)]
    return RightsChange(tuple(gained), tuple(lost))


def _lines(changes: Iterable[PermissionChange], *, gained: bool) -> Iterator[str]:
    for change in changes:
        permissions = change.gained if gained else change.lost
        for scope in sorted({one.scope for one in permissions}):
            for verbs, about in map(rule_text, rules_of(_of_scope(permissions, scope))):
                yield f"{change.holder}: {verbs}: {about}, {scope_text(scope)}"
        for reference in change.gained_references if gained else change.lost_references:
            yield f"{change.holder}: {reference}, {scope_text(reference.scope)}"


def _of_scope(permissions: Iterable[Permission], scope: str) -> list[Permission]:
    return [one for one in permissions if one.scope == scope]


def _of_objects(
    old: Mapping[ObjectKey, Json], new: Mapping[ObjectKey, Json], *, missing_only: bool = False
) -> Iterator[str]:
    """Objects that count as rights and are new, or not as they were."""
    for key in sorted(new):
        if key.group_kind not in _COUNT_AS_RIGHTS:
            continue
        if key not in old:
            yield str(key)
        elif not missing_only and canonical_json(old[key].get("spec", _body(old[key]))) != canonical_json(
            new[key].get("spec", _body(new[key]))
        ):
            yield f"{key}, which changes"


def _body(manifest: Json) -> Json:
    """Everything beside the metadata, of kinds without a spec."""
    return {name: value for name, value in manifest.items() if name != "metadata"}


def _new_privileges(old: Mapping[ObjectKey, Json], new: Mapping[ObjectKey, Json]) -> Iterator[str]:
    for key in sorted(new):
        had = set(_privileges(old[key])) if key in old else set[str]()
        for privilege in sorted(set(_privileges(new[key])) - had):
            yield f"the pods of {key}: {privilege}"


def _privileges(manifest: Json) -> Iterator[str]:
    if not runs_pods(manifest):
        return
    for path in POD_SPECS:
        spec: Mapping[str, Any] = manifest
        for step in path:
            spec = mapping(spec.get(step))
        yield from _of_pod(spec)


def _of_pod(spec: Mapping[str, Any]) -> Iterator[str]:
    for name in _HOST_NAMESPACES:
        if spec.get(name) is True:
            yield name
    for volume in _objects(spec.get("volumes")):
        if isinstance(volume.get("hostPath"), Mapping):
            yield f"hostPath {text(volume['hostPath'].get('path'))}"
    for container in (one for kind in _CONTAINERS for one in _objects(spec.get(kind))):
        context, name = mapping(container.get("securityContext")), text(container.get("name"))
        if context.get("privileged") is True:
            yield f"container {name} is privileged"
        added = mapping(context.get("capabilities")).get("add")
        for capability in sorted(one for one in added if isinstance(one, str)) if isinstance(added, list) else ():
            yield f"container {name} has capability {capability}"


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
