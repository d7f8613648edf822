"""The operator's service accounts, and the permissions of the CSV as roles and their bindings.

Accounts are those that permissions name, and (parity aside) those that only deployments name; `default` is every
namespace's own. An operator that watches everything has its namespaced permissions in the whole cluster: they are
promoted, and may read namespaces as well.

Names of roles are upstream's, byte for byte, so that what was installed by it keeps its names: after the CSV, the
account and a hash of the permission, with that added rule. What is too long is cut in the middle, and nothing is
trimmed after the cut (`argocd-operator.v0.-3gkm…` is a legal name of a role).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rukpak_py.core.gojson import Fields, deep_hash
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import Csv, CsvPermission, RegistryBundle
from rukpak_py.formats.registry_v1.made_names import join
from rukpak_py.formats.registry_v1.render.installation import RenderTarget

_DEFAULT_ACCOUNT = "default"
_GROUP = "rbac.authorization.k8s.io"
_VERSION = f"{_GROUP}/v1"


def service_accounts(installation: RenderTarget) -> Iterator[Json]:
    """Service accounts in the order of their names: upstream's order is random."""
    bundle = installation.bundle
    names = {permission.service_account for permission in (*bundle.csv.permissions, *bundle.csv.cluster_permissions)}
    for deployment in () if bundle.parity else bundle.csv.deployments:
        pod = (deployment.spec.get("template") or {}).get("spec") or {}
        names.add(pod.get("serviceAccountName") or pod.get("serviceAccount") or "")
    for name in sorted(names - {"", _DEFAULT_ACCOUNT}):
        yield installation.object("v1", "ServiceAccount", name)


def roles(installation: RenderTarget) -> Iterator[Json]:
    if installation.watches_everything:
        return
    for target in installation.targets:
        for permission in installation.bundle.csv.permissions:
            name = _role_name(installation.bundle.csv, permission)
            head = installation.object(_VERSION, "Role", name, namespace=target)
            yield {**head, "rules": permission.rules}
            yield _binding(installation, permission, name, {"name": name, "namespace": target}, "Role")


def cluster_roles(installation: RenderTarget) -> Iterator[Json]:
    csv = installation.bundle.csv
    promoted = map(_promoted, csv.permissions) if installation.watches_everything else ()
    for permission in (*csv.cluster_permissions, *promoted):
        name = _role_name(csv, permission)
        yield {
            "apiVersion": _VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": permission.rules,
        }
        yield _binding(installation, permission, name, {"name": name}, "ClusterRole")


def _promoted(permission: CsvPermission) -> CsvPermission:
    rules: Sequence[Json] = permission.rules or ()
    read_namespaces = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
    return replace(permission, rules=[*rules, read_namespaces])


def _binding(installation: RenderTarget, permission: CsvPermission, role: str, metadata: Json, kind: str) -> Json:
    subject = {"kind": "ServiceAccount", "name": _account_of(permission), "namespace": installation.namespace}
    return {
        "apiVersion": _VERSION,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role},
        "subjects": [subject],
    }


def _account_of(permission: CsvPermission) -> str:
    return permission.service_account or _DEFAULT_ACCOUNT


def _role_name(csv: Csv, permission: CsvPermission) -> str:
    return join(f"{csv.name}-{_account_of(permission)}", permission_hash(permission))


def permission_hash(permission: CsvPermission) -> str:
    """The account is hashed as it is written: empty stays empty."""
    rules = None if permission.rules is None else [_rule(rule) for rule in permission.rules]
    return deep_hash(Fields.of(serviceAccountName=permission.service_account, rules=rules))


def _rule(rule: Json) -> Fields:
    optional = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return Fields.of(verbs=rule.get("verbs")) + Fields.non_empty(**{name: rule.get(name) for name in optional})


_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_VERBS = {
    "admin": ["*"],
    "edit": ["create", "update", "patch", "delete"],
    "view": ["get", "list", "watch"],
}


def aggregated_roles(bundle: RegistryBundle) -> Iterator[Json]:
    """ClusterRoles for the users of the operator's kinds, aggregated into the cluster's own admin, edit and view.

    OLM makes such roles for every operator; here they are asked for. One of each per CRD, for all its versions.
    """
    for definition in bundle.definitions:
        plural, _, group = definition.name.partition(".")
        for role, verbs in _VERBS.items():
            yield {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": f"{definition.name}-{role}", "labels": {f"{_AGGREGATE}{role}": "true"}},
                "rules": [{"apiGroups": [group], "resources": [plural], "verbs": verbs}],
            }
