"""Names of generated objects: upstream's, byte for byte, so that what was installed by it keeps its names.

A role is named after its CSV, its account and a hash of the permission; what is too long is cut in the middle, and
nothing is trimmed after the cut (`argocd-operator.v0.-3gkm…` is a legal name of a role).
"""

from rukpak_py.core.gojson import Fields, deep_hash
from rukpak_py.formats.registry_v1.bundle import Csv, Json, Permission
from rukpak_py.formats.registry_v1.joined_names import join

DEFAULT_ACCOUNT = "default"


def account_of(permission: Permission) -> str:
    return permission.service_account or DEFAULT_ACCOUNT


def role_name(csv: Csv, permission: Permission) -> str:
    return join(f"{csv.name}-{account_of(permission)}", permission_hash(permission))


def permission_hash(permission: Permission) -> str:
    """The account is hashed as it is written: empty stays empty."""
    rules = None if permission.rules is None else [_rule(rule) for rule in permission.rules]
    return deep_hash(Fields.of(serviceAccountName=permission.service_account, rules=rules))


def certificate_name(service: str) -> str:
    return join(service, "cert")


def _rule(rule: Json) -> Fields:
    optional = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return Fields.of(verbs=rule.get("verbs")) + Fields.non_empty(**{name: rule.get(name) for name in optional})
