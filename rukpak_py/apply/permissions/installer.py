"""The permissions that an identity needs to install, upgrade and remove a set of objects, and not one more.

Every object is read, created, patched and deleted by its name (`create` cannot be restricted to names). Beside that:

* the server does not let a client write a role with permissions that it lacks, nor bind one: an installer has what the
  objects grant, or may `escalate` and `bind` those roles. Roles that are not among the objects, and those that the
  server fills itself (aggregated ones), can only be bound by the permission to do so;
* hooks are created by POST, of which the server knows no name: `escalate` and `bind` help only without names;
* a Service may ask for a Secret with a serving certificate, which is kept as the installer;
* the causes of unhealthy workloads are read from their pods;
* before a CRD or a Namespace is deleted, its instances or its contents are counted.

The operator itself watches what it has installed. In the narrow mode it needs rights for that, too: to watch a kind in
all namespaces, and Secrets in each namespace where there are some, because who may watch them may read them.

Kinds become resources without a server to ask: what a CRD of the same content says wins; kinds that Kubernetes itself
serves stand in a table; for the others the name is guessed as English makes plurals, and an object that names no
namespace is taken for one that lives in the install namespace. `resource_of` knows better where a server can be asked.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from rukpak_py.api.names import GROUP, SERVING_CERTIFICATE_ANNOTATION
from rukpak_py.apply.permissions.grants import Binding, Role, RoleKey, bindings_of, bounded, roles_of
from rukpak_py.apply.permissions.permission import Permission, mapping, permissions_of, reduced, rules_of, text
from rukpak_py.apply.permissions.pod_accounts import runs_pods
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.objects import RBAC_GROUP, GroupKind, GroupVersionKind

Json = dict[str, Any]

_CLUSTER_SCOPED: Mapping[str, str] = {
    "": "Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "console.openshift.io": "ConsoleCLIDownload ConsoleExternalLogLink ConsoleLink ConsoleNotification ConsolePlugin "
    "ConsoleQuickStart ConsoleSample ConsoleYAMLSample",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodSecurityPolicy",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "security.openshift.io": "SecurityContextConstraints",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
}
# Kinds that the operator watches in every mode, whatever is installed.
_WATCHED_ALWAYS = {
    ("", "namespaces"),
    ("", "resourcequotas"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    (GROUP, "bundledeployments"),
    (GROUP, "bundleinstances"),
    (GROUP, "bundles"),
}
_CLUSTER_KINDS = {GroupKind(group, kind) for group, kinds in _CLUSTER_SCOPED.items() for kind in kinds.split()}
_ALREADY_PLURAL = {"Endpoints", "SecurityContextConstraints"}


class PermittedResource(NamedTuple):
    group: str
    plural: str
    is_namespaced: bool


class Resources:
    def __init__(self, objects: Iterable[Json]) -> None:
        self._defined = dict(filter(None, map(_definition, objects)))

    def of(self, manifest: Json) -> PermittedResource:
        gvk = GroupVersionKind.parse(text(manifest.get("apiVersion")), text(manifest.get("kind")))
        if defined := self._defined.get(gvk.group_kind):
            return defined
        return PermittedResource(gvk.group, plural_of(gvk.kind), gvk.group_kind not in _CLUSTER_KINDS)


def plural_of(kind: str) -> str:
    lower = kind.lower()
    if kind in _ALREADY_PLURAL:
        return lower
    if lower.endswith(("s", "x", "ch", "sh")):
        return f"{lower}es"
    return f"{lower[:-1]}ies" if re.search("[^aeiou]y$", lower) else f"{lower}s"


def _definition(manifest: Json) -> tuple[GroupKind, PermittedResource] | None:
    crd = crd_facts(manifest) if manifest.get("kind") == "CustomResourceDefinition" else None
    if crd is None:
        return None
    return crd.kind, PermittedResource(crd.kind.group, crd.plural, crd.namespaced)


_BY_NAME = ("get", "patch", "delete")
_HOOK_BY_NAME = ("get", "delete")
WATCH_VERBS = ("get", "list", "watch")
_SECRETS = ("", "secrets")
_NAMESPACE_CONTENTS = ("pods", "persistentvolumeclaims", "services", "secrets", "configmaps")
_OLM_LISTS = tuple(
    Permission("", "list", "operators.coreos.com", plural) for plural in ("subscriptions", "clusterserviceversions")
)
ResourceOf = Callable[[Json], PermittedResource]


@dataclass(frozen=True, kw_only=True, slots=True)
class GrantNeed:
    """The need of writing one role or binding: to hold what it grants, or the verb that allows it without."""

    instead: Permission
    held: frozenset[Permission] | None  # None: it is not known what the role allows


@dataclass(frozen=True, kw_only=True)
class Needs:
    """`watched`: what the operator itself needs in the narrow mode, to see what is installed."""

    permissions: frozenset[Permission]
    watched: frozenset[Permission] = frozenset()
    grants: tuple[GrantNeed, ...] = ()
    escalate: bool = False  # the installer may write and bind roles without their permissions

    @cached_property
    def least(self) -> frozenset[Permission]:
        """The fewest permissions with which all of it can be done."""
        granting = (
            permission
            for need in self.grants
            for permission in ([need.instead] if self.escalate or need.held is None else need.held)
        )
        return frozenset(reduced({*self.permissions, *bounded(granting)}))

    @cached_property
    def rules(self) -> dict[str, list[Json]]:
        return rules_by_scope(self.least)


def rules_by_scope(permissions: Iterable[Permission]) -> dict[str, list[Json]]:
    """Rules by scope: "" is the whole cluster, everything else a namespace."""
    permissions = list(permissions)
    scopes = sorted({permission.scope for permission in permissions})
    return {scope: rules_of(one for one in permissions if one.scope == scope) for scope in scopes}


def needs_of(
    objects: Iterable[Json],
    *,
    install_namespace: str,
    created_once: Iterable[Json] = (),
    hooks: Iterable[Json] = (),
    others: Iterable[Permission] = (),
    looks_for_olm: bool = False,
    escalate: bool = False,
    resource_of: ResourceOf | None = None,
) -> Needs:
    """`created_once`: objects that are left as they are once they exist. `others`: what is needed beside the content.

    `looks_for_olm`: OLM is asked whether it manages the same package.
    """
    objects, created_once, hooks = list(objects), list(created_once), list(hooks)
    everything = [*objects, *created_once, *hooks]
    places = _Places(resource_of or Resources(everything).of, install_namespace)
    return Needs(
        permissions=frozenset(
            {
                *_writing(objects, places, _BY_NAME),
                *_writing(created_once, places, ("get",)),
                *_writing(hooks, places, _HOOK_BY_NAME),
                *_certificates(objects, places),
                *_looking(objects, places),
                *others,
                *(_OLM_LISTS if looks_for_olm else ()),
            }
        ),
        watched=frozenset(_watching([*objects, *created_once], hooks, places)),
        grants=(*_granting(objects, roles_of(everything)), *_granting_in_hooks(hooks, everything)),
        escalate=escalate,
    )


class _Places:
    """Where objects live: their resources, and the namespaces of those that name none."""

    def __init__(self, resource_of: ResourceOf, install_namespace: str) -> None:
        self.resource_of = resource_of
        self._install_namespace = install_namespace

    def scope_of(self, manifest: Json) -> str:
        if not self.resource_of(manifest).is_namespaced:
            return ""
        return text(mapping(manifest.get("metadata")).get("namespace")) or self._install_namespace


def _writing(objects: list[Json], places: _Places, verbs: tuple[str, ...]) -> Iterator[Permission]:
    for manifest in objects:
        resource, scope = places.resource_of(manifest), places.scope_of(manifest)
        yield Permission(scope, "create", resource.group, resource.plural)
        for verb in verbs:
            yield Permission(scope, verb, resource.group, resource.plural, _name(manifest))


def _certificates(objects: list[Json], places: _Places) -> Iterator[Permission]:
    for manifest in objects:
        if name := _certificate_of(manifest):
            scope = places.scope_of(manifest)
            yield Permission(scope, "create", "", "secrets")
            for verb in _BY_NAME:
                yield Permission(scope, verb, "", "secrets", name)


def _certificate_of(manifest: Json) -> str:
    """Name of the Secret with the certificate that a Service asks for."""
    if manifest.get("kind") != "Service":
        return ""
    annotations = mapping(mapping(manifest.get("metadata")).get("annotations"))
    return text(annotations.get(SERVING_CERTIFICATE_ANNOTATION))


def _watching(objects: list[Json], hooks: list[Json], places: _Places) -> Iterator[Permission]:
    """Hooks that are Secrets are not watched."""
    for manifest in (*objects, *hooks):
        resource = places.resource_of(manifest)
        kind = resource.group, resource.plural
        if kind not in {*_WATCHED_ALWAYS, _SECRETS}:
            yield from (Permission("", verb, *kind) for verb in WATCH_VERBS)
    namespaces = {places.scope_of(one) for one in objects if places.resource_of(one)[:2] == _SECRETS}
    namespaces |= {places.scope_of(one) for one in objects if _certificate_of(one)}
    for namespace in namespaces:
        yield from (Permission(namespace, verb, *_SECRETS) for verb in WATCH_VERBS)


def _looking(objects: list[Json], places: _Places) -> Iterator[Permission]:
    for manifest in objects:
        if runs_pods(manifest):
            yield Permission(places.scope_of(manifest), "list", "", "pods")
        defined = _definition(manifest)
        if defined is not None:
            _, resource = defined
            yield Permission("", "list", resource.group, resource.plural)
        if (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", "Namespace"):
            for plural in _NAMESPACE_CONTENTS:
                yield Permission(_name(manifest), "list", "", plural)


def _granting(objects: list[Json], known: list[Role]) -> Iterator[GrantNeed]:
    for made in roles_of(objects):
        instead = Permission(made.namespace, "escalate", RBAC_GROUP, f"{made.kind.lower()}s", made.name)
        yield GrantNeed(instead=instead, held=_allowed_by(made, made.namespace))
    roles: Mapping[RoleKey, Role] = {role.key: role for role in known}
    for binding in bindings_of(objects):
        yield GrantNeed(instead=_bind(binding), held=_allowed_by(roles.get(binding.key), binding.scope))


def _granting_in_hooks(hooks: list[Json], objects: list[Json]) -> Iterator[GrantNeed]:
    for need in _granting(hooks, roles_of(objects)):
        is_role = need.instead.verb == "escalate"
        yield GrantNeed(instead=need.instead._replace(name="") if is_role else need.instead, held=need.held)


def _bind(binding: Binding) -> Permission:
    return Permission(binding.scope, "bind", RBAC_GROUP, f"{binding.role_kind.lower()}s", binding.role)


def _allowed_by(role: Role | None, scope: str) -> frozenset[Permission] | None:
    if role is None or role.is_aggregated:
        return None
    return frozenset(bounded(permissions_of(role.rules, scope)))


def _name(manifest: Json) -> str:
    return text(mapping(manifest.get("metadata")).get("name"))
