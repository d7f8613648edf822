"""The CSV's list of images, and the icon."""

import base64
from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.rules import images
from tests.unit.bundles import Json, bundle, csv_document, deployment
from tests.unit.readings import findings_of, told

ICON = base64.b64encode(b"<svg/>").decode()


@pytest.mark.parametrize(
    ("related", "expected"),
    [
        ([{"name": "a", "image": "r.io/a:1"}], []),
        ([{"name": "a"}], ["spec.relatedImages[0] names no image"]),
        (
            [{"name": "a", "image": "r.io/a:1"}, {"name": "b", "image": "no b"}],
            ["spec.relatedImages[1].image 'no b' is not a valid image reference: 'no b' is not a name"],
        ),
    ],
)
def test_each_related_image_is_judged(related: list[Json], expected: list[str]) -> None:
    found = told(bundle(csv=csv_document(relatedImages=related)), images.FAMILY)
    assert found == [("RV1-708", message) for message in expected]


@pytest.mark.parametrize(
    ("data", "is_valid"),
    [
        (ICON, True),
        ("", True),
        (None, True),
        (f"{ICON[:4]}\n{ICON[4:]}\r\n", True),
        (f"{ICON[:4]} {ICON[4:]}", False),
        (ICON.rstrip("="), not ICON.endswith("=")),
        (ICON[:-1] + "!", False),
        ("<svg/>", False),
        (f"data:image/svg+xml;base64,{ICON}", False),
        ("é", False),
    ],
)
def test_an_icon_is_base64(data: Any, *, is_valid: bool) -> None:
    csv = csv_document(icon=[{"base64data": data, "mediatype": "image/svg+xml"}])
    found = findings_of(bundle(csv=csv), images.FAMILY)
    assert [(one.rule, one.severity, one.message) for one in found] == (
        [] if is_valid else [("RV1-971", Severity.WARNING, "the base64data of spec.icon[0] are not base64")]
    )
    is_advised = bool(found) and found[0].hint.startswith("Remove everything up to the comma")
    assert is_advised is str(data).startswith("data:")


def _running(image: str) -> Json:
    return csv_document(deployments=[deployment(containers=[{"name": "manager", "image": image}])])
