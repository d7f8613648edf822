"""Certificates that real TLS stacks accept, judged by age, key, issuer and names."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from rukpak_py.core import x509
from rukpak_py.core.x509 import KeyPair
from tests.handshakes import handshake

NOW = datetime.now(UTC)
HOSTS = ("localhost", "127.0.0.1", "core.rukpak-system.svc")


@pytest.fixture(scope="module")
def ca() -> KeyPair:
    return x509.issue_ca(NOW)


@pytest.fixture(scope="module")
def serving(ca: KeyPair) -> KeyPair:
    return x509.issue_serving(ca, HOSTS, NOW)


@pytest.mark.parametrize("host", HOSTS)
def test_a_strict_client_accepts_every_name(ca: KeyPair, serving: KeyPair, host: str) -> None:
    handshake(serving, ca.certificate, host)


def test_another_name_is_not_accepted(ca: KeyPair, serving: KeyPair) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(serving, ca.certificate, "example.com")


def test_another_authority_is_not_accepted(serving: KeyPair) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(serving, x509.issue_ca(NOW).certificate, "localhost")


def test_either_authority_of_a_rotation_is_accepted(ca: KeyPair, serving: KeyPair) -> None:
    newer = x509.issue_ca(NOW + timedelta(days=1))
    both = x509.trust_bundle(newer.certificate, ca.certificate, NOW)
    handshake(serving, both, "localhost")


@pytest.mark.parametrize(
    ("age", "expected"), [(timedelta(0), False), (timedelta(days=59), False), (timedelta(days=61), True)]
)
def test_rotation_is_due_after_two_thirds_of_life(serving: KeyPair, age: timedelta, expected: bool) -> None:  # noqa: FBT001 - a table's column
    assert x509.needs_rotation(serving.certificate, NOW + age) is expected


def test_an_authority_outlives_what_it_signs(ca: KeyPair) -> None:
    last_day = NOW + x509.CA_LIFE * 2 / 3
    assert not x509.needs_rotation(ca.certificate, last_day - timedelta(days=1))
    assert last_day + x509.SERVING_LIFE < NOW + x509.CA_LIFE


@pytest.mark.parametrize("junk", [b"", b"junk", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_junk_is_never_good(ca: KeyPair, junk: bytes) -> None:
    assert x509.needs_rotation(junk, NOW)
    assert not x509.is_pair(KeyPair(certificate=junk, key=ca.key))
    assert not x509.is_pair(KeyPair(certificate=ca.certificate, key=junk))
    assert not x509.is_signed_by(junk, ca.certificate)
    assert not x509.covers(junk, HOSTS)
    assert x509.trust_bundle(ca.certificate, junk, NOW) == ca.certificate


def test_key_of_another_certificate_makes_no_pair(ca: KeyPair, serving: KeyPair) -> None:
    assert x509.is_pair(ca)
    assert not x509.is_pair(KeyPair(certificate=ca.certificate, key=serving.key))


def test_an_authority_of_the_same_name_did_not_sign_it(ca: KeyPair, serving: KeyPair) -> None:
    assert x509.is_signed_by(serving.certificate, ca.certificate)
    assert not x509.is_signed_by(serving.certificate, x509.issue_ca(NOW).certificate)


@pytest.mark.parametrize(
    ("hosts", "expected"), [(HOSTS, True), (HOSTS[:1], True), (["127.0.0.2"], False), (["*.svc"], False)]
)
def test_names_are_covered_one_by_one(serving: KeyPair, hosts: Sequence[str], expected: bool) -> None:  # noqa: FBT001 - a table's column
    assert x509.covers(serving.certificate, hosts) is expected


def test_trust_keeps_the_former_authority_until_it_expires(ca: KeyPair) -> None:
    newer = x509.issue_ca(NOW + timedelta(days=250))
    both = x509.trust_bundle(newer.certificate, ca.certificate, NOW + timedelta(days=250))
    assert x509.split(both) == [newer.certificate, ca.certificate]
    assert x509.trust_bundle(newer.certificate, both, NOW + timedelta(days=250)) == both
    assert x509.trust_bundle(newer.certificate, both, NOW + timedelta(days=366)) == newer.certificate


def test_certificate_with_an_unknown_curve_is_never_good(ca: KeyPair, serving: KeyPair) -> None:
    """Everyone who may write a Secret may write this."""
    der = ssl.PEM_cert_to_DER_cert(serving.certificate.decode())
    p256 = bytes.fromhex("06082a8648ce3d030107")
    assert p256 in der
    odd = ssl.DER_cert_to_PEM_cert(der.replace(p256, p256[:-1] + b"\x7f")).encode()
    assert not x509.is_pair(KeyPair(certificate=odd, key=serving.key))
    assert x509.issuers(odd, ca.certificate) == b""
    assert x509.issuers(serving.certificate, odd) == b""
    assert x509.trust_bundle(ca.certificate, odd, NOW)
