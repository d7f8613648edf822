"""A pull of an image: which one, what of it, and that every byte is the one that was named."""

import gzip
import random
from pathlib import Path

import pytest

from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.pull import ImagePull, PullOptions
from rukpak_py.sources.image.received_files import ReceivedFiles
from tests.unit.images import directory, hard_link, layer, symlink, zstd_compressed
from tests.unit.sources.image.image_pulls import ADVICE, FILES, pulled, reference, refused
from tests.unit.sources.image.image_registry import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_LAYER,
    OCI_MANIFEST,
    REPOSITORY,
    Contents,
    Files,
    digest_of,
)
from tests.unit.web_servers import Answer, Asked, Server, serving, tls_of
from tests.workers import SPOOL

ARM = Platform(os="linux", architecture="arm64")
pytestmark = pytest.mark.usefixtures("hasty")


@pytest.mark.parametrize("kind", [OCI_MANIFEST, DOCKER_MANIFEST])
def test_by_tag_and_by_digest(server: Server, contents: Contents, kind: str) -> None:
    image = contents.image({"bin/x": b"1"}, FILES, tag="v1", kind=kind)
    by_tag, tree = pulled(reference(server))
    assert dict(tree) == FILES
    assert str(by_tag) == f"{server.address}/{REPOSITORY}@{image['digest']}"
    for name in (f"@{image['digest']}", f":gone@{image['digest']}"):
        by_digest, same = pulled(reference(server, name))
        assert (str(by_digest), same) == (str(by_tag), tree)


@pytest.mark.parametrize("kind", [OCI_INDEX, DOCKER_INDEX])
def test_of_an_index_the_image_of_the_platform(server: Server, contents: Contents, kind: str) -> None:
    images = [
        contents.image({"manifests/a": name.encode()}, platform={"os": "linux", "architecture": name})
        for name in ("amd64", "arm64")
    ]
    attestation = contents.image({}, platform={"os": "unknown", "architecture": "unknown"})
    index = contents.index(attestation, *images, tag="v1", kind=kind)
    found, tree = pulled(reference(server), platform=ARM)
    assert (found.digest, dict(tree)) == (index["digest"], {"manifests/a": b"arm64"})
    assert dict(pulled(reference(server, f"@{images[0]['digest']}"), platform=ARM)[1]) == {"manifests/a": b"amd64"}
    other = Platform(os="linux", architecture="riscv64")
    assert dict(pulled(reference(server), platform=other)[1]) == {"manifests/a": b"amd64"}


def test_the_only_image_of_an_index_is_for_everybody(server: Server, contents: Contents) -> None:
    only = contents.image(FILES, platform={"os": "linux", "architecture": "s390x"})
    contents.index(contents.index(only), tag="v1")
    assert dict(pulled(reference(server), platform=ARM)[1]) == FILES


def test_an_index_without_the_platform_says_what_it_has(server: Server, contents: Contents) -> None:
    images = [contents.image(FILES, platform={"os": "linux", "architecture": name}) for name in ("s390x", "ppc64le")]
    contents.index(*images, tag="v1")
    assert refused(reference(server), ContentError, platform=ARM) == (
        "the image is not for linux/arm64, but for linux/ppc64le, linux/s390x"
    )


def test_layers_with_gzip_zstd_or_neither(server: Server, contents: Contents) -> None:
    tars = [layer({f"manifests/{name}": name.encode()}) for name in "abc"]
    packed = [gzip.compress(tars[0]), zstd_compressed(tars[1]), tars[2]]
    types = ["", "+gzip", "+zstd"]  # what a layer says of itself does not matter: containerd looks, too
    layers = [(f"application/vnd.oci.image.layer.v1.tar{kind}", data) for kind, data in zip(types, packed, strict=True)]
    contents.image_of(layers, tag="v1", diff_ids=[digest_of(tar) for tar in tars])
    assert sorted(pulled(reference(server))[1]) == ["manifests/a", "manifests/b", "manifests/c"]


def test_c2_whiteouts_opaque_directories_and_links(server: Server, contents: Contents) -> None:
    lower = {"manifests/a": b"1", "manifests/b": b"2", "manifests/old/c": b"3", "data/x": b"x"}
    upper: Files = {
        "manifests/.wh.a": b"",
        "manifests/old/.wh..wh..opq": b"",
        "manifests/old/d": b"4",
        "manifests/link": symlink("../../../data/x"),  # as in a container, it ends at the root of the image
        "manifests/hard": hard_link("manifests/old/d"),
    }
    contents.image(lower, upper, tag="v1")
    kept = {"manifests/b": b"2", "manifests/old/d": b"4", "manifests/link": b"x", "manifests/hard": b"4"}
    assert dict(pulled(reference(server))[1]) == kept


