"""Permissions that a set of objects grants, and to whom: roles and bindings, resolved.

Permissions of a role that nothing binds belong to the role (to subjects bound to it later); a ClusterRole that is
aggregated to another gives its permissions to that one. Roles that every cluster has are known. Not known are other
roles outside the objects, what is added to `admin`, `edit` and `view`, and the rights of an account of the cluster with
which a workload runs: these stay references.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from rukpak_py.apply.permissions.builtin_roles import builtin_role
from rukpak_py.apply.permissions.permission import MAX_PERMISSIONS, Permission, mapping, permissions_of, text
from rukpak_py.apply.permissions.pod_accounts import DEFAULT, Workload, borrowed_accounts
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
    """A binding to a role, or the use of an account, that is not among the objects: what it allows is not known."""

    holder: RoleSubject
    scope: str
    role_kind: str  # or ServiceAccount
    role: str

    @property
    def is_known_in_part(self) -> bool:
        return builtin_role(self.role_kind, self.role) is not None

    def __str__(self) -> str:
        more = "else " if self.is_known_in_part else ""
        return f"whatever {more}{self.role_kind} {self.role} allows"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grants:
    permissions: Mapping[RoleSubject, set[Permission]]
    references: list[RoleReference]

    @property
    def holders(self) -> set[RoleSubject]:
        return {*self.permissions, *(one.holder for one in self.references)}


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
    references = [*_references(roles, bindings), *_borrowed(objects)]
    allotments = [*_bound(roles, bindings), *_unbound(roles.values(), {binding.key for binding in bindings})]
    for holder, permission in bounded(
        (who, permission) for who, rules, scope in allotments for permission in permissions_of(rules, scope)
    ):
        permissions.setdefault(holder, set()).add(permission)
    return Grants(permissions=dict(sorted(permissions.items())), references=sorted(set(references)))


def account_reference(workload: Workload, account: str) -> RoleReference:
    return RoleReference(RoleSubject(*workload), workload.namespace, "ServiceAccount", account)


def bounded(expanded: Iterable[T]) -> Iterator[T]:
    """The same, unless it is too much to look into."""
    for count, one in enumerate(expanded):
        if count >= MAX_PERMISSIONS:
            raise ContentError(f"the roles allow more than {MAX_PERMISSIONS} single things, too many to look into")
        yield one


def _references(roles: Mapping[RoleKey, Role], bindings: Iterable[Binding]) -> Iterator[RoleReference]:
    for binding in bindings:
        role, builtin = roles.get(binding.key), builtin_role(binding.role_kind, binding.role)
        is_known = builtin is not None and not builtin.may_be_extended if role is None else not role.is_aggregated
        if not is_known:
            for subject in binding.subjects:
                yield RoleReference(subject, binding.scope, binding.role_kind, binding.role)


def _borrowed(objects: Iterable[Json]) -> Iterator[RoleReference]:
    """Accounts that the content names and does not bring."""
    for workload, account in borrowed_accounts(objects).items():
        if account != DEFAULT:
            yield account_reference(workload, account)


def _bound(roles: Mapping[RoleKey, Role], bindings: Iterable[Binding]) -> Iterator[tuple[RoleSubject, object, str]]:
    for binding in bindings:
        role, builtin = roles.get(binding.key), builtin_role(binding.role_kind, binding.role)
        rules = role.rules if role is not None else list(builtin.rules) if builtin is not None else None
        for subject in binding.subjects:
            yield subject, rules, binding.scope


def _unbound(roles: Iterable[Role], bound: set[RoleKey]) -> Iterator[tuple[RoleSubject, object, str]]:
    for role in roles:
        holders = [RoleSubject("ClusterRole", "", target) for target in role.aggregates_to]
        if not holders and role.key not in bound:
            holders = [RoleSubject(*role.key)]
        for holder in holders:
            yield holder, role.rules, role.namespace


def _is(manifest: Json, *kinds: str) -> bool:
    return manifest.get("kind") in kinds and text(manifest.get("apiVersion")).partition("/")[0] == RBAC_GROUP
