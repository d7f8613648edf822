"""Our own certificate authority as values: issuing, reading and judging certificates, with `now` handed in.

ECDSA P-256 throughout. Certificates begin five minutes early, so that a clock that is a little behind accepts them.
A certificate is due for rotation after two thirds of its life; an authority lives longer than what it signs.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_LIFE = timedelta(days=365)
SERVING_LIFE = timedelta(days=90)
_CLOCK_SKEW = timedelta(minutes=5)
# Errors of reading a certificate or a key that another program wrote: no PEM, no DER, or an unknown algorithm.
UNREADABLE = (ValueError, UnsupportedAlgorithm)


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """A certificate and its key, both in PEM."""

    certificate: bytes
    key: bytes


def issue_ca(now: datetime, *, life: timedelta = CA_LIFE) -> KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    # The date makes subjects of successive authorities differ: verifiers look an issuer up by its subject.
    name = _name(f"rukpak-ca {now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    builder = (
        _builder(name, issuer=name, public_key=key.public_key(), now=now, life=life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    return _sign(builder, key, key)


def issue_serving(ca: KeyPair, hosts: Sequence[str], now: datetime, *, life: timedelta = SERVING_LIFE) -> KeyPair:
    """A certificate for a server that is reached under these host names and addresses."""
    issuer = x509.load_pem_x509_certificate(ca.certificate)
    issuer_key = _load_key(ca.key)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name("rukpak"), issuer=issuer.subject, public_key=key.public_key(), now=now, life=life)
        .add_extension(x509.SubjectAlternativeName(_alternative_names(hosts)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    return _sign(builder, key, issuer_key)


def needs_rotation(certificate: bytes, now: datetime) -> bool:
    """Whether two thirds of its life are over; what cannot be read needs it too."""
    due = rotation_due(certificate)
    return due is None or now >= due


def rotation_due(certificate: bytes) -> datetime | None:
    """When two thirds of its life are over; None when it cannot be read."""
    try:
        parsed = x509.load_pem_x509_certificate(certificate)
    except UNREADABLE:
        return None
    life = parsed.not_valid_after_utc - parsed.not_valid_before_utc
    return parsed.not_valid_before_utc + life * 2 / 3


def has_expired(certificate: bytes, now: datetime) -> bool:
    """Whether its life is over; what cannot be read has none."""
    end = expiry(certificate)
    return end is None or now >= end


def expiry(certificate: bytes) -> datetime | None:
    """When its life is over; None when it cannot be read."""
    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc
    except UNREADABLE:
        return None


def is_pair(pair: KeyPair) -> bool:
    """Whether both parts can be read and the key belongs to the certificate."""
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        return _load_key(pair.key).public_key() == certificate.public_key()
    except (*UNREADABLE, TypeError):
        return False


def is_signed_by(certificate: bytes, ca: bytes) -> bool:
    try:
        x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
    except (*UNREADABLE, TypeError, InvalidSignature):
        return False
    return True


def covers(certificate: bytes, hosts: Iterable[str]) -> bool:
    """Whether the certificate names all these hosts."""
    try:
        extensions = x509.load_pem_x509_certificate(certificate).extensions
        named = set(extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except (*UNREADABLE, x509.ExtensionNotFound):
        return False
    return named.issuperset(_alternative_names(hosts))


def issuers(certificate: bytes, bundle: bytes) -> bytes:
    """The authorities of this bundle that signed the certificate, as a bundle."""
    return b"".join(authority for authority in split(bundle) if is_signed_by(certificate, authority))


def trust_bundle(ca: bytes, former: bytes, now: datetime, *, needed: bytes = b"") -> bytes:
    """The authority first, then what was trusted before and has not expired; what is unreadable is left out.

    `needed`: authorities that have to stay, whatever became of the former bundle.
    """
    newest = x509.load_pem_x509_certificate(ca)
    known = dict.fromkeys([*_load_bundle(former), *_load_bundle(needed)])
    still_good = [old for old in known if old != newest and old.not_valid_after_utc > now]
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in (newest, *still_good))


def split(bundle: bytes) -> list[bytes]:
    """The certificates of a PEM bundle, one by one; none when it cannot be read."""
    return [certificate.public_bytes(serialization.Encoding.PEM) for certificate in _load_bundle(bundle)]


def _load_bundle(bundle: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(bundle)
    except UNREADABLE:
        return []


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, *, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _sign(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> KeyPair:
    certificate = builder.sign(signer, hashes.SHA256())
    return KeyPair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the key is not an elliptic curve key")
    return key


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_names(hosts: Iterable[str]) -> list[x509.GeneralName]:
    return [_alternative_name(host) for host in dict.fromkeys(hosts)]


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except UNREADABLE:
        return x509.DNSName(host)
