"""Who applies: one BundleDeployment, as it is written into what it owns."""

from dataclasses import dataclass
from typing import Any

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    ca_field_manager,
    field_manager,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    name: str
    uid: str

    @classmethod
    def of(cls, deployment: BundleDeployment) -> "Owner":
        return cls(name=deployment.metadata.name, uid=deployment.metadata.uid)

    @property
    def manager(self) -> str:
        return field_manager(self.name)

    @property
    def ca_manager(self) -> str:
        return ca_field_manager(self.name)

    @property
    def labels(self) -> dict[str, str]:
        return {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: self.name}

    @property
    def reference(self) -> dict[str, Any]:
        return {
            "apiVersion": API_VERSION,
            "kind": BUNDLE_DEPLOYMENT_KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
