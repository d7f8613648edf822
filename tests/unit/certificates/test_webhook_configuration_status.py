"""The status of the live configuration: what is wrong with it, and whether the webhooks in it are ours."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from rukpak_py.api.names import BUNDLE_WEBHOOK_PATH
from rukpak_py.certificates.own_webhooks import ConfigurationState, OurWebhooks
from rukpak_py.core import x509
from rukpak_py.core.ca_bundles import ca_bundle_patch

NOW = datetime.now(UTC)
CA = x509.issue_ca(NOW)
CERTIFICATE = x509.issue_serving(CA, ("localhost",), NOW).certificate
INSIDE = OurWebhooks(system_namespace="system")
OUTSIDE = OurWebhooks(system_namespace="system", url="https://192.0.2.1:9443/")
SUBJECT = 'ValidatingWebhookConfiguration "rukpak-validating-webhook-configuration"'
Edit = Callable[[list[dict[str, Any]]], object]


def edited(webhooks: OurWebhooks, edit: Edit) -> dict[str, Any]:
    manifest = webhooks.configuration(CA.certificate)
    edit(manifest["webhooks"])
    return manifest


def service(webhook: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = webhook["clientConfig"]["service"]
    return found


def elsewhere(url: str) -> Edit:
    return lambda webhooks: webhooks[0].update(clientConfig={"url": url})


FINE: dict[str, Edit] = {
    "as it was made": lambda _: None,
    "another failure policy": lambda webhooks: webhooks[0].update(failurePolicy="Ignore"),
    "another webhook beside ours": lambda webhooks: webhooks.insert(0, {"name": "x", "clientConfig": {"url": "u"}}),
    "another order": lambda webhooks: webhooks.reverse(),
    "another port of our Service": lambda webhooks: service(webhooks[0]).update(port=8443),
    "the port left to its default": lambda webhooks: service(webhooks[0]).pop("port"),
    "of the release before the webhook for CRDs": lambda webhooks: webhooks.pop(),
    "the webhook for CRDs is new and has no caBundle yet": lambda webhooks: webhooks[2]["clientConfig"].pop("caBundle"),
    "the webhook for CRDs calls another server": lambda webhooks: webhooks[2].update(clientConfig={"url": "u"}),
}


@pytest.mark.parametrize("edit", FINE.values(), ids=FINE.keys())
def test_ours_with_our_trust_is_fine(edit: Edit) -> None:
    assert INSIDE.status(edited(INSIDE, edit), CERTIFICATE).state is ConfigurationState.OK


REPLACED: dict[str, tuple[Edit, str]] = {
    "no webhooks": (
        lambda webhooks: webhooks.clear(),
        'webhook "vbundles.core.rukpak.io" is missing, webhook "vconfigmaps.core.rukpak.io" is missing',
    ),
    "one left out": (lambda webhooks: webhooks.pop(1), 'webhook "vconfigmaps.core.rukpak.io" is missing'),
    "a URL": (elsewhere("https://other"), 'webhook "vbundles.core.rukpak.io" calls https://other'),
    "another namespace": (
        lambda webhooks: service(webhooks[0]).update(namespace="other"),
        f'webhook "vbundles.core.rukpak.io" calls Service other/rukpak-webhook-service at {BUNDLE_WEBHOOK_PATH}',
    ),
    "another path": (
        lambda webhooks: service(webhooks[0]).pop("path"),
        'webhook "vbundles.core.rukpak.io" calls Service system/rukpak-webhook-service at /',
    ),
}


@pytest.mark.parametrize(("edit", "detail"), REPLACED.values(), ids=REPLACED.keys())
def test_configuration_that_does_not_call_us_was_replaced(edit: Edit, detail: str) -> None:
    state, text = INSIDE.status(edited(INSIDE, edit), CERTIFICATE)
    assert (state, text) == (ConfigurationState.REPLACED, f"{SUBJECT}: {detail}")


def test_webhook_for_crds_gets_our_authority_like_the_others() -> None:
    patch = ca_bundle_patch(INSIDE.configuration(), CA.certificate, is_ours=INSIDE.calls_us)
    assert [one["path"] for one in patch if one["op"] == "add"] == [
        f"/webhooks/{index}/clientConfig/caBundle" for index in range(3)
    ]


def test_none_at_all_is_missing() -> None:
    assert INSIDE.status(None, CERTIFICATE) == (ConfigurationState.MISSING, f"{SUBJECT} not found")


@pytest.mark.parametrize("bundle", [b"", b"junk", x509.issue_ca(NOW).certificate])
def test_one_without_our_authority_does_not_trust_us(bundle: bytes) -> None:
    manifest = INSIDE.configuration()
    for webhook in manifest["webhooks"]:
        webhook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
    assert INSIDE.status(manifest, CERTIFICATE).state is ConfigurationState.UNTRUSTED


def test_nothing_is_trusted_before_something_is_served() -> None:
    assert INSIDE.status(INSIDE.configuration(CA.certificate), None).state is ConfigurationState.UNTRUSTED


def test_operator_outside_the_cluster_makes_the_configuration_and_is_called_by_url() -> None:
    assert (OUTSIDE.is_configuration_ours_to_make, INSIDE.is_configuration_ours_to_make) == (True, False)
    assert OUTSIDE.status(OUTSIDE.configuration(CA.certificate), CERTIFICATE).state is ConfigurationState.OK
    assert OUTSIDE.status(INSIDE.configuration(CA.certificate), CERTIFICATE).state is ConfigurationState.REPLACED
