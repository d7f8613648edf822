"""Refusals of bundles that could be rendered, in operator-controller's words."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding
from rukpak_py.formats.validation import Profile, validate
from tests.unit.bundles import bundle, csv_document, manifest, modes, webhook

OWNED_API: dict[str, Any] = {
    "apiservicedefinitions": {"owned": [{"name": "a", "group": "g.io", "version": "v1", "kind": "A"}]}
}


def refusals(tree: Tree, *profiles: Profile, **options: Any) -> list[Finding]:
    found = validate(tree, profiles=profiles, **options)
    return [finding for finding in found if finding.rule.startswith("RV1-02")]


def test_api_services_are_refused() -> None:
    tree = bundle(csv=csv_document(**OWNED_API))
    (finding,) = refusals(tree)
    assert finding.message == "unsupported bundle: apiServiceDefintions are not supported"
    assert finding.path == "spec.apiservicedefinitions.owned"
    assert finding.line > 1


def test_required_api_services_are_not() -> None:
    required: dict[str, Any] = {"apiservicedefinitions": {"required": OWNED_API["apiservicedefinitions"]["owned"]}}
    assert refusals(bundle(csv=csv_document(**required))) == []


def test_webhooks_need_a_certificate_provider() -> None:
    tree = bundle(csv=csv_document(webhooks=[webhook("w")]))
    assert refusals(tree) == []
    (finding,) = refusals(tree, makes_certificates=False)
    assert finding.message == ("unsupported bundle: webhookDefinitions are not supported: certificate provider is nil")
    assert refusals(bundle(), makes_certificates=False) == []


@pytest.mark.parametrize(
    ("supported", "messages"),
    [
        (["AllNamespaces"], []),
        (["OwnNamespace"], ["unsupported bundle: bundle does not support AllNamespaces install mode"]),
        (
            ["MultiNamespace"],
            [
                "unsupported bundle: bundle does not support AllNamespaces install mode",
                (
                    "unsupported bundle: bundle must support at least one of "
                    "[AllNamespaces SingleNamespace OwnNamespace] install modes"
                ),
            ],
        ),
    ],
)
def test_install_modes_of_the_successor(supported: list[str], messages: list[str]) -> None:
    tree = bundle(csv=csv_document(installModes=modes(*supported)))
    assert refusals(tree) == []
    assert [finding.message for finding in refusals(tree, Profile.OLM_V1)] == messages


def test_dependencies_of_the_successor() -> None:
    dependencies: dict[str, Any] = {
        "dependencies": [
            {"type": "olm.package", "value": {"packageName": "p", "version": ">1.0.0"}},
            {"type": "olm.label", "value": {"label": "l"}},
        ]
    }
    required: dict[str, Any] = {
        "customresourcedefinitions": {"required": [{"name": "a.b.io", "version": "v1", "kind": "A"}]}
    }
    tree = bundle(csv=csv_document(**required), crds=[], files={"metadata/dependencies.yaml": dependencies})
    assert [finding.message for finding in refusals(tree, Profile.OLM_V1)] == [
        f'bundle "demo.v1.2.3" has a dependency declared via property "{kind}" which is currently not supported'
        for kind in ("olm.gvk.required", "olm.package.required")
    ]


def test_all_refusals_are_told() -> None:
    tree = bundle(
        csv=csv_document(webhooks=[webhook("w")], installModes=modes("MultiNamespace"), **OWNED_API),
        others=[manifest("Pod", "p")],
    )
    found = {finding.rule for finding in refusals(tree, Profile.OLM_V1, makes_certificates=False)}
    assert sorted(found) == ["RV1-021", "RV1-022", "RV1-023", "RV1-024"]