def test_c2_names_of_artifacts_are_no_paths(server: Server, contents: Contents) -> None:
    titled = {"annotations": {"org.opencontainers.image.title": "../../x"}}
    blob = contents.blob(b"evil", "application/vnd.example.file", **titled)
    config = contents.blob(b"{}", "application/vnd.oci.empty.v1+json")
    contents.document({"schemaVersion": 2, "config": config, "layers": [blob]}, OCI_MANIFEST, tag="v1")
    assert refused(reference(server), ContentError) == (
        "the image has a layer of type 'application/vnd.example.file', which is not a file system"
    )


def test_a_directory_without_files_is_kept(server: Server, contents: Contents) -> None:
    contents.image({"manifests": directory()}, tag="v1")
    assert pulled(reference(server))[1].empty_directories == {"manifests"}


def test_c14_a_manifest_with_another_digest_is_refused(server: Server, contents: Contents) -> None:
    image, other = contents.image(FILES), contents.image({"manifests/a": b"evil"}, tag="v1")
    contents.documents[image["digest"]] = contents.documents[other["digest"]]
    assert f"{image['digest']} is damaged" in refused(reference(server, f"@{image['digest']}"), UnavailableError)
    announced = Answer(200, {"Docker-Content-Digest": image["digest"]}, contents.documents["v1"][1])
    server.answer = lambda asked: announced if asked.path.endswith("/v1") else None
    assert f"{image['digest']} is damaged" in refused(reference(server), UnavailableError)


@pytest.mark.parametrize("part", ["manifest", "config", "layer"])
def test_c14_whatever_a_digest_names_is_verified(server: Server, contents: Contents, part: str) -> None:
    image = contents.image(FILES, platform={"os": "linux", "architecture": "amd64"})
    contents.index(image, tag="v1")
    if part == "manifest":
        kind, data = contents.documents[image["digest"]]
        contents.documents[image["digest"]] = (kind, data[:-1] + b" ")
    else:
        [changed] = [digest for digest, data in contents.blobs.items() if data.startswith(b"{") == (part == "config")]
        data = contents.blobs[changed]
        contents.blobs[changed] = data[:-1] + bytes([data[-1] ^ 1])
    assert "is damaged" in refused(reference(server), UnavailableError), "the registry's fault, which may be mended"


def test_c14_what_is_damaged_in_the_middle_is_the_registrys_fault(server: Server, contents: Contents) -> None:
    """Its unpacking fails long before its end, where the digest is compared."""
    noise = random.Random(1)  # noqa: S311 - the same in every run
    contents.image({"manifests/a": noise.randbytes(3_000_000)}, tag="v1")
    [large] = [digest for digest, data in contents.blobs.items() if len(data) > 1_000_000]
    data = bytearray(contents.blobs[large])
    data[1000:2000] = bytes(1000)
    contents.blobs[large] = bytes(data)
    assert f"blob {large} is damaged" in refused(reference(server), UnavailableError)


def test_a_layer_that_is_no_archive_is_the_images_fault(server: Server, contents: Contents) -> None:
    data = gzip.compress(b"no archive" * 1000)
    contents.image_of([(OCI_LAYER, data)], tag="v1")
    assert refused(reference(server), ContentError)


def test_a_layer_that_unpacks_to_something_else_is_refused(server: Server, contents: Contents) -> None:
    data = gzip.compress(layer(FILES))
    contents.image_of([(OCI_LAYER, data)], diff_ids=[f"sha256:{0:064}"], tag="v1")
    assert "is damaged" in refused(reference(server), ContentError)
    contents.image_of([(OCI_LAYER, data)], diff_ids=[], tag="v1")
    assert refused(reference(server), ContentError) == "the image has 1 layers, and digests of 0"


def test_a_blob_that_breaks_off_is_read_on(server: Server, contents: Contents) -> None:
    contents.image({"manifests/a": bytes(range(256)) * 1000}, tag="v1")
    large = max(contents.blobs, key=lambda digest: len(contents.blobs[digest]))
    size = len(contents.blobs[large])

    def cut(asked: Asked) -> Answer | None:
        if large not in asked.path or asked.headers.get("Range") == f"bytes={size - 10}-":
            return None
        end = size // 2 if "Range" not in asked.headers else size - 10
        whole = contents.answer(asked)
        start = size - len(whole.body)
        return Answer(whole.status, {"Content-Length": str(len(whole.body))}, whole.body[: end - start])

    server.answer = cut
    assert len(pulled(reference(server))[1]["manifests/a"]) == 256_000
    ranges = [asked.headers.get("Range") for asked in server.asked if large in asked.path]
    assert ranges == [None, f"bytes={size // 2}-", f"bytes={size - 10}-"]


