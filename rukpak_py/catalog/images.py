"""The images that a catalog names: what a mirror has to copy, and which of them can change under their names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rukpak_py.catalog.model import Bundle

_DIGEST = re.compile("@(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})")


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class ImageUse:
    """`name` is that of a related image, often empty; the image of the bundle itself has none."""

    package: str
    bundle: str
    is_bundle_image: bool = False
    name: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageReference:
    image: str  # as the catalog has it
    uses: tuple[ImageUse, ...]

    @property
    def is_pinned(self) -> bool:
        """Whether the reference has a digest, and so means the same image tomorrow."""
        return is_pinned(self.image)

    @property
    def pull_spec(self) -> str:
        """The reference as programs that copy images take it: of a tag and a digest they refuse one, so no tag."""
        if not self.is_pinned:
            return self.image
        name, _, digest = self.image.rpartition("@")
        slash = name.rfind("/")
        return f"{name[: slash + 1]}{name[slash + 1 :].partition(':')[0]}@{digest}"


def is_pinned(image: str) -> bool:
    start = image.rfind("@")
    return start > 0 and _DIGEST.fullmatch(image, start) is not None


def images_of(bundles: Iterable[Bundle]) -> tuple[ImageReference, ...]:
    """Each reference once, sorted, with all its uses. An empty reference names no image."""
    found: dict[str, set[ImageUse]] = {}
    for bundle in bundles:
        if bundle.image:
            use = ImageUse(package=bundle.package, bundle=bundle.name, is_bundle_image=True)
            found.setdefault(bundle.image, set()).add(use)
        for related in bundle.related_images:
            if related.image and (related.image != bundle.image or related.name):
                use = ImageUse(package=bundle.package, bundle=bundle.name, name=related.name)
                found.setdefault(related.image, set()).add(use)
    return tuple(ImageReference(image=image, uses=tuple(sorted(uses))) for image, uses in sorted(found.items()))
