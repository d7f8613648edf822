"""registry+v1: values of a wrong type are told with their place, what is wanted, and how to write it."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.formats.registry_v1.read import read
from tests.unit.bundles import bundle, crd, csv_document, deployment, manifest


def findings(tree: Tree) -> list[Finding]:
    return [defect.finding for defect in read(tree).defects]


def container(**fields: Any) -> Tree:
    entry = deployment(containers=[{"name": "manager", "image": "i", **fields}])
    return bundle(csv=csv_document(deployments=[entry]))


CONTAINER = "spec.install.spec.deployments[0].spec.template.spec.containers[0]"


@pytest.mark.parametrize(
    ("fields", "path", "message", "hint"),
    [
        (
            {"env": [{"name": "A", "value": 8080}]},
            f"{CONTAINER}.env[0].value",
            "must be a string, got number 8080",
            'Put it in quotes: value: "8080"',
        ),
        (
            {"env": [{"name": "A", "value": True}]},
            f"{CONTAINER}.env[0].value",
            "must be a string, got boolean true",
            'Put it in quotes: value: "true"',
        ),
        (
            {"args": [1.5]},
            f"{CONTAINER}.args[0]",
            "must be a string, got number 1.5",
            'Put it in quotes: - "1.5"',
        ),
        (
            {"args": "run"},
            f"{CONTAINER}.args",
            'must be a list, got string "run"',
            'Write a list of one: args: ["run"]',
        ),
        (
            {"env": {"a": "b"}},
            f"{CONTAINER}.env",
            "must be a list, got an object",
            "Write a list: begin each entry with `- `.",
        ),
        (
            {"ports": [{"containerPort": "443"}]},
            f"{CONTAINER}.ports[0].containerPort",
            'must be an integer, got string "443"',
            "Remove the quotes: containerPort: 443",
        ),
        (
            {"ports": [{"containerPort": 443.5}]},
            f"{CONTAINER}.ports[0].containerPort",
            "must be an integer, got number 443.5",
            "Write a whole number: containerPort: 444",
        ),
        (
            {"tty": "true"},
            f"{CONTAINER}.tty",
            'must be true or false, got string "true"',
            "Remove the quotes: tty: true",
        ),
        (
            {"resources": ["a"]},
            f"{CONTAINER}.resources",
            "must be an object, got a list",
            "Write an object: remove the `- ` in front of its fields.",
        ),
        (
            {"resources": {"limits": {"cpu": "lots"}}},
            f"{CONTAINER}.resources.limits.cpu",
            'must be a quantity, got string "lots"',
            "Write a number with or without a suffix: 500m, 2, 64Mi, 1.5Gi.",
        ),
    ],
)
def test_hints_say_what_to_write(fields: dict[str, Any], path: str, message: str, hint: str) -> None:
    (finding,) = findings(container(**fields))
    assert (finding.rule, finding.file, finding.path) == ("RV1-903", "manifests/csv.yaml", path)
    assert finding.message == f"{path} {message}"
    assert finding.hint == hint
    assert finding.line > 1
    assert finding.column > 1


def test_all_wrong_types_are_told_at_once_in_their_order() -> None:
    tree = bundle(
        csv=csv_document(displayName=5, webhooks=[{"generateName": 1, "type": []}]),
        crds=[crd(preserveUnknownFields="no")],
    )
    assert [finding.path for finding in findings(tree)] == [
        "spec.displayName",
        "spec.webhookdefinitions[0].generateName",
        "spec.webhookdefinitions[0].type",
        "spec.preserveUnknownFields",
    ] or len(findings(tree)) == 4
    reading = read(tree)
    assert reading.bundle is not None
    assert reading.bundle.csv.webhooks[0].generate_name == ""


@pytest.mark.parametrize(
    ("csv", "prevents"),
    [
        (csv_document(displayName=5), False),
        (csv_document(keywords="a"), False),
        (csv_document(owned=[{"name": "a", "displayName": 5}]), False),
        (csv_document(owned=[{"name": 5}]), True),
        (csv_document(installModes=[{"type": "OwnNamespace", "supported": "true"}]), True),
        (csv_document(webhooks=[{"containerPort": "443"}]), True),
        (csv_document(customresourcedefinitions=5), True),
        (csv_document(annotations={"createdAt": 5}), True),
        ({**csv_document(), "metadata": {"name": "a", "labels": {"b": True}}}, False),
        ({**csv_document(), "spec": []}, True),
    ],
)
def test_a_wrong_type_that_reaches_no_object_prevents_nothing(csv: dict[str, Any], prevents: bool) -> None:  # noqa: FBT001 a column of the table
    reading = read(bundle(csv=csv))
    assert [defect.prevents_rendering for defect in reading.defects] == [prevents]
    if prevents:
        with pytest.raises(InvalidBundleError):
            reading.complete()
    else:
        assert reading.complete() is reading.bundle


@pytest.mark.parametrize(
    ("metadata", "path", "hint"),
    [
        ({"name": 5}, "metadata.name", 'Put it in quotes: name: "5"'),
        ({"name": "a", "labels": {"x/y": True}}, "metadata.labels['x/y']", 'Put it in quotes: x/y: "true"'),
        ({"name": "a", "annotations": ["x"]}, "metadata.annotations", "Write an object: "),
        ("text", "metadata", "Write an object: fields"),
    ],
)
def test_metadata_of_every_object_is_checked(metadata: Any, path: str, hint: str) -> None:
    tree = bundle(others=[{**manifest("ConfigMap", "a"), "metadata": metadata}])
    (finding,) = findings(tree)
    assert (finding.rule, finding.path) == ("RV1-903", path)
    assert finding.hint.startswith(hint)
    reading = read(tree)
    assert reading.bundle is not None
    assert reading.bundle.others[0].name in {"a", ""}
    with pytest.raises(InvalidBundleError) as caught:
        read(tree, parity=True).complete()
    assert caught.value.findings == (finding,)


def test_metadata_of_items_is_checked_for_people_only() -> None:
    items = [manifest("ConfigMap", "a", labels=1), {**manifest("Secret", "s"), "metadata": {"name": 5}}]
    tree = bundle(files={"manifests/x.yaml": {"kind": "List", "items": items}})
    assert [finding.path for finding in findings(tree)] == ["items[1].metadata.name"]
    assert len(read(tree, parity=True).complete().others) == 2


@pytest.mark.parametrize(
    ("webhook", "message", "hint"),
    [
        (
            {"targetPort": True},
            "must be an integer or a string, got boolean true",
            "Write an integer or a string here.",
        ),
        ({"generateName": {"a": 5}}, "must be a string, got an object", "Write a string instead of an object"),
    ],
)
def test_a_wrong_type_stands_at_its_field(webhook: dict[str, Any], message: str, hint: str) -> None:
    (finding,) = findings(bundle(csv=csv_document(webhooks=[webhook])))
    assert finding.path == f"spec.webhookdefinitions[0].{next(iter(webhook))}"
    assert finding.message == f"{finding.path} {message}"
    assert finding.hint.startswith(hint)


def test_an_unreadable_version_is_told_with_an_example() -> None:
    (finding,) = findings(bundle(csv=csv_document(version="4.2.2.6")))
    assert finding.path == "spec.version"
    assert finding.message == 'spec.version must be a semantic version, got string "4.2.2.6"'
    assert finding.hint == "Write a semantic version: 1.2.3."
    (finding,) = findings(bundle(csv=csv_document(version=1.2)))
    assert finding.hint == 'Put it in quotes: version: "1.2"'
