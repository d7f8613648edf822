"""Images of containers and of the CSV's list, and the icon: the forms that runtimes refuse, and those they take."""

import base64
from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.rules import images
from tests.unit.bundles import Json, bundle, csv_document, deployment, manifest
from tests.unit.readings import findings_of, told

HEX = "0123456789abcdef" * 4
ICON = base64.b64encode(b"<svg/>").decode()


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "team/demo",
        "Registry/team/demo",
        "example.com/demo:1.2.3",
        "example.com:5000/team/demo:V1_x",
        "localhost/demo",
        "[2001:db8::1]:5000/demo",
        f"example.com/demo@sha256:{HEX}",
        f"example.com/demo:1@sha256:{HEX}",
        f"example.com/demo@sha384:{HEX}{HEX[:32]}",
        f"example.com/demo@sha512:{HEX}{HEX}",
        "a__b/c--d/e.f:latest",
        "example.com:5000",
    ],
)
def test_a_reference_is_accepted(image: str) -> None:
    assert images.reason_against(image) == ""
    assert told(bundle(csv=_running(image)), images.FAMILY) == []


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (f"example.com/demo@sha256:{HEX}0", "a sha256 digest has 64 digits, got 65"),
        (f"example.com/demo@sha256:{HEX[1:]}", "a sha256 digest has 64 digits, got 63"),
        (f"example.com/demo@sha256:{HEX.upper()}", "the digits of a digest are 0-9 and a-f"),
        (f"example.com/demo@sha1:{HEX[:40]}", "the digest must begin with sha256:, sha384:, sha512:"),
        (f"example.com/demo@{HEX}", "the digest must begin with sha256:, sha384:, sha512:"),
        ("example.com/demo@", "the digest must begin with sha256:, sha384:, sha512:"),
        ("https://example.com/demo:1", "it must not begin with https://"),
        ("docker://example.com/demo:1", "it must not begin with docker://"),
        ("example.com/Demo:1", "the repository must be in lower case"),
        ("Demo", "the repository must be in lower case"),
        ("example.com/demo:", "'' is not a tag"),
        ("example.com/demo:-1", "'-1' is not a tag"),
        (f"example.com/demo:{'a' * 129}", f"'{'a' * 129}' is not a tag"),
        ("example.com/demo:1 ", "there are blanks around it"),
        ("example.com//demo", "'example.com//demo' is not a name"),
        ("$(IMAGE)", "'$(IMAGE)' is not a name"),
        ("a/" * 128 + "b", "the name has more than 255 characters"),
        (HEX, "it is a digest without a name"),
    ],
)
def test_no_reference_is_told_of_containers_and_of_the_list(image: str, reason: str) -> None:
    (of_container,) = findings_of(bundle(csv=_running(image)), images.FAMILY)
    message = f"image '{image}' is not an image reference: {reason}; the container never starts"
    assert (of_container.rule, of_container.severity, of_container.message) == ("RV1-970", Severity.ERROR, message)
    (of_list,) = findings_of(bundle(csv=csv_document(relatedImages=[{"name": "a", "image": image}])), images.FAMILY)
    message = f"spec.relatedImages[0].image '{image}' is not a valid image reference: {reason}"
    assert (of_list.rule, of_list.severity, of_list.message) == ("RV1-708", Severity.WARNING, message)


@pytest.mark.parametrize(
    ("other", "path"),
    [
        (manifest("Pod", "p", spec={"containers": [{"image": "A"}]}), "spec.containers[0].image"),
        (manifest("Pod", "p", spec={"containers": [{"image": ""}, {"name": "no-image"}]}), None),
        (
            manifest(
                "Deployment",
                "d",
                api_version="apps/v1",
                spec=deployment(initContainers=[{"name": "i", "image": "A"}])["spec"],
            ),
            "spec.template.spec.initContainers[0].image",
        ),
        (
            manifest(
                "CronJob",
                "c",
                api_version="batch/v1",
                spec={"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"image": "A"}]}}}}},
            ),
            "spec.jobTemplate.spec.template.spec.containers[0].image",
        ),
        (manifest("Other", "o", api_version="example.com/v1", spec={"containers": [{"image": "A"}]}), None),
    ],
)
def test_shipped_workloads_have_images_too(other: Json, path: str | None) -> None:
    found = [finding.path for finding in findings_of(bundle(others=[other]), images.FAMILY)]
    assert found == ([] if path is None else [path])


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
