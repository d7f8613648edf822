"""The configuration that tells the API server about our webhooks."""

import base64
from typing import Any

import pytest

from rukpak_py.certificates.own_webhooks import (
    OurWebhooks,
    own_certificate,
)
from rukpak_py.core.ca_bundles import ca_bundle_patch


def by_name(configuration: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {webhook["name"]: webhook for webhook in configuration["webhooks"]}


def test_names_paths_and_policies_are_those_of_the_contract() -> None:
    configuration = OurWebhooks(system_namespace="sys").configuration()
    assert configuration["metadata"]["name"] == "rukpak-validating-webhook-configuration"
    webhooks = by_name(configuration)
    bundles, config_maps = webhooks["vbundles.core.rukpak.io"], webhooks["vconfigmaps.core.rukpak.io"]
    assert bundles["clientConfig"]["service"] == {
        "namespace": "sys",
        "name": "rukpak-webhook-service",
        "path": "/validate-core-rukpak-io-v1alpha1-bundle",
        "port": 443,
    }
    assert config_maps["clientConfig"]["service"]["path"] == "/validate-core-v1-configmap"
    assert (bundles["failurePolicy"], config_maps["failurePolicy"]) == ("Fail", "Ignore")
    assert bundles["rules"][0]["operations"] == ["CREATE", "UPDATE"]
    assert bundles["rules"][0]["resources"] == ["bundles"]
    assert config_maps["rules"][0]["operations"] == ["CREATE", "DELETE"]
    crds = webhooks["vcustomresourcedefinitions.core.rukpak.io"]
    assert crds["clientConfig"]["service"]["path"] == "/validate-crd"
    assert (crds["failurePolicy"], crds["rules"][0]["operations"]) == ("Ignore", ["UPDATE"])
    assert crds["objectSelector"] == {"matchLabels": {"core.rukpak.io/owner-kind": "BundleDeployment"}}
    assert config_maps["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "sys"}}
    assert {(one["sideEffects"], one["timeoutSeconds"]) for one in webhooks.values()} == {("None", 10)}
    assert all("caBundle" not in one["clientConfig"] for one in webhooks.values())


def test_a_url_is_used_as_it_is() -> None:
    configuration = OurWebhooks(system_namespace="sys", url="https://192.0.2.1:9443/").configuration(b"PEM")
    client = by_name(configuration)["vbundles.core.rukpak.io"]["clientConfig"]
    assert client == {
        "url": "https://192.0.2.1:9443/validate-core-rukpak-io-v1alpha1-bundle",
        "caBundle": base64.b64encode(b"PEM").decode(),
    }


def test_only_what_differs_is_patched() -> None:
    configuration = OurWebhooks(system_namespace="sys").configuration(b"new")
    assert ca_bundle_patch(configuration, b"new") == []
    configuration["webhooks"][1]["clientConfig"]["caBundle"] = "b2xk"
    assert ca_bundle_patch(configuration, b"new") == [
        {"op": "test", "path": "/webhooks/1/name", "value": "vconfigmaps.core.rukpak.io"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": base64.b64encode(b"new").decode()},
    ]
    assert ca_bundle_patch({"webhooks": None}, b"new") == []


@pytest.mark.parametrize(
    ("url", "added"),
    [
        ("", []),
        ("https://192.0.2.1:9443", ["192.0.2.1"]),
        ("https://[2001:db8::1]:9443/x", ["2001:db8::1"]),
        ("https://operator.example:9443", ["operator.example"]),
    ],
)
def test_the_certificate_covers_every_way_in(url: str, added: list[str]) -> None:
    assert list(own_certificate("sys", url).hosts) == [
        "rukpak-webhook-service.sys.svc",
        "rukpak-webhook-service.sys.svc.cluster.local",
        "core.sys.svc",
        "core.sys.svc.cluster.local",
        "localhost",
        *added,
    ]


def test_the_certificate_covers_the_domain_of_the_cluster() -> None:
    hosts = own_certificate("sys", cluster_domain="corp.example").hosts
    assert {"core.sys.svc.corp.example", "rukpak-webhook-service.sys.svc.corp.example"} <= set(hosts)
    assert not [host for host in hosts if "cluster.local" in host]
