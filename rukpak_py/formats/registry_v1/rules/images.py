"""Rules for the CSV's list of images, which mirrors and catalogs read, and for its icon."""

import base64
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.image_references import reason_against
from rukpak_py.formats.json_fields import text
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import csvs, each
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Reading] = Family(title="Images", origin="rukpak-py")

_DATA_URL: Final = "data:"


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
