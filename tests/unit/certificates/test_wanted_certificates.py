"""Content asks for certificates for its Services, and for a CA in their callers. Its names are hostile input."""

from typing import Any

import pytest

from rukpak_py.api.names import INJECT_CA_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION
from rukpak_py.apply.desired import desire
from rukpak_py.certificates.wanted import RenderedObject, WantedCertificates, secret_key, wanted_certificates
from rukpak_py.core.objects import Object
from rukpak_py.formats.format import Certificates
from tests.unit.apply.lives import OWNER
from tests.unit.bundles import bundle, csv_document, modes, webhook
from tests.unit.rendering import only, pod_of, rendered

Manifest = dict[str, Any]
CLUSTER_SCOPED = frozenset(
    {
        "APIService",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)
SECRET = secret_key("shop", "cert")


def wanted(*manifests: Manifest, cluster_domain: str = "cluster.local") -> WantedCertificates:
    found = (
        desire(
            Object.from_manifest(manifest),
            owner=OWNER,
            namespaced=manifest["kind"] not in CLUSTER_SCOPED,
            default_namespace="shop",
            custom=False,
        )
        for manifest in manifests
    )
    rendered = (RenderedObject(one.key, one.head.gvk, one.payload.body) for one in found)
    return wanted_certificates(rendered, cluster_domain=cluster_domain)


def service(name: str = "hooks", secret: str = SECRET.name, **metadata: str) -> Manifest:
    annotations = {SERVING_CERTIFICATE_ANNOTATION: secret}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "annotations": annotations, **metadata}}


GROUPS = {"CustomResourceDefinition": "apiextensions.k8s.io", "APIService": "apiregistration.k8s.io"}
CLIENT = {"service": {"name": "x"}}
CALLING: dict[str, Manifest] = {
    "CustomResourceDefinition": {"spec": {"conversion": {"webhook": {"clientConfig": CLIENT}}}},
    "APIService": {"spec": CLIENT},
}
WEBHOOKS: Manifest = {"webhooks": [{"name": name, "clientConfig": {**CLIENT, "caBundle": "eA=="}} for name in "ba"]}


def caller(
    kind: str = "ValidatingWebhookConfiguration",
    source: str = "shop/cert",
    annotations: dict[str, str] | None = None,
    **fields: Any,
) -> Manifest:
    return {
        "apiVersion": f"{GROUPS.get(kind, 'admissionregistration.k8s.io')}/v1",
        "kind": kind,
        "metadata": {"name": "it", "annotations": {INJECT_CA_ANNOTATION: source, **(annotations or {})}},
        **CALLING.get(kind, WEBHOOKS),
        **fields,
    }


def problem(*manifests: Manifest) -> str:
    found = wanted(*manifests)
    ((_, error),) = found.problems
    return str(error)


def test_a_service_gets_a_certificate_for_its_names() -> None:
    (certificate,) = wanted(service()).certificates.values()
    assert certificate.secret == SECRET
    assert certificate.hosts == ("hooks.shop", "hooks.shop.svc", "hooks.shop.svc.cluster.local")


def test_names_of_a_service_end_with_the_domain_of_the_cluster() -> None:
    (certificate,) = wanted(service(), cluster_domain="corp.example").certificates.values()
    assert certificate.hosts == ("hooks.shop", "hooks.shop.svc", "hooks.shop.svc.corp.example")


def test_the_secret_is_in_the_namespace_of_the_service() -> None:
    assert list(wanted(service(namespace="elsewhere")).certificates) == [secret_key("elsewhere", "cert")]


def test_two_services_share_a_secret_for_both_names() -> None:
    (certificate,) = wanted(service("one"), service("two")).certificates.values()
    assert {"one.shop.svc", "two.shop.svc"} <= set(certificate.hosts)


