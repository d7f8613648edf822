"""Certificates of the local cluster are accepted by those who must accept them, and by no one else."""

import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from e2e.cluster.credentials import issue_credentials, issue_user
from e2e.cluster.network import Network
from e2e.cluster.pki import Authority, KeyPair, Subject
from e2e.cluster.state import StateDir

NETWORK = Network(address="10.201.0.1", pods="10.201.0.0/24", services="10.201.240.0/20")


def certificate(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    state = StateDir(tmp_path / "cluster")
    state.claim()
    issue_credentials(state, NETWORK, server="https://10.201.0.1:6443")
    return state


def test_an_authority_signs_what_it_issues() -> None:
    authority, other = Authority.create("one"), Authority.create("one")
    issued = certificate(authority.issue(Subject(name="somebody")))
    issued.verify_directly_issued_by(certificate(authority.pair))
    with pytest.raises(InvalidSignature):
        issued.verify_directly_issued_by(certificate(other.pair))


def test_a_user_is_the_common_name_and_groups_are_organisations() -> None:
    issued = certificate(Authority.create("ca").issue(Subject(name="jane", organisations=["dev", "ops"])))
    names = [attribute.value for attribute in issued.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = [attribute.value for attribute in issued.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    assert (names, groups) == (["jane"], ["dev", "ops"])


def test_keys_are_elliptic_and_no_two_are_equal() -> None:
    authority = Authority.create("ca")
    first, second = authority.issue(Subject(name="a")), authority.issue(Subject(name="a"))
    key = certificate(first).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert first.key != second.key
    assert certificate(first).serial_number != certificate(second).serial_number


def test_an_issued_certificate_cannot_issue_others() -> None:
    issued = certificate(Authority.create("ca").issue(Subject(name="a")))
    assert not issued.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_the_api_server_is_known_by_every_address_that_clients_use(state: StateDir) -> None:
    served = certificate(KeyPair.read(state.pki, "apiserver"))
    names = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {str(address) for address in names.get_values_for_type(x509.IPAddress)} == {
        "127.0.0.1",
        "10.201.0.1",
        "10.201.240.1",
    }
    assert {"localhost", "kubernetes.default.svc"} <= set(names.get_values_for_type(x509.DNSName))


def test_no_certificate_of_the_cluster_opens_etcd(state: StateDir) -> None:
    etcd = certificate(KeyPair.read(state.pki, "etcd-ca"))
    certificate(KeyPair.read(state.pki, "etcd-client")).verify_directly_issued_by(etcd)
    with pytest.raises(ValueError, match="issuer"):
        certificate(KeyPair.read(state.pki, "admin")).verify_directly_issued_by(etcd)


def test_only_the_owner_reads_keys_and_kubeconfigs(state: StateDir) -> None:
    issue_user(state, server="https://10.201.0.1:6443", user="system:serviceaccount:a:b")
    files = [*state.pki.iterdir(), *state.users.iterdir()]
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o700


def test_the_admin_has_no_kubeconfig_before_the_cluster_is_ready(state: StateDir) -> None:
    assert not state.kubeconfig.exists()
