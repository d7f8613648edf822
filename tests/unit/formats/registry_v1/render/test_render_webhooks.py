"""Webhooks: configurations, converted definitions, Services, certificates."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import Certificates
from tests.unit.bundles import bundle, crd, csv_document, deployment, manifest, modes, webhook
from tests.unit.rendering import Json, names, of_kind, only, pod_of, rendered

SERVICE = "demo-controller-service"
SECRET = "demo-controller-service-cert"
CRD = "demos.demo.example.com"


def tree(*webhooks: Json, crds: list[Json] | None = None, others: tuple[Json, ...] = (), **csv: Any) -> Tree:
    document = csv_document(webhooks=webhooks, **csv)
    return bundle(csv=document, crds=crds, others=others)


def converting(**fields: Any) -> Tree:
    return tree(webhook("c", "Conversion", conversionCRDs=[CRD], **fields), installModes=modes("AllNamespaces"))


def client(configuration: Json) -> Json:
    service: Json = configuration["webhooks"][0]["clientConfig"]["service"]
    return service


def test_a_configuration_for_each_definition_validating_ones_first() -> None:
    objects = rendered(
        tree(webhook("m", "Mutating", reinvocationPolicy="Never"), webhook("v", webhookPath="/v", timeoutSeconds=7))
    )
    validating, mutating = of_kind(objects, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    assert validating["kind"] == "ValidatingWebhookConfiguration"
    assert validating["webhooks"] == [
        {
            "name": "v",
            "clientConfig": {
                "service": {"namespace": "operators", "name": SERVICE, "path": "/v", "port": 443},
            },
            "timeoutSeconds": 7,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ]
    assert mutating["webhooks"][0]["reinvocationPolicy"] == "Never"
    assert "path" not in client(mutating)


def test_a_configuration_is_cluster_scoped_except_for_parity() -> None:
    parts = tree(webhook("v"))
    assert only(rendered(parts), "ValidatingWebhookConfiguration")["metadata"].keys() == {"name", "annotations"}
    found = only(rendered(parts, "", parity=True), "ValidatingWebhookConfiguration")
    assert found["metadata"]["namespace"] == "operators"


def test_an_omitted_port_is_443_except_for_parity() -> None:
    parts = tree(webhook("v", containerPort=None))
    assert client(only(rendered(parts), "ValidatingWebhookConfiguration"))["port"] == 443
    assert client(only(rendered(parts, "", parity=True), "ValidatingWebhookConfiguration"))["port"] == 0


def test_one_hyphen_at_the_end_is_removed() -> None:
    assert names(of_kind(rendered(tree(webhook("v-"))), "ValidatingWebhookConfiguration")) == ["v"]


def test_only_watched_namespaces_are_asked_about() -> None:
    (entry,) = only(rendered(tree(webhook("v")), "b", "a"), "ValidatingWebhookConfiguration")["webhooks"]
    assert entry["namespaceSelector"] == {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["b", "a"]}]
    }
    (entry,) = only(rendered(tree(webhook("v")), ""), "ValidatingWebhookConfiguration")["webhooks"]
    assert "namespaceSelector" not in entry


def test_required_fields_are_written_even_when_they_were_not_given() -> None:
    parts = tree(webhook("v", sideEffects=None, admissionReviewVersions=None))
    (entry,) = only(rendered(parts), "ValidatingWebhookConfiguration")["webhooks"]
    assert entry["sideEffects"] is None
    assert entry["admissionReviewVersions"] is None


def test_ports_of_a_service_are_distinct_and_sorted() -> None:
    service = only(
        rendered(
            tree(
                webhook("a", containerPort=8443, targetPort=9),
                webhook("b", targetPort="web"),
                webhook("c", "Mutating", targetPort=9443),
                webhook("g", "Mutating", targetPort="80"),
                webhook("d", targetPort=4),
                webhook("e", containerPort=8443, targetPort=9),
                webhook("f", containerPort=None),
            )
        ),
        "Service",
    )
    assert service["metadata"]["name"] == SERVICE
    assert service["spec"]["ports"] == [
        {"name": "443", "port": 443, "targetPort": "web"},
        {"name": "443", "port": 443, "targetPort": 4},
        {"name": "443", "port": 443, "targetPort": "80"},
        {"name": "443", "port": 443, "targetPort": 443},
        {"name": "443", "port": 443, "targetPort": 9443},
        {"name": "8443", "port": 8443, "targetPort": 9},
    ]
    assert service["spec"]["selector"] == {"app": "demo"}


def test_services_stand_in_front_of_the_deployments_that_serve() -> None:
    parts = tree(
        webhook("z", deployment_name="c"),
        webhook("a", deployment_name="a.b"),
        deployments=[deployment("a.b"), deployment("idle"), deployment("c")],
    )
    objects = rendered(parts, certificates=Certificates.CERT_MANAGER)
    assert names(of_kind(objects, "Service")) == ["a-b-service", "c-service"]
    assert names(of_kind(objects, "Issuer", "Certificate")) == [
        "a-b-service-cert-selfsigned-issuer",
        "a-b-service-cert",
        "c-service-cert-selfsigned-issuer",
        "c-service-cert",
    ]
    mounted = [bool(pod_of(obj).get("volumes")) for obj in of_kind(objects, "Deployment")]
    assert mounted == [True, False, True]


@pytest.mark.parametrize(
    ("provider", "injected", "served"),
    [
        (
            Certificates.OPERATOR,
            {"core.rukpak.io/inject-ca-from": f"operators/{SECRET}"},
            {"core.rukpak.io/serving-certificate": SECRET},
        ),
        (Certificates.CERT_MANAGER, {"cert-manager.io/inject-ca-from": f"operators/{SECRET}"}, None),
        (
            Certificates.OPENSHIFT,
            {"service.beta.openshift.io/inject-cabundle": "true"},
            {"service.beta.openshift.io/serving-cert-secret-name": SECRET},
        ),
    ],
)
def test_objects_that_each_provider_marks_for_injection(
    provider: Certificates, injected: Json, served: Json | None
) -> None:
    objects = rendered(tree(webhook("v"), webhook("m", "Mutating")), certificates=provider)
    for configuration in of_kind(objects, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        assert configuration["metadata"]["annotations"] == injected
    assert only(objects, "Service")["metadata"].get("annotations") == served
    assert (
        only(rendered(converting(), certificates=provider), "CustomResourceDefinition")["metadata"]["annotations"]
        == injected
    )
    assert not of_kind(objects, "Secret")


def test_cert_manager_gets_an_issuer_and_a_certificate() -> None:
    objects = rendered(tree(webhook("v")), certificates=Certificates.CERT_MANAGER)
    host = f"{SERVICE}.operators"
    assert only(objects, "Issuer")["spec"] == {"selfSigned": {}}
    assert only(objects, "Certificate")["spec"] == {
        "commonName": host,
        "dnsNames": [host, f"{host}.svc", f"{host}.svc.cluster.local"],
        "duration": "17520h0m0s",
        "issuerRef": {"name": f"{SECRET}-selfsigned-issuer"},
        "renewBefore": "24h0m0s",
        "secretName": SECRET,
        "usages": ["server auth"],
    }


def test_without_a_provider_webhooks_are_refused_except_for_parity() -> None:
    parts = tree(webhook("v"))
    text = "unsupported bundle: webhookDefinitions are not supported: certificate provider is nil"
    with pytest.raises(ContentError, match=text):
        rendered(parts, certificates=Certificates.NONE)
    objects = rendered(parts, "", certificates=Certificates.NONE, parity=True)
    assert "annotations" not in only(objects, "ValidatingWebhookConfiguration")["metadata"]
    assert "volumes" not in pod_of(only(objects, "Deployment"))


def test_a_conversion_replaces_what_the_definition_says() -> None:
    stale = crd(conversion={"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "Cg=="}}})
    parts = tree(
        webhook("c", "Conversion", conversionCRDs=[CRD], webhookPath="/convert"),
        crds=[stale],
        installModes=modes("AllNamespaces"),
    )
    assert only(rendered(parts), "CustomResourceDefinition")["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {"namespace": "operators", "name": SERVICE, "path": "/convert", "port": 443},
            },
            "conversionReviewVersions": ["v1"],
        },
    }


def test_a_definition_that_asks_another_injector_for_its_ca_asks_ours_instead() -> None:
    """As many real bundles do, because cert-manager made their certificates in development."""
    theirs = {"cert-manager.io/inject-ca-from": "demo/cert", "controller-gen.kubebuilder.io/version": "v1"}
    shipped = crd()
    shipped["metadata"]["annotations"] = theirs
    conversion = webhook("c", "Conversion", conversionCRDs=[CRD])
    content = tree(conversion, crds=[shipped], installModes=modes("AllNamespaces"))
    ours = only(rendered(content), "CustomResourceDefinition")["metadata"]["annotations"]
    assert set(ours) == {"core.rukpak.io/inject-ca-from", "controller-gen.kubebuilder.io/version"}
    (kept,) = of_kind(rendered(content, certificates=Certificates.OPENSHIFT), "CustomResourceDefinition")
    assert theirs.items() <= kept["metadata"]["annotations"].items()


def test_a_conversion_without_a_path_or_a_port() -> None:
    parts = converting(containerPort=None)
    for parity, port in ((False, 443), (True, 0)):
        definition = only(rendered(parts, "", parity=parity), "CustomResourceDefinition")
        service = definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
        assert (service["path"], service["port"]) == ("/", port)


def test_a_definition_that_preserves_unknown_fields_cannot_be_converted() -> None:
    parts = tree(
        webhook("c", "Conversion", conversionCRDs=[CRD]),
        crds=[crd(preserveUnknownFields=True)],
        installModes=modes("AllNamespaces"),
    )
    text = (
        f"custom resource definition '{CRD}' must have .spec.preserveUnknownFields set to false to let API Server "
        "call webhook to do the conversion"
    )
    for parity, message in ((True, text), (False, f"manifests/{CRD}.crd.yaml: {text}")):
        with pytest.raises(ContentError) as refused:
            rendered(parts, parity=parity)
        assert str(refused.value) == message


def test_a_definition_of_the_old_version_is_left_alone() -> None:
    old = {**crd(version="v1", versions=None), "apiVersion": "apiextensions.k8s.io/v1beta1"}
    del old["spec"]["versions"]
    parts = tree(webhook("c", "Conversion", conversionCRDs=[CRD]), crds=[old], installModes=modes("AllNamespaces"))
    assert only(rendered(parts), "CustomResourceDefinition") == old


def test_a_shipped_service_gets_the_ports_and_selector_that_webhooks_need() -> None:
    shipped = manifest(
        "Service",
        SERVICE,
        spec={
            "type": "ClusterIP",
            "selector": {"app": "stale"},
            "ports": [{"name": "x", "port": 443, "targetPort": 1}, {"port": 8080}],
        },
    )
    shipped["metadata"].update(labels={"a": "b"}, annotations={"core.rukpak.io/serving-certificate": "y", "c": "d"})
    service = only(rendered(tree(webhook("v"), others=(shipped,))), "Service")
    assert service["spec"] == {
        "type": "ClusterIP",
        "selector": {"app": "demo"},
        "ports": [{"name": "443", "port": 443, "targetPort": 443}, {"name": "8080", "port": 8080}],
    }
    assert service["metadata"]["labels"] == {"a": "b"}
    assert service["metadata"]["annotations"] == {"core.rukpak.io/serving-certificate": SECRET, "c": "d"}
    both = of_kind(rendered(tree(webhook("v"), others=(shipped,)), "", parity=True), "Service")
    assert len(both) == 2
