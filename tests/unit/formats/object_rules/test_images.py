"""Images of containers, wherever the pods stand. The grammar has a table beside the CSV's list of images."""

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.image_references import reason_against
from tests.unit.formats.object_rules.judging import Json, deployment, findings_of, manifest, told

HEX = "0123456789abcdef" * 4
_CONTAINERS: Json = {"containers": [{"name": "c", "image": "A"}]}


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
    assert reason_against(image) == ""


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
def test_each_other_string_has_a_reason(image: str, reason: str) -> None:
    assert reason_against(image) == reason
    message = f"image '{image}' is not an image reference: {reason}; the container never starts"
    expected = [] if image != image.strip() else [message]  # blanks are told as the API server tells them
    assert told("OBJ-013", deployment({"containers": [{"name": "c", "image": image}]})) == expected


@pytest.mark.parametrize(
    ("manifest_", "path"),
    [
        (manifest("Pod", "p", spec=_CONTAINERS), "spec.containers[0].image"),
        (manifest("Pod", "p", spec={"containers": [{"image": ""}, {"name": "no-image"}]}), None),
        (deployment({"initContainers": _CONTAINERS["containers"]}), "spec.template.spec.initContainers[0].image"),
        (
            manifest("CronJob", "c", "batch/v1", spec={"jobTemplate": {"spec": {"template": {"spec": _CONTAINERS}}}}),
            "spec.jobTemplate.spec.template.spec.containers[0].image",
        ),
        (manifest("Job", "o", "example.com/v1", spec={"template": {"spec": _CONTAINERS}}), None),
    ],
)
def test_images_of_pods_of_every_kind_are_judged(manifest_: Json, path: str | None) -> None:
    found = [one.path for one in findings_of(manifest_) if one.rule == "OBJ-013"]
    assert found == ([] if path is None else [path])


@pytest.mark.parametrize(
    ("image", "title", "severity"),
    [
        (":1.0", "Deployment demo: ", Severity.WARNING),
        ("/demo:1.0", "Deployment demo: ", Severity.WARNING),
        ("demo:", "Deployment demo: ", Severity.WARNING),
        ("demo@", "Deployment demo: ", Severity.WARNING),
        ("registry.example.com/:1.0", "Deployment demo: ", Severity.WARNING),
        ("registry.example.com//demo:1.0", "Deployment demo: ", Severity.WARNING),
        ("https://registry.example.com/demo:1.0", "Deployment demo: ", Severity.ERROR),
        ("Demo:1.0", "Deployment demo: ", Severity.ERROR),
        (":1.0", "", Severity.ERROR),
    ],
)
def test_part_that_the_values_of_a_chart_lack_is_a_warning(image: str, title: str, severity: Severity) -> None:
    found = findings_of(deployment({"containers": [{"name": "c", "image": image}]}), title=title)
    assert [one.severity for one in found if one.rule == "OBJ-013"] == [severity]