@pytest.mark.parametrize(
    ("kind", "webhooks"),
    [
        ("ValidatingWebhookConfiguration", {"a", "b"}),
        ("MutatingWebhookConfiguration", {"a", "b"}),
        ("CustomResourceDefinition", {""}),
        ("APIService", {""}),
    ],
)
def test_every_kind_of_caller_gets_the_ca(kind: str, webhooks: set[str]) -> None:
    found = wanted(service(), caller(kind))
    (place,) = found.places.values()
    assert place.webhooks == webhooks
    assert place.secret == SECRET
    assert found.callers == {place.key}
    assert not found.problems


def test_a_definition_without_a_conversion_webhook_has_nothing_to_inject_into() -> None:
    found = wanted(service(), caller("CustomResourceDefinition", spec={"conversion": {"strategy": "None"}}))
    assert not found.places
    assert not found.problems


def test_content_that_asks_for_nothing_gets_nothing() -> None:
    plain = service()
    del plain["metadata"]["annotations"]
    assert wanted(plain) == WantedCertificates()


@pytest.mark.parametrize(
    "source", ["shop/others", "kube-system/cert", "cert", "/cert", "shop/", "shop/cert/x", "../shop/cert", "shop/cert "]
)
def test_a_ca_of_anybody_elses_secret_is_never_injected(source: str) -> None:
    manifests = service(), caller(source=source)
    assert "no Service of the bundle asks for a certificate in Secret" in problem(*manifests)
    assert not wanted(*manifests).places


@pytest.mark.parametrize("secret", ["a/b", "../x", "Upper", "a" * 254, "a\nb", "-a", "ä"])
def test_a_secret_name_that_no_server_takes_is_refused(secret: str) -> None:
    assert "is not a valid Secret name" in problem(service(secret=secret))


@pytest.mark.parametrize("name", ["a.b", "Ü", "a" * 64, "*", "a b"])
def test_a_service_that_no_certificate_can_name_is_refused(name: str) -> None:
    assert "is not a DNS label" in problem(service(name))


def test_a_secret_that_the_bundle_brings_is_not_ours_to_fill() -> None:
    brought = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cert"}}
    assert "Secret shop/cert is in the bundle" in problem(service(), brought)


@pytest.mark.parametrize(
    "annotation",
    [
        {"cert-manager.io/inject-ca-from": "shop/cert"},
        {"cert-manager.io/inject-apiserver-ca": "true"},
        {"service.beta.openshift.io/inject-cabundle": "true"},
    ],
)
def test_two_injectors_would_fight(annotation: dict[str, str]) -> None:
    assert "remove one of them" in problem(service(), caller(annotations=annotation))


def test_the_annotations_mean_nothing_on_other_kinds() -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": service()["metadata"]}
    assert "set it on a Service" in problem(config_map)
    injected = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": caller()["metadata"]}
    assert "has no caBundle" in problem(service(), injected)


def test_a_placeholder_in_the_content_is_left_to_the_signer() -> None:
    one = desire(Object.from_manifest(caller()), owner=OWNER, namespaced=False, default_namespace="shop", custom=False)
    assert b"caBundle" not in one.payload.body


def test_a_rendered_bundle_asks_for_what_its_pods_mount() -> None:
    definition = "demos.demo.example.com"
    webhooks = (webhook("v"), webhook("m", "Mutating"), webhook("c", "Conversion", conversionCRDs=[definition]))
    parts = bundle(csv=csv_document(webhooks=webhooks, installModes=modes("AllNamespaces")))
    objects = rendered(parts)
    found = wanted(*objects)
    assert not found.problems
    volumes = {volume["secret"]["secretName"] for volume in pod_of(only(objects, "Deployment"))["volumes"]}
    assert {secret.name for secret in found.certificates} == volumes
    (certificate,) = found.certificates.values()
    assert f"{only(objects, 'Service')['metadata']['name']}.operators.svc" in certificate.hosts
    assert {key.name for key in found.places} == {"v", "m", definition}


def test_a_bundle_rendered_for_cert_manager_asks_for_nothing() -> None:
    objects = rendered(bundle(csv=csv_document(webhooks=(webhook("v"),))), certificates=Certificates.CERT_MANAGER)
    found = wanted(*objects)
    assert not found.certificates
    assert not found.places
    assert not found.problems
