"""Service accounts as identities: the one with whose rights a BundleDeployment is served."""

from enum import StrEnum
from typing import NamedTuple

from rukpak_py.api.deployment_spec import BundleDeploymentSpec


class Mode(StrEnum):
    """Mode of the operator: its work for a deployment without an account. Set, never guessed from the cluster."""

    CLASSIC = "classic"  # everything, with its own wide rights
    NARROW = "narrow"  # nothing: its own rights do not suffice, and are not to


class Account(NamedTuple):
    namespace: str
    name: str

    @property
    def user(self) -> str:
        """User name, as the API server knows it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def effective_account(spec: BundleDeploymentSpec, *, default: str, system_namespace: str) -> Account | None:
    """None: there is no account, and the operator acts with its own rights. `default` empty: there is no default."""
    name = spec.service_account_name or default
    return Account(spec.install_namespace or system_namespace, name) if name else None
