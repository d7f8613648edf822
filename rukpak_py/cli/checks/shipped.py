"""Objects that this release installs, as far as they are judged, and the rights that its operator needs.

The chart is their source; `make generate` writes its objects beside this module.
"""

from collections.abc import Iterator
from functools import cache
from importlib import resources

import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.api.crds import crds
from rukpak_py.api.names import OPERATOR_ACCOUNT
from rukpak_py.api.policies.document import Token
from rukpak_py.api.policies.installation import Installation
from rukpak_py.apply.permissions.grants import RoleKey, bindings_of, roles_of
from rukpak_py.apply.permissions.permission import Permission, permissions_of
from rukpak_py.cli.checks.results import Json

# The Role of Kubernetes for the certificates of clients of extension API servers, of which the content server is one.
KUBERNETES_ROLE: RoleKey = ("Role", "kube-system", "extension-apiserver-authentication-reader")
_KUBERNETES_RULES = [
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["extension-apiserver-authentication"],
        "verbs": ["get", "list", "watch"],
    }
]


def shipped_objects(installation: Installation) -> list[Json]:
    """All of them. Those that come from the chart have a name, and RBAC objects what they say."""
    text = _file().replace(Token.SYSTEM_NAMESPACE.encode(), installation.system_namespace.encode())
    of_chart: list[Json] = orjson.loads(text)[installation.mode]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": installation.system_namespace}}
    return [namespace, *crds().values(), *installation.policies(), *of_chart]


def operator_account(system_namespace: str) -> Account:
    return Account(system_namespace, OPERATOR_ACCOUNT)


def operator_permissions(installation: Installation) -> frozenset[Permission]:
    """Permissions that the operator needs of its own, whatever it installs."""
    return frozenset(_permissions(installation))


def _permissions(installation: Installation) -> Iterator[Permission]:
    objects = shipped_objects(installation)
    rules = {role.key: role.rules for role in roles_of(objects)} | {KUBERNETES_ROLE: _KUBERNETES_RULES}
    account = operator_account(installation.system_namespace)
    for binding in bindings_of(objects):
        if any((one.namespace, one.name) == account for one in binding.subjects):
            yield from permissions_of(rules[binding.key], binding.scope)


@cache
def _file() -> bytes:
    return resources.files(__package__).joinpath("shipped.json").read_bytes()
