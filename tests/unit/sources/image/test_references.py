"""Names of images, with what is left out by custom."""

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.core.errors import ContentError
from rukpak_py.sources.image.reference import parse_image, parse_reference, parse_registries
from tests.fuzzing import choices, fuzzed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("demo", "docker.io/library/demo:latest"),
        ("team/demo:1.0", "docker.io/team/demo:1.0"),
        ("quay.io/demo", "quay.io/demo:latest"),
        ("quay.io/a/b/c-d__e.f:V1_x", "quay.io/a/b/c-d__e.f:V1_x"),
        ("localhost/demo:1", "localhost/demo:1"),
        ("localhost:5000/demo:1", "localhost:5000/demo:1"),
        ("registry:5000/demo", "registry:5000/demo:latest"),
        ("127.0.0.1:5000/x/demo:1", "127.0.0.1:5000/x/demo:1"),
        ("[::1]:5000/demo:1", "[::1]:5000/demo:1"),
        ("demo:5000", "docker.io/library/demo:5000"),
    ],
)
def test_image_name_is_normalised(text: str, expected: str) -> None:
    assert str(parse_reference(text)) == expected


NO_NAMES = (
    *("", "Demo", "quay.io/Demo", "quay.io/", "/demo", "a//b", "demo:", "demo:-x", "a b", "x:y:z", "demo\n", "é"),
    *(f"demo:{'x' * 129}", f"quay.io/{'x' * 256}"),
    *("quay.io:99999999/demo", "quay.io:65536/demo", "quay.io:0/demo", "https://quay.io/demo", "quay.io/../demo"),
)


@pytest.mark.parametrize("text", NO_NAMES)
def test_invalid_image_name_is_refused(text: str) -> None:
    with pytest.raises(ContentError, match="is not a valid image name"):
        parse_reference(text)


def test_a_digest_is_made_by_the_content() -> None:
    with pytest.raises(ContentError, match="give a tag"):
        parse_reference(f"quay.io/demo@sha256:{'0' * 64}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("localhost/x", True), ("127.8.0.1:5000/x", True), ("[::1]:80/x", True), ("10.0.0.1:80/x", False), ("x", False)],
)
def test_registry_on_loopback_is_recognised(text: str, *, expected: bool) -> None:
    assert parse_reference(text).is_on_loopback is expected


DIGEST = f"sha256:{0:064}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"demo@{DIGEST}", f"docker.io/library/demo@{DIGEST}"),
        (f"quay.io/x/demo:v1@{DIGEST}", f"quay.io/x/demo@{DIGEST}"),
        (f"a:5000/demo@sha512:{0:0128}", f"a:5000/demo@sha512:{0:0128}"),
        ("quay.io/x/demo:v1", "quay.io/x/demo:v1"),
    ],
)
def test_an_image_by_digest_or_by_tag(text: str, expected: str) -> None:
    assert str(parse_image(text)) == expected


@pytest.mark.parametrize(
    "digest", ["", "sha256:12", f"md5:{0:032}", f"{DIGEST}0", DIGEST.upper(), f"{DIGEST}@{DIGEST}"]
)
def test_invalid_digest_is_refused(digest: str) -> None:
    with pytest.raises(ContentError, match="is not a digest"):
        parse_image(f"quay.io/demo@{digest}")


def test_registries_as_settings_name_them() -> None:
    assert parse_registries("a:5000, registry.lan,,localhost") == {"a:5000", "registry.lan", "localhost"}
    assert parse_registries("") == frozenset()


@pytest.mark.parametrize("text", ["registry", "http://a.b", "a.b/c", "a b", "[::1]"])
def test_invalid_registry_is_refused(text: str) -> None:
    with pytest.raises(ContentError):
        parse_registries(text)


PIECES = [
    *("docker.io", "quay.io", "localhost", "127.0.0.1", "[::1]", "[fe80::1%25eth0]", ":", ":5000", ":99999", ":v1"),
    *(
        "/",
        "//",
        "a",
        "library",
        "demo",
        "A",
        "..",
        ".",
        "_",
        "__",
        "-",
        "@",
        f"@{DIGEST}",
        "@sha256:",
        "?",
        "#",
        "%2f",
    ),
    *("http://", "user:pw@", " ", "\n", "\0", "é", "x" * 130),
]


@fuzzed
@given(choices.map(lambda chosen: "".join(chosen.some(PIECES, 8))) | st.text(max_size=40))
@example("quay.io:65535/demo")
def test_c15_anything_is_an_image_or_refused(text: str) -> None:
    """An accepted text is one host and one path in a URL, whatever is put together of it."""
    try:
        image = parse_image(text)
    except ContentError:
        return
    assert str(parse_image(str(image))) == str(image)
    for name in (image.digest, image.tag):
        url = urlsplit(f"https://{image.registry}/v2/{image.repository}/manifests/{name}")
        assert (url.netloc, url.query, url.fragment) == (image.registry, "", "")
        assert url.path == f"/v2/{image.repository}/manifests/{name}"
        assert url.hostname is not None
        assert url.port is None or 0 < url.port < 65536
        assert not {"..", ".", ""} & set(image.repository.split("/"))
        assert url.geturl().isascii()
