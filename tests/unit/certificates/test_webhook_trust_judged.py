"""Whether the API server would trust what a replica serves, judged by the webhook configuration.

A serving certificate of an earlier installation can be loaded before the leader has written the caBundle of this one:
having a certificate is not being trusted, and a replica that is ready too early gets Bundles refused with x509 errors.
"""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from rukpak_py.certificates.own_webhooks import OurWebhooks
from rukpak_py.core import x509
from rukpak_py.core.ca_bundles import trusts
from rukpak_py.core.x509 import KeyPair

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return x509.issue_ca(NOW)


@pytest.fixture(scope="module")
def serving(authority: KeyPair) -> bytes:
    return x509.issue_serving(authority, ("localhost",), NOW).certificate


def configuration(*bundles: bytes) -> dict[str, Any]:
    """Our first webhooks; an empty bundle leaves the field out, as the chart does."""
    manifest = OurWebhooks(system_namespace="sys").configuration()
    manifest["webhooks"] = manifest["webhooks"][: len(bundles)]
    for webhook, bundle in zip(manifest["webhooks"], bundles, strict=True):
        if bundle:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
    return manifest


def test_the_authority_that_signed_is_trusted(authority: KeyPair, serving: bytes) -> None:
    assert trusts(configuration(authority.certificate, authority.certificate), serving)


def test_one_of_several_authorities_is_enough(authority: KeyPair, serving: bytes) -> None:
    both = x509.issue_ca(NOW).certificate + authority.certificate
    assert trusts(configuration(both, both), serving)


def test_every_webhook_has_to_trust(authority: KeyPair, serving: bytes) -> None:
    assert not trusts(configuration(authority.certificate, b""), serving)
    assert not trusts(configuration(b"", b""), serving)


def test_another_authority_or_no_certificate_is_no_trust(serving: bytes) -> None:
    other = x509.issue_ca(NOW).certificate
    assert not trusts(configuration(other, other), serving)
    assert not trusts(configuration(b"no certificate", b"no certificate"), serving)


def test_a_configuration_without_webhooks_asks_for_nothing(serving: bytes) -> None:
    assert trusts({"webhooks": []}, serving)
