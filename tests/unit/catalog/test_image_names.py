"""References of images: the texts of the reference library."""

import pytest

from rukpak_py.catalog.checks.image_names import problem_of_image

HEX = "abcdef0123456789" * 8
FORMAT = "invalid reference format"
CASE = f"{FORMAT}: repository name must be lowercase"


@pytest.mark.parametrize(
    "image",
    [
        "",
        "a",
        "a/b",
        "a/b/c:v1",
        "example.com:5000/a:1",
        "EXAMPLE.com/a",
        "localhost/a",
        "index.docker.io/a",
        "127.0.0.1:5000/a",
        "a__b.c/d",
        "a--b",
        f"a:1@sha256:{HEX[:64]}",
        f"{HEX[:64]}:1",
        f"x/{HEX[:64]}",
        "a:" + "x" * 128,
        "/".join("x" * 100) + "/" + "a" * 36,  # 237 characters and docker.io/library/ in front
    ],
)
def test_reference_is_accepted(image: str) -> None:
    assert problem_of_image(image) is None


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ("a b", FORMAT),
        ("docker://a", FORMAT),
        ("a:", FORMAT),
        ("a//b", FORMAT),
        ("a___b", FORMAT),
        ("-a", FORMAT),
        ("a\n", FORMAT),
        ("[::1]:5000/a", FORMAT),
        ("a:" + "x" * 129, FORMAT),
        (f"a@sha256:{HEX[:31]}", FORMAT),
        ("example.com/A", CASE),
        ("LOCALHOST/a", CASE),
        ("${X}", CASE),
        ("A b", CASE),
        (f"a@SHA256:{HEX[:64]}", CASE),
        (f"a:1@SHA256:{HEX[:64]}", "invalid checksum digest format"),
        (f"a@sha256:{HEX[:64].upper()}", "invalid checksum digest format"),
        (f"a@sha256:{HEX[:40]}", "invalid checksum digest length"),
        (f"a@sha512:{HEX[:64]}", "invalid checksum digest length"),
        (f"a@md5:{HEX[:32]}", "unsupported digest algorithm"),
        (HEX[:64], f"invalid repository name ({HEX[:64]}), cannot specify 64-byte hexadecimal strings"),
        ("a" * 256, "repository name must not be more than 255 characters"),
    ],
)
def test_reference_is_refused(image: str, reason: str) -> None:
    text = problem_of_image(image)
    assert text is not None
    assert text.startswith("invalid image pull spec ")
    assert text.endswith(f": {reason}")


def test_text_is_quoted_as_go_does_it() -> None:
    assert problem_of_image("a\tb") == f'invalid image pull spec "a\\tb": {FORMAT}'
