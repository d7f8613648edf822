"""Where the API server is, and who we are: kubeconfig and pod."""

import base64
import datetime as dt
import ssl
from pathlib import Path

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rukpak_py.core.errors import AccessError
from rukpak_py.kube.config import FILE_CHECK_SECONDS, FileToken, load_connection


@pytest.fixture(scope="session")
def pair() -> tuple[str, str]:
    """A certificate and its key; which ones does not matter here."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


def kubeconfig(path: Path, *, cluster: dict[str, object], user: dict[str, object], **context: object) -> Path:
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **context}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_bytes(orjson.dumps(document))
    return path


def inline(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_certificates_may_be_inline(tmp_path: Path, pair: tuple[str, str]) -> None:
    path = kubeconfig(
        tmp_path / "config",
        cluster={"certificate-authority-data": inline(pair[0]), "tls-server-name": "kubernetes"},
        user={"client-certificate-data": inline(pair[0]), "client-key-data": inline(pair[1])},
        namespace="shop",
    )
    connection = await load_connection(path)

    assert (connection.server, connection.server_name) == ("https://10.0.0.1:6443", "kubernetes")
    assert connection.namespace == "shop"
    assert connection.tls is not None
    assert connection.tls.verify_mode is ssl.CERT_REQUIRED
    assert len(connection.tls.get_ca_certs()) == 1
    assert connection.token is None


async def test_certificates_and_tokens_may_be_files_beside_it(tmp_path: Path, pair: tuple[str, str]) -> None:
    for name, text in (("ca.crt", pair[0]), ("me.crt", pair[0]), ("me.key", pair[1]), ("token", "t-1\n")):
        (tmp_path / name).write_text(text)
    path = kubeconfig(
        tmp_path / "config",
        cluster={"certificate-authority": "ca.crt"},
        user={"client-certificate": "me.crt", "client-key": "me.key", "tokenFile": "token"},
    )
    connection = await load_connection(path)

    assert connection.tls is not None
    assert connection.token is not None
    assert await connection.token.token() == "t-1"


async def test_nothing_that_is_shown_has_a_credential(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", cluster={"proxy-url": "http://u:pw@proxy"}, user={"token": "hunter2"})
    connection = await load_connection(path)

    assert "hunter2" not in repr(connection)
    assert "pw" not in repr(connection)
    assert connection.proxy == "http://u:pw@proxy"
    assert "hunter2" not in repr(connection.token)


async def test_the_environment_names_files_and_the_first_that_exists_counts(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", cluster={}, user={"token": "t"})
    environ = {"KUBECONFIG": f"{tmp_path / 'none'}:{path}"}

    assert (await load_connection(environ=environ)).server == "https://10.0.0.1:6443"
    with pytest.raises(AccessError, match="there is no kubeconfig at"):
        await load_connection(environ={"KUBECONFIG": str(tmp_path / "none")})


async def test_the_home_directory_is_the_last_resort(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube" / "config", cluster={}, user={"token": "t"})

    connection = await load_connection(environ={"HOME": str(tmp_path)})
    assert connection.server == "https://10.0.0.1:6443"
    with pytest.raises(AccessError, match="not in a pod, KUBECONFIG is not set"):
        await load_connection(environ={"HOME": str(tmp_path / "other")})


@pytest.mark.parametrize(
    ("host", "server"),
    [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")],
)
async def test_a_pod_uses_its_service_account(tmp_path: Path, pair: tuple[str, str], host: str, server: str) -> None:
    for name, text in (("ca.crt", pair[0]), ("token", "t-1"), ("namespace", "rukpak-system")):
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443", "HOME": "/nowhere"}
    connection = await load_connection(environ=environ, service_account=tmp_path)

    assert (connection.server, connection.namespace) == (server, "rukpak-system")
    assert connection.token is not None
    assert await connection.token.token() == "t-1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("users: [{password: hunter2", "is not YAML"),
        ("hunter2", "is not a kubeconfig"),
        ("current-context: x", "has no context named 'x'"),
    ],
)
async def test_a_broken_file_is_named_and_not_quoted(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)

    with pytest.raises(AccessError, match=said) as caught:
        await load_connection(path)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_unusable_certificates_are_named_and_not_quoted(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", cluster={"certificate-authority-data": inline("hunter2")}, user={})

    with pytest.raises(AccessError, match="the certificates of context 'here' are unusable"):
        await load_connection(path)


async def test_a_rotated_token_file_is_read_again(tmp_path: Path) -> None:
    path, now = tmp_path / "token", [0.0]
    path.write_text("first")
    token = FileToken(path, clock=lambda: now[0])
    assert await token.token() == "first"

    path.write_text("the second")
    assert await token.token() == "first"  # looked at once a second
    now[0] += FILE_CHECK_SECONDS
    assert await token.token() == "the second"
    path.unlink()
    now[0] += FILE_CHECK_SECONDS
    assert await token.token() == "the second"


async def test_a_token_that_was_refused_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    token = FileToken(path, clock=lambda: 0.0)
    await token.token()
    path.write_text("the second")
    token.forget()

    assert await token.token() == "the second"


async def test_a_token_file_that_is_missing_is_an_access_error(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="cannot read the API server token file"):
        await FileToken(tmp_path / "none").token()
