"""Images pulled from a real registry, with a password and with TLS by an authority that was made on the spot."""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.image.client import Advice
from rukpak_py.sources.image.credentials import RegistryCredentials
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.layer_files import tree_of_layers
from rukpak_py.sources.image.layers import below
from rukpak_py.sources.image.pull import ImagePull, PullOptions
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.image.reference import ImageReference, parse_image
from tests.integration.images.registry import (
    PASSWORD,
    USER,
    Registry,
    basic,
    private_registry,
    running_registry,
    running_token_service,
)
from tests.unit.cli.running import CommandLine
from tests.unit.images import hard_link, layer, symlink, zstd_compressed
from tests.unit.sources.image.image_pulls import LOOPBACK
from tests.unit.sources.image.image_registry import DOCKER_INDEX, DOCKER_MANIFEST, Contents, Files, digest_of
from tests.workers import SPOOL

ADVICE = Advice(login="Log in.", certificate="Trust it.", no_tls="Name it.")
LOGIN = RegistryCredentials(user=USER, password=PASSWORD)
FILES = {"manifests/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with private_registry(tmp_path_factory.mktemp("private")) as registry:
        yield registry


@pytest.fixture
def contents() -> Contents:
    return Contents()


def pulled(
    registry: Registry, name: str, logins: Sequence[RegistryCredentials] = (LOGIN,), **given: Any
) -> tuple[ImageReference, Tree]:
    usual: dict[str, Any] = {"addresses": LOOPBACK, "ca_bundle": registry.authority}
    options = PullOptions(limits=DEFAULT_LIMITS, advice=ADVICE, **usual | given)
    with ReceivedFiles(SPOOL) as files:
        pull = ImagePull(parse_image(f"{registry.address}/{name}"), logins, options, files)
        try:
            return pull.resolve(), tree_of_layers(pull.download(), below("manifests"), DEFAULT_LIMITS)
        finally:
            pull.abort()


def test_image_is_pulled_by_tag_and_by_digest(registry: Registry, contents: Contents) -> None:
    image = contents.image({"bin/x": b"1"}, FILES, tag="v1")
    registry.push(contents, "team/plain", login=basic())
    found, tree = pulled(registry, "team/plain:v1")
    assert (found.digest, dict(tree)) == (image["digest"], FILES)
    assert pulled(registry, f"team/plain@{found.digest}")[1] == tree
    with pytest.raises(UnavailableError, match="404: manifest unknown"):
        pulled(registry, "team/plain:v2")
    with pytest.raises(UnavailableError, match="404: manifest unknown"):
        pulled(registry, f"team/plain@sha256:{0:064}")


@pytest.mark.parametrize("kind", ["oci", "docker"])
def test_image_of_the_platform_is_pulled_from_both_kinds_of_indexes(
    registry: Registry, contents: Contents, kind: str
) -> None:
    types = {"kind": DOCKER_MANIFEST} if kind == "docker" else {}
    images = [
        contents.image({"manifests/a": name.encode()}, platform={"os": "linux", "architecture": name}, **types)
        for name in ("amd64", "arm64")
    ]
    index = contents.index(*images, tag="v1", **({"kind": DOCKER_INDEX} if kind == "docker" else {}))
    registry.push(contents, f"team/{kind}", login=basic())
    found, tree = pulled(registry, f"team/{kind}:v1", platform=Platform(os="linux", architecture="arm64"))
    assert (found.digest, dict(tree)) == (index["digest"], {"manifests/a": b"arm64"})


def test_layers_of_all_kinds_are_applied_in_order(registry: Registry, contents: Contents) -> None:
    lower: Files = {"manifests/a": b"1", "manifests/old/b": b"2", "data/x": b"x"}
    upper: Files = {
        "manifests/.wh.a": b"",
        "manifests/old/.wh..wh..opq": b"",
        "manifests/c": symlink("../data/x"),
        "manifests/d": hard_link("manifests/e"),
    }
    tars = [layer(lower), layer({"manifests/e": b"3"}), layer(upper)]
    packed = [("+gzip", gzip.compress(tars[0])), ("+zstd", zstd_compressed(tars[1])), ("", tars[2])]
    layers = [(f"application/vnd.oci.image.layer.v1.tar{kind}", data) for kind, data in packed]
    contents.image_of(layers, diff_ids=[digest_of(tar) for tar in tars], tag="v1")
    registry.push(contents, "team/layers", login=basic())
    expected = {"manifests/c": b"x", "manifests/d": b"3", "manifests/e": b"3"}
    assert dict(pulled(registry, "team/layers:v1")[1]) == expected


def test_caller_without_access_is_told_why(registry: Registry, contents: Contents) -> None:
    contents.image(FILES, tag="v1")
    registry.push(contents, "team/private", login=basic())
    with pytest.raises(AccessError, match="it wants a login"):
        pulled(registry, "team/private:v1", ())
    wrong = RegistryCredentials(user=USER, password="wrong")
    with pytest.raises(AccessError, match="refuses: authentication required"):
        pulled(registry, "team/private:v1", (wrong,))
    assert dict(pulled(registry, "team/private:v1", (wrong, LOGIN))[1]) == FILES
    with pytest.raises(UnavailableError, match="is not trusted"):
        pulled(registry, "team/private:v1", ca_bundle="")


def test_a_registry_with_tokens_and_without_tls(tmp_path: Path, contents: Contents) -> None:
    contents.image(FILES, FILES, tag="v1")
    with running_token_service() as service, running_registry(tmp_path, service.auth(tmp_path)) as registry:
        token = service.token("repository:team/demo:pull,push")
        registry.push(contents, "team/demo", login=f"Bearer {token}")
        service.scopes.clear()
        assert dict(pulled(registry, "team/demo:v1")[1]) == FILES
        assert service.scopes == ["repository:team/demo:pull"]  # one for all requests
        with pytest.raises(AccessError, match="no token for this login"):
            pulled(registry, "team/demo:v1", ())


def test_the_command_line_reads_what_is_in_a_registry(
    registry: Registry,
    contents: Contents,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rukpak_py.sources.tls import client_context  # noqa: PLC0415 - its memory is about to be emptied

    rukpakctl = CommandLine(capsys)
    contents.image(FILES, tag="v1")
    registry.push(contents, "team/cli", login=basic())
    (tmp_path / "authority.pem").write_text(registry.authority)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    client_context.cache_clear()
    name = f"{registry.address}/team/cli:v1"
    without_login = rukpakctl("bundle", "render", name)
    assert without_login.status == 3
    assert f"it wants a login. Log in with `docker login {registry.address}`" in without_login.err
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.address: {"auth": auth}}}))
    rendered = rukpakctl("bundle", "render", name)
    assert (rendered.status, "kind: ConfigMap" in rendered.out) == (0, True)
    validated = rukpakctl("bundle", "validate", f"docker://{name}")
    assert (validated.status, "(plain): valid" in validated.out) == (0, True)
    client_context.cache_clear()
