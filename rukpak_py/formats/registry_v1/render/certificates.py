"""Makers of webhook certificates, as values: what each marks for injection, and the objects that it needs.

No key is ever rendered. With our own signer the generated Service names the Secret that the operator will fill, and
webhook configurations and converted definitions name the Secret whose CA it will inject.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from rukpak_py.api.names import INJECT_CA_ANNOTATION, OTHER_CA_ANNOTATIONS, SERVING_CERTIFICATE_ANNOTATION
from rukpak_py.formats.format import Certificates
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.made_names import join, service_name


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """The Service in front of a deployment's webhooks, and the Secret (and Certificate) with what it serves by."""

    service: str
    secret: str
    namespace: str

    @classmethod
    def of(cls, deployment: str, namespace: str) -> Self:
        service = service_name(deployment)
        return cls(service=service, secret=join(service, "cert"), namespace=namespace)


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    inject: Callable[[Serving], Mapping[str, str]]  # annotations of webhook configurations and converted definitions
    serve: Callable[[Serving], Mapping[str, str]] = lambda _: {}  # annotations of the Service
    objects: Callable[[Serving], Sequence[Json]] = lambda _: ()
    instead_of: Collection[str] = ()  # annotations of shipped definitions by which others would inject their CA


def _cert_manager_objects(serving: Serving) -> list[Json]:
    issuer = join(serving.secret, "selfsigned-issuer")
    host = f"{serving.service}.{serving.namespace}"
    return [
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": {"name": issuer, "namespace": serving.namespace},
            "spec": {"selfSigned": {}},
        },
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {"name": serving.secret, "namespace": serving.namespace},
            "spec": {
                "commonName": host,
                "dnsNames": [host, f"{host}.svc", f"{host}.svc.cluster.local"],
                "duration": "17520h0m0s",
                "issuerRef": {"name": issuer},
                "renewBefore": "24h0m0s",
                "secretName": serving.secret,
                "usages": ["server auth"],
            },
        },
    ]


PROVIDERS: Mapping[Certificates, Provider | None] = {
    Certificates.OPERATOR: Provider(
        inject=lambda serving: {INJECT_CA_ANNOTATION: f"{serving.namespace}/{serving.secret}"},
        serve=lambda serving: {SERVING_CERTIFICATE_ANNOTATION: serving.secret},
        instead_of=OTHER_CA_ANNOTATIONS,
    ),
    Certificates.CERT_MANAGER: Provider(
        inject=lambda serving: {"cert-manager.io/inject-ca-from": f"{serving.namespace}/{serving.secret}"},
        objects=_cert_manager_objects,
    ),
    Certificates.OPENSHIFT: Provider(
        inject=lambda _: {"service.beta.openshift.io/inject-cabundle": "true"},
        serve=lambda serving: {"service.beta.openshift.io/serving-cert-secret-name": serving.secret},
    ),
    Certificates.NONE: None,
}


def certificate_objects(deployments: Sequence[str], namespace: str, provider: Provider | None) -> list[Json]:
    """Objects in the order of the certificates' names: upstream's order is random."""
    if provider is None:
        return []
    servings = sorted((Serving.of(name, namespace) for name in deployments), key=lambda serving: serving.secret)
    return [made for serving in servings for made in provider.objects(serving)]
