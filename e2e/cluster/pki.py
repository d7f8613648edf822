"""Certificates of a cluster, made new for each cluster, keys readable by their owner only.

Keys are EC P-256, which are made at once, except that of an authority of clients: an API server verifies the client's
certificate with each request, and what RSA has signed is verified in a fifth of the time.
"""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from e2e.cluster.files import write_private

LIFETIME = dt.timedelta(days=3650)
CLOCK_SKEW = dt.timedelta(hours=1)
RSA_BITS = 2048
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """A certificate and its key, PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        write_private(folder / f"{name}.crt", self.certificate)
        write_private(folder / f"{name}.key", self.key)

    @classmethod
    def read(cls, folder: Path, name: str) -> "KeyPair":
        return cls(certificate=(folder / f"{name}.crt").read_bytes(), key=(folder / f"{name}.key").read_bytes())


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The subject of a certificate. A client is a user (`name`) in groups (`organisations`)."""

    name: str
    organisations: Sequence[str] = ()
    dns_names: Sequence[str] = ()
    addresses: Sequence[str] = ()

    @property
    def distinguished_name(self) -> x509.Name:
        groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in self.organisations]
        return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, self.name)])


class Authority:
    def __init__(self, pair: KeyPair) -> None:
        self.pair = pair
        self._certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = serialization.load_pem_private_key(pair.key, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            raise TypeError("the authority's key is neither an EC nor an RSA key")
        self._key = key

    @classmethod
    def create(cls, name: str, *, of_clients: bool = False) -> "Authority":
        key: PrivateKey = rsa.generate_private_key(65537, RSA_BITS) if of_clients else _ec_key()
        subject = Subject(name=name).distinguished_name
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            _builder(subject, subject, key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(KeyPair(certificate=_pem(builder.sign(key, hashes.SHA256())), key=private_pem(key)))

    def issue(self, subject: Subject) -> KeyPair:
        """Give a certificate for server and client use; only names and addresses make a server of it."""
        key = _ec_key()
        both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        authority_key = self._key.public_key()
        builder = (
            _builder(subject.distinguished_name, self._certificate.subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(both, critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key), critical=False)
        )
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in subject.dns_names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in subject.addresses]
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return KeyPair(certificate=_pem(builder.sign(self._key, hashes.SHA256())), key=private_pem(key))


def signing_keys() -> tuple[bytes, bytes]:
    """Make a private and a public key in PEM: service-account tokens are signed and checked with them."""
    key = _ec_key()
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private_pem(key), public


def private_pem(key: PrivateKey) -> bytes:
    # The API server reads service-account keys in SEC 1 form ("EC PRIVATE KEY") only.
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _builder(subject: x509.Name, issuer: x509.Name, key: PrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