def test_a_server_without_ranges_is_read_again(server: Server, contents: Contents) -> None:
    contents.image(FILES, tag="v1")
    cut: list[str] = []

    def answer(asked: Asked) -> Answer | None:
        if "/blobs/" not in asked.path:
            return None
        data = contents.blobs[asked.path.rpartition("/")[2]]
        if asked.path in cut:
            return Answer(200, body=data)
        cut.append(asked.path)
        return Answer(200, {"Content-Length": str(len(data))}, data[:20])

    server.answer = answer
    assert dict(pulled(reference(server))[1]) == FILES


@pytest.mark.parametrize("announced", [True, False])
def test_a_blob_that_stays_cut_off_may_get_well(
    server: Server,
    contents: Contents,
    announced: bool,  # noqa: FBT001 - a parameter
) -> None:
    contents.image(FILES, tag="v1")

    def cut(asked: Asked) -> Answer | None:
        if "/blobs/" not in asked.path:
            return None
        size = len(contents.blobs[asked.path.rpartition("/")[2]])
        return Answer(200, {"Content-Length": str(size)} if announced else {}, b"{")

    server.answer = cut
    text = refused(reference(server), UnavailableError)
    assert "does not answer" in text if announced else "breaks off after 1 of" in text


def test_a_blob_that_never_ends_is_refused(server: Server, contents: Contents) -> None:
    contents.image(FILES, tag="v1")

    def endless(asked: Asked) -> Answer | None:
        data = contents.blobs.get(asked.path.rpartition("/")[2])
        return None if data is None else Answer(200, body=data + bytes(100))

    server.answer = endless
    assert "is larger than the" in refused(reference(server), UnavailableError)


def test_c2_layers_are_never_fetched_from_other_places(server: Server, contents: Contents) -> None:
    """`urls` of foreign layers are what an attacker writes."""
    with serving(lambda _: Answer(200)) as elsewhere:
        foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
        data = gzip.compress(layer(FILES))
        image = contents.image_of([(foreign, data)], kind=DOCKER_MANIFEST)
        manifest = contents.documents[image["digest"]][1]
        changed = manifest.replace(b'"layers": [{', f'"layers": [{{"urls": ["http://{elsewhere.address}/x"], '.encode())
        contents.document(changed, DOCKER_MANIFEST, tag="v1")
        assert dict(pulled(reference(server))[1]) == FILES
        del contents.blobs[digest_of(data)]
        assert "404" in refused(reference(server), UnavailableError)
        assert elsewhere.asked == []


def test_a_missing_image_is_told_in_the_words_of_the_registry(server: Server) -> None:
    assert refused(reference(server), UnavailableError) == "the registry answers GET with 404: manifest unknown"


def test_a_registry_with_a_private_authority(contents: Contents, tmp_path: Path) -> None:
    contents.image(FILES, tag="v1")
    context, authority = tls_of(tmp_path)
    with serving(contents.answer, context) as server:
        assert dict(pulled(reference(server), ca_bundle=authority)[1]) == FILES
        assert "is not trusted: " in refused(reference(server), UnavailableError)
        assert refused(reference(server), UnavailableError).endswith("; Trust it.")
        assert "no certificate" in refused(reference(server), ContentError, ca_bundle="-----BEGIN CERTIFICATE-----")


def test_limits_are_those_of_kept_paths(server: Server, contents: Contents) -> None:
    base = {f"usr/{number}": b"x" for number in range(100)} | {"usr/large": bytes(range(256)) * 1000}
    contents.image(base, FILES, tag="v1")
    limits = Limits(content_files=5, file_bytes=100, content_bytes=200)
    assert dict(pulled(reference(server), limits=limits)[1]) == FILES


def test_an_aborted_pull_ends_at_once(server: Server, contents: Contents) -> None:
    contents.image(FILES, tag="v1")
    files = ReceivedFiles(SPOOL)
    pull = ImagePull(reference(server), (), PullOptions(limits=DEFAULT_LIMITS, advice=ADVICE), files)

    def answer(asked: Asked) -> None:
        if "/blobs/" in asked.path:
            pull.abort()

    server.answer = answer
    with files, pytest.raises((UnavailableError, AccessError)):
        pull.resolve()
