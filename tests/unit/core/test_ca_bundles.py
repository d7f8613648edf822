"""`caBundle` fields of everything that calls webhooks: found, judged and patched, each webhook by itself."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from rukpak_py.core import x509
from rukpak_py.core.ca_bundles import WebhookClient, ca_bundle_patch, callers, trusts

NOW = datetime.now(UTC)
CA = x509.issue_ca(NOW)
CERTIFICATE = x509.issue_serving(CA, ("localhost",), NOW).certificate
ENCODED = base64.b64encode(CA.certificate).decode()


def configuration(**bundles: str | None) -> dict[str, Any]:
    """Webhooks by name with their caBundle; None leaves the field out."""
    return {
        "webhooks": [
            {"name": name, "clientConfig": {"url": "https://x"} | ({} if bundle is None else {"caBundle": bundle})}
            for name, bundle in bundles.items()
        ]
    }


def definition(**config: str) -> dict[str, Any]:
    return {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"} | config}}}}


@pytest.mark.parametrize(
    ("manifest", "pointers"),
    [
        (configuration(a=None, b=None), ["/webhooks/0/clientConfig", "/webhooks/1/clientConfig"]),
        (definition(), ["/spec/conversion/webhook/clientConfig"]),
        ({"spec": {"conversion": {"strategy": "None"}}}, []),
        ({"spec": {}}, []),
        ({"webhooks": None}, []),
        ({}, []),
    ],
)
def test_every_client_config_is_found(manifest: dict[str, Any], pointers: list[str]) -> None:
    assert [caller.pointer for caller in callers(manifest)] == pointers


def test_a_conversion_webhook_is_patched_without_a_name() -> None:
    assert ca_bundle_patch(definition(), CA.certificate) == [
        {"op": "add", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": ENCODED}
    ]
    assert ca_bundle_patch(definition(caBundle=ENCODED), CA.certificate) == []


def test_a_patch_tests_the_name_that_it_is_for() -> None:
    assert ca_bundle_patch(configuration(a=ENCODED, b="b2xk"), CA.certificate) == [
        {"op": "test", "path": "/webhooks/1/name", "value": "b"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": ENCODED},
    ]


def test_webhooks_of_others_are_neither_patched_nor_judged() -> None:
    manifest = configuration(ours=ENCODED, theirs="dGhlaXJz")

    def is_ours(caller: WebhookClient) -> bool:
        return caller.name == "ours"

    assert ca_bundle_patch(manifest, CA.certificate, is_ours=is_ours) == []
    assert ca_bundle_patch(manifest, CA.certificate) != []
    assert trusts(manifest, CERTIFICATE, is_ours=is_ours)
    assert not trusts(manifest, CERTIFICATE)


@pytest.mark.parametrize("unreadable", ["", "%%%", "bm8gY2VydGlmaWNhdGU=", None])
def test_unreadable_ca_bundle_trusts_no_certificate_and_is_replaced(unreadable: str | None) -> None:
    manifest = configuration(a=unreadable)
    assert not trusts(manifest, CERTIFICATE)
    assert ca_bundle_patch(manifest, CA.certificate)[-1]["value"] == ENCODED


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"webhooks": "x", "spec": "x"},
        {"webhooks": [None, "x", {}, {"name": 1}, {"name": ""}], "spec": {"conversion": {"webhook": []}}},
        {"kind": "APIService", "spec": {}},
    ],
)
def test_other_objects_have_no_callers(manifest: dict[str, Any]) -> None:
    assert not list(callers(manifest))


def test_an_api_service_is_called_by_its_own_bundle() -> None:
    spec = {"service": {"name": "x"}, "caBundle": ENCODED}
    (caller,) = callers({"kind": "APIService", "spec": spec})
    assert (caller.pointer, caller.name, caller.ca_bundle) == ("/spec", "", CA.certificate)
