"""Bundles of the corpus as blobs, beside the digests of what `opm render` prints for their directories."""

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.catalog.making.bundle_blob import bundle_blob, with_image
from rukpak_py.catalog.making.image_template import ImageTemplate
from rukpak_py.catalog.model import Bundle
from rukpak_py.catalog.rendering import rendered_bundle
from rukpak_py.catalog.writing import encoded
from rukpak_py.core.errors import ContentError
from tests.corpus.catalogs import CATALOGS
from tests.corpus.place import BUNDLES

GOLDENS = CATALOGS / "goldens" / "bundle-renders.tsv"
TEMPLATE = ImageTemplate.parse("example.com/{{.Package}}/{{.Name}}:{{.Version}}")
# Go's sort does not keep the order of equal images where there are more than twelve.
OTHER_ORDER = {"028-federatorai-certified-4.7.2-1", "038-hspc-operator-1.17.1", "050-k10-kasten-operator-rhmp-8.5.11"}
REFUSED = {
    "s004-annotations-no-package": "the reference prints nothing, and says nothing",
    "s008-annotations-package-null": "the same",
}

pytestmark = pytest.mark.skipif(not GOLDENS.exists(), reason=f"the goldens are not at {GOLDENS}")


def rows() -> list[dict[str, str]]:
    if not GOLDENS.exists():
        return []
    with GOLDENS.open() as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def text(blob: Bundle, *, migrate: bool = False) -> bytes:
    found = encoded(rendered_bundle(blob, migrate=migrate))
    assert found is not None
    return found.data


def lenient_digest(data: bytes) -> str:
    """With related images in an order that does not depend on that of equal ones."""
    blob: dict[str, Any] = json.loads(data)
    if "relatedImages" in blob:
        blob["relatedImages"].sort(key=lambda one: (one["image"], one["name"]))
    canonical = json.dumps(blob, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["name"])
def test_blob_is_that_of_opm(row: dict[str, str]) -> None:
    name, content = row["name"], files(BUNDLES / row["name"])
    if row["exit"] != "0" or name in REFUSED:
        with pytest.raises(ContentError):
            bundle_blob(content)
        return
    blob = bundle_blob(content)
    data = text(blob)
    if name in OTHER_ORDER:
        assert lenient_digest(data) == row["lenient"]
    else:
        assert hashlib.sha256(data).hexdigest() == row["json_bytes"]
    image = TEMPLATE.image_of(blob)
    migrated = with_image(blob, image)
    assert migrated == bundle_blob(content, image=image)
    if row["migrated_exit"] != "0":
        with pytest.raises(ContentError):
            rendered_bundle(migrated, migrate=True)
        return
    assert lenient_digest(text(migrated, migrate=True)) == row["migrated_lenient"]
