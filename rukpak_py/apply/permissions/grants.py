"""Permissions that a set of objects grants, and to whom: roles and bindings, resolved.

Permissions of a role that nothing binds belong to the role (to subjects bound to it later); a ClusterRole that is
aggregated to another gives its permissions to that one. What a binding to a role outside the objects gives is not known
here: it stays a reference.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from rukpak_py.apply.permissions.permission import MAX_PERMISSIONS, Permission, permissions_of
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import RBAC_GROUP

Json: TypeAlias = dict[str, Any]
RoleKey: TypeAlias = tuple[str, str, str]  # kind, namespace, name
T = TypeVar("T")

_AGGREGATE = f"{RBAC_GROUP}/aggregate-to-"


class RoleSubject(NamedTuple):
    kind: str  # ServiceAccount, User, Group; ClusterRole or Role: all subjects that are bound to it
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"whoever is bound to {self.kind} {place}" if self.kind.endswith("Role") else f"{self.kind} {place}"


class RoleReference(NamedTuple):
    """A binding to a role that is not among the objects."""

    holder: RoleSubject
    scope: str
    role_kind: str
    role: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Grants:
    permissions: Mapping[RoleSubject, set[Permission]]
    references: list[RoleReference]


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    kind: str
    namespace: str
    name: str
    rules: object
    is_aggregated: bool  # the server fills its rules from others
    aggregates_to: tuple[str, ...]

    @classmethod
    def of(cls, manifest: Json) -> "Role":
        metadata = mapping(manifest.get("metadata"))
        labels = mapping(metadata.get("labels"))
        targets = sorted(
            key.removeprefix(_AGGREGATE)
            for key, value in labels.items()
            if isinstance(key, str) and key.startswith(_AGGREGATE) and value == "true"
        )
        is_cluster_role = manifest["kind"] == "ClusterRole"
        is_aggregated = is_cluster_role and bool(manifest.get("aggregationRule"))
        return cls(
            kind=manifest["kind"],
            namespace="" if is_cluster_role else text(metadata.get("namespace")),
            name=text(metadata.get("name")),
            rules=None if is_aggregated else manifest.get("rules"),
            is_aggregated=is_aggregated,
            aggregates_to=tuple(targets) if is_cluster_role else (),
        )

    @property
    def key(self) -> RoleKey:
        return self.kind, self.namespace, self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
    scope: str
    role_kind: str
    role: str
    subjects: list[RoleSubject]

    @classmethod
    def of(cls, manifest: Json) -> "Binding":
        metadata, role = mapping(manifest.get("metadata")), mapping(manifest.get("roleRef"))
        scope = "" if manifest["kind"] == "ClusterRoleBinding" else text(metadata.get("namespace"))
        listed = manifest.get("subjects")
        subjects = [mapping(subject) for subject in listed] if isinstance(listed, list) else []
        return cls(
            scope=scope,
            role_kind=text(role.get("kind")),
            role=text(role.get("name")),
            subjects=[
                RoleSubject(text(subject.get("kind")), text(subject.get("namespace")), text(subject.get("name")))
                for subject in subjects
            ],
        )

    @property
    def key(self) -> RoleKey:
        """The key of the role that it binds."""
        return self.role_kind, self.scope if self.role_kind == "Role" else "", self.role


def roles_of(objects: Iterable[Json]) -> list[Role]:
    return [Role.of(manifest) for manifest in objects if _is(manifest, "Role", "ClusterRole")]


def bindings_of(objects: Iterable[Json]) -> list[Binding]:
    return [Binding.of(manifest) for manifest in objects if _is(manifest, "RoleBinding", "ClusterRoleBinding")]


def grants_of(objects: Iterable[Json]) -> Grants:
    objects = list(objects)
    roles = {role.key: role for role in roles_of(objects)}
    bindings = bindings_of(objects)
    permissions: dict[RoleSubject, set[Permission]] = {}
    references = []
    for binding in bindings:
        role = roles.get(binding.key)
        if role is None or role.is_aggregated:
            references += [
                RoleReference(who, binding.scope, binding.role_kind, binding.role) for who in binding.subjects
            ]
    allotments = [*_bound(roles, bindings), *_unbound(roles.values(), {binding.key for binding in bindings})]
    for holder, permission in bounded(
        (who, permission) for who, rules, scope in allotments for permission in permissions_of(rules, scope)
    ):
        permissions.setdefault(holder, set()).add(permission)
    return Grants(permissions=dict(sorted(permissions.items())), references=sorted(set(references)))


def bounded(expanded: Iterable[T]) -> Iterator[T]:
    """The same, unless it is too much to look into."""
    for count, one in enumerate(expanded):
        if count >= MAX_PERMISSIONS:
            raise ContentError(f"the roles allow more than {MAX_PERMISSIONS} single things, too many to look into")
        yield one


def _bound(roles: Mapping[RoleKey, Role], bindings: Iterable[Binding]) -> Iterator[tuple[RoleSubject, object, str]]:
    for binding in bindings:
        if role := roles.get(binding.key):
            for subject in binding.subjects:
                yield subject, role.rules, binding.scope


def _unbound(roles: Iterable[Role], bound: set[RoleKey]) -> Iterator[tuple[RoleSubject, object, str]]:
    for role in roles:
        holders = [RoleSubject("ClusterRole", "", target) for target in role.aggregates_to]
        if not holders and role.key not in bound:
            holders = [RoleSubject(*role.key)]
        for holder in holders:
            yield holder, role.rules, role.namespace


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is(manifest: Json, *kinds: str) -> bool:
    return manifest.get("kind") in kinds and text(manifest.get("apiVersion")).partition("/")[0] == RBAC_GROUP
