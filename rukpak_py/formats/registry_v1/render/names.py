"""Names of generated objects: upstream's, byte for byte, so that what was installed by it keeps its names.

A role is named after its CSV, its account and a hash of the permission; what is too long is cut in the middle, and
nothing is trimmed after the cut (`argocd-operator.v0.-3gkm…` is a legal name of a role).
"""

from rukpak_py.content.yaml_scalars import without_surrogates
from rukpak_py.core.gojson import Fields, deep_hash
from rukpak_py.formats.registry_v1.bundle import Csv, Json, Permission

DEFAULT_ACCOUNT = "default"
_LENGTH = 63


def join(base: str, suffix: str) -> str:
    """Two lengths that add up to exactly 63 are not cut, and give 64 characters: upstream's off-by-one, kept."""
    room = _LENGTH - len(suffix.encode()) - 1
    encoded = base.encode(errors="surrogateescape")
    if len(encoded) > room + 1:
        base = without_surrogates(encoded[:room].decode(errors="surrogateescape"))
    return f"{base}-{suffix}"


def account_of(permission: Permission) -> str:
    return permission.service_account or DEFAULT_ACCOUNT


def role_name(csv: Csv, permission: Permission) -> str:
    return join(f"{csv.name}-{account_of(permission)}", permission_hash(permission))


def permission_hash(permission: Permission) -> str:
    """The account is hashed as it is written: empty stays empty."""
    rules = None if permission.rules is None else [_rule(rule) for rule in permission.rules]
    return deep_hash(Fields.of(serviceAccountName=permission.service_account, rules=rules))


def service_name(deployment: str) -> str:
    return join(deployment.replace(".", "-"), "service")


def certificate_name(service: str) -> str:
    return join(service, "cert")


def _rule(rule: Json) -> Fields:
    optional = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return Fields.of(verbs=rule.get("verbs")) + Fields.non_empty(**{name: rule.get(name) for name in optional})
