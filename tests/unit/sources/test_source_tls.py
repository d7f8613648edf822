"""Whom a source trusts. What real servers and clients make of it is tested with the sources."""

import ssl
from datetime import UTC, datetime

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.core.x509 import issue_ca
from rukpak_py.sources.tls import client_context

CA = issue_ca(datetime.now(UTC)).certificate.decode()


def test_a_private_authority_is_trusted_on_top_of_the_systems() -> None:
    own = client_context(CA).cert_store_stats()["x509_ca"]
    assert own == client_context().cert_store_stats()["x509_ca"] + 1


def test_several_authorities_with_comments_between_them() -> None:
    other = issue_ca(datetime.now(UTC)).certificate.decode()
    context = client_context(f"# Zertifizierungsstelle für uns\n{CA}\nOther\n=====\n{other}\n")
    assert context.cert_store_stats()["x509_ca"] == client_context().cert_store_stats()["x509_ca"] + 2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize(
    "text",
    ["nothing", "-----BEGIN CERTIFICATE-----", CA.replace("MII", "AAA"), "ü"],
    ids=["no PEM", "half of it", "damaged", "not ASCII"],
)
def test_invalid_ca_bundle_is_refused(text: str) -> None:
    with pytest.raises(ContentError, match="caBundle holds no certificate in PEM, or one that cannot be read"):
        client_context(text)


@pytest.mark.parametrize("insecure", [False, True])
@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "ENCRYPTED ", "OPENSSH "])
def test_c18_a_private_key_is_no_authority(kind: str, *, insecure: bool) -> None:
    """The resolved source repeats the bundle, in a status that more people may read."""
    with pytest.raises(ContentError, match="caBundle holds a private key: give certificates only") as refused:
        client_context(f"{CA}-----BEGIN {kind}PRIVATE KEY-----\nc2VjcmV0\n", insecure_skip_verify=insecure)
    assert "c2VjcmV0" not in str(refused.value)


def test_no_verification_when_asked_for() -> None:
    context = client_context(insecure_skip_verify=True)
    assert context.verify_mode is ssl.CERT_NONE
    assert not context.check_hostname
