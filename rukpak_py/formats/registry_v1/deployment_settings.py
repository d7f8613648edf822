"""`spec.config` of a BundleDeployment of class registry, as a value.

`deploymentConfig` changes the Deployments, as OLM's does; `certificates` says who makes those of webhooks, and
`aggregatedRoles` asks for roles for the users of the operator's kinds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Self

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.registry_v1.render.config_values import DEPLOYMENT_CONFIG, json_type

CERTIFICATES = "certificates"
AGGREGATED_ROLES = "aggregatedRoles"
_KNOWN = (AGGREGATED_ROLES, CERTIFICATES, DEPLOYMENT_CONFIG)


@dataclass(frozen=True, kw_only=True)
class DeploymentSettings:
    deployment_config: Mapping[str, Any] | None = None
    certificates: Certificates = Certificates.OPERATOR
    aggregated_roles: bool = False

    @classmethod
    def read(cls, config: Mapping[str, Any] | None) -> Self:
        """ContentError names everything that cannot be meant. null is not given."""
        given = {key: value for key, value in (config or {}).items() if value is not None}
        for key in given:
            if key not in _KNOWN:
                raise ContentError(f"spec.config.{key} is not known; {_advice(key)}")
        return cls(
            deployment_config=_deployment_config(given),
            certificates=_certificates(given),
            aggregated_roles=_aggregated_roles(given),
        )

    def applied_to(self, options: RenderOptions) -> RenderOptions:
        return replace(
            options,
            certificates=self.certificates,
            deployment_config=self.deployment_config,
            aggregated_roles=self.aggregated_roles,
        )


def _deployment_config(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The deployment configuration; its fields are checked when it is applied."""
    value = given.get(DEPLOYMENT_CONFIG)
    if value is not None and not isinstance(value, dict):
        raise ContentError(f"spec.config.{DEPLOYMENT_CONFIG} must be an object, got {json_type(value)}")
    return value


def _certificates(given: Mapping[str, Any]) -> Certificates:
    value = given.get(CERTIFICATES, Certificates.OPERATOR)
    if value not in list(Certificates):
        raise ContentError(f"spec.config.{CERTIFICATES} is {value!r}; set one of {', '.join(Certificates)}")
    return Certificates(value)


def _aggregated_roles(given: Mapping[str, Any]) -> bool:
    value = given.get(AGGREGATED_ROLES, False)
    if not isinstance(value, bool):
        raise ContentError(f"spec.config.{AGGREGATED_ROLES} must be true or false, got {json_type(value)}")
    return value


def _advice(key: str) -> str:
    if key == "watchNamespace":
        return "set spec.watchNamespaces of the BundleDeployment"
    (near,) = get_close_matches(key, _KNOWN, n=1) or [""]
    return f"did you mean {near}?" if near else f"the class has {', '.join(_KNOWN)}"
