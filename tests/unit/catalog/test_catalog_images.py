"""The pull specs of a catalog."""

import pytest

from rukpak_py.catalog.images import ImageReference, ImageUse, images_of, is_pinned
from rukpak_py.catalog.model import Bundle, RelatedImage

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "pinned"),
    [
        (f"example.com/a@{DIGEST}", True),
        (f"example.com/a:v1@{DIGEST}", True),
        ("example.com/a@sha512:" + "0" * 128, True),
        ("example.com/a:v1", False),
        ("example.com/a", False),
        (f"example.com/a:v1@{DIGEST[:-1]}", False),
        (f"@{DIGEST}", False),
    ],
)
def test_digest_pins_an_image(image: str, pinned: bool) -> None:  # noqa: FBT001 - a table
    assert is_pinned(image) is pinned


@pytest.mark.parametrize(
    ("image", "pull_spec"),
    [
        (f"example.com/a:v1@{DIGEST}", f"example.com/a@{DIGEST}"),
        (f"localhost:5000/a:v1@{DIGEST}", f"localhost:5000/a@{DIGEST}"),
        (f"localhost:5000/a@{DIGEST}", f"localhost:5000/a@{DIGEST}"),
        (f"a:v1@{DIGEST}", f"a@{DIGEST}"),
        ("localhost:5000/a:v1", "localhost:5000/a:v1"),
        ("a:v1@sha256:0", "a:v1@sha256:0"),
    ],
)
def test_pull_spec_has_a_digest_or_a_tag(image: str, pull_spec: str) -> None:
    assert ImageReference(image=image, uses=()).pull_spec == pull_spec


def test_references_are_merged_with_all_their_uses() -> None:
    related = (RelatedImage(name="proxy", image="example.com/proxy"), RelatedImage(image="example.com/b:1"))
    one = Bundle(package="p", name="p.v1", image="example.com/b:1", related_images=(*related, RelatedImage()))
    two = Bundle(package="p", name="p.v2", image="example.com/b:2", related_images=related[:1])
    assert [(found.image, found.uses) for found in images_of([two, one])] == [
        ("example.com/b:1", (ImageUse(package="p", bundle="p.v1", is_bundle_image=True),)),
        ("example.com/b:2", (ImageUse(package="p", bundle="p.v2", is_bundle_image=True),)),
        (
            "example.com/proxy",
            (
                ImageUse(package="p", bundle="p.v1", name="proxy"),
                ImageUse(package="p", bundle="p.v2", name="proxy"),
            ),
        ),
    ]
