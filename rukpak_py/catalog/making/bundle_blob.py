"""A bundle's directory as a blob of a catalog, as `opm` renders it: `olm.bundle` with the objects of the bundle.

The blob is what catalogs are built from; `rendered` of rukpak_py.catalog.rendering makes of it what is written.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from rukpak_py.catalog.making.bundle_files import BundleFiles, read_files
from rukpak_py.catalog.making.bundle_properties import properties_of
from rukpak_py.catalog.making.csv_decoding import checked, decoded, member
from rukpak_py.catalog.model import Bundle, RelatedImage
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

_STRATEGY: Final = "deployment"
_INSTALL: Final = ("spec", "install")


def bundle_blob(files: Mapping[str, bytes], *, image: str = "", limits: Limits = DEFAULT_LIMITS) -> Bundle:
    """The blob of a directory with manifests/ and metadata/; `image` is where the bundle can be pulled from."""
    found = read_files(files, limits)
    blob = Bundle(
        package=found.package,
        name=found.name,
        properties=properties_of(found),
        related_images=_sorted(_related_images(found)),
    )
    return with_image(blob, image) if image else blob


def with_image(blob: Bundle, image: str) -> Bundle:
    """The blob of a directory as that of an image, which is one of its own related images."""
    related = blob.related_images
    if all(one.image != image for one in related):
        related = _sorted([*related, RelatedImage(image=image)])
    return replace(blob, image=image, related_images=related)


def _sorted(images: Iterable[RelatedImage]) -> tuple[RelatedImage, ...]:
    return tuple(sorted(images, key=lambda one: one.image.encode()))


def _related_images(files: BundleFiles) -> list[RelatedImage]:
    spec = member(files.csv, "spec", "object", ())
    listed = decoded(spec.get("relatedImages"), "[]RelatedImage", ("spec", "relatedImages")) or ()
    images = [RelatedImage(name=one["name"], image=one["image"]) for one in listed]
    known = {one.image for one in images}
    return images + [RelatedImage(image=one) for one in dict.fromkeys(_container_images(spec)) if one not in known]


def _container_images(spec: dict[str, Any]) -> Iterator[str]:
    """All deployments are decoded; only those of the one strategy that is known have images."""
    install = member(spec, "install", "object", ("spec",))
    strategy = member(install, "strategy", "string", _INSTALL)
    details = member(install, "spec", "object", _INSTALL)
    for index, deployment in enumerate(member(details, "deployments", "list", (*_INSTALL, "spec"))):
        path = (*_INSTALL, "spec", "deployments", index)
        entry = checked(deployment, "object", path)
        member(entry, "name", "string", path)
        typed = decoded(member(entry, "spec", "object", path), "DeploymentSpec", (*path, "spec"))
        pod = typed["template"]["spec"] if strategy == _STRATEGY else {}
        for container in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ())):
            yield container.get("image") or ""
