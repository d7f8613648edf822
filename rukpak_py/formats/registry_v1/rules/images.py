"""Rules for images: references of containers and of the CSV's list, by the grammar of container runtimes, and the icon.

A kubelet starts no container whose image it cannot parse: such a bundle never works. The list is for mirrors and
catalogs alone.
"""

import base64
import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import entries, text
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import csvs, each, first_documents, pod_specs
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Reading] = Family(title="Images", origin="rukpak-py")

_LISTS: Final = ("initContainers", "containers")

_NAME: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?/|\[[0-9a-fA-F:]+\](?::\d+)?/)?"
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*",
    re.ASCII,
)
_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_HEX: Final = re.compile("[0-9a-f]+")
_ONLY_HEX: Final = re.compile("[0-9a-f]{64}")  # taken for the id of a local image
_SCHEME: Final = re.compile("[A-Za-z][A-Za-z0-9+-]{0,20}://")
_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_LONGEST: Final = 255
_DATA_URL: Final = "data:"


@FAMILY.rule(
    "RV1-970",
    title="The image of a container is an image reference",
    hint="Write the reference with its registry, best by digest: `registry.example.com/team/image@sha256:…`.",
    error_only_in=Profile.DEFAULT,
)
def containers_have_images(reading: Reading) -> Iterator[Problem]:
    for document in first_documents(reading):
        for path, image in _images(document):
            if image and (reason := reason_against(image)):
                message = f"image '{image[:300]}' is not an image reference: {reason}; the container never starts"
                yield Problem(message=message, place=document.place(*path))


def _images(document: Document) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for path, pod in pod_specs(document):
        for field in _LISTS:
            for below, container in entries(pod, field):
                yield (*path, *below, "image"), text(container, "image")


@FAMILY.rule(
    "RV1-708",
    severity=Severity.WARNING,
    title="Related images are image references",
    hint="Write the reference with its registry, best by digest: `registry.example.com/team/image@sha256:…`.",
    origin="operator-framework/api, where it is less strict",
)
def related_images_are_references(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, related in each(csv, "spec.relatedImages[]"):
            image, index = text(related, "image"), path[-1]
            if not image:
                yield Problem(message=f"spec.relatedImages[{index}] names no image", place=csv.place(*path))
            elif reason := reason_against(image):
                message = f"spec.relatedImages[{index}].image '{image[:300]}' is not a valid image reference: {reason}"
                yield Problem(message=message, place=csv.place(*path, "image"))


def reason_against(image: str) -> str:
    """Why the text is not a reference; empty where it is one."""
    rest, at, digest = image.partition("@")
    name, colon, tag = rest.rpartition(":") if ":" in rest.rpartition("/")[2] else (rest, "", "")
    if scheme := _SCHEME.match(image):
        return f"it must not begin with {scheme[0]}"
    if image != image.strip():
        return "there are blanks around it"
    if not _NAME.fullmatch(name):
        lower = name.lower()
        return "the repository must be in lower case" if _NAME.fullmatch(lower) else f"'{name[:200]}' is not a name"
    if len(name) > _LONGEST:
        return f"the name has more than {_LONGEST} characters"
    if colon and not _TAG.fullmatch(tag):
        return f"'{tag[:200]}' is not a tag"
    if not at:
        return "it is a digest without a name" if _ONLY_HEX.fullmatch(image) else ""
    return _reason_against_digest(digest)


def _reason_against_digest(digest: str) -> str:
    algorithm, _, digits = digest.partition(":")
    if algorithm not in _DIGITS:
        return f"the digest must begin with {', '.join(f'{one}:' for one in _DIGITS)}"
    if not _HEX.fullmatch(digits):
        return "the digits of a digest are 0-9 and a-f"
    if len(digits) != _DIGITS[algorithm]:
        return f"a {algorithm} digest has {_DIGITS[algorithm]} digits, got {len(digits)}"
    return ""


@FAMILY.rule(
    "RV1-971",
    severity=Severity.WARNING,
    title="The data of an icon are base64",
    hint="Write what `base64 -w0 icon.svg` prints, and nothing else: catalogs refuse or do not show the icon.",
)
def icons_are_base64(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, icon in each(csv, "spec.icon[]"):
            data = text(icon, "base64data")
            if not _is_base64(data):
                message = f"the base64data of spec.icon[{path[-1]}] are not base64"
                hint = None
                if data.startswith(_DATA_URL):
                    hint = "Remove everything up to the comma: the media type has a field of its own."
                yield Problem(message=message, place=csv.place(*path, "base64data"), hint=hint)


def _is_base64(data: str) -> bool:
    """As Go decodes it: line breaks do not count, blanks do."""
    try:
        base64.b64decode(data.replace("\r", "").replace("\n", ""), validate=True)
    except ValueError:
        return False
    return True
