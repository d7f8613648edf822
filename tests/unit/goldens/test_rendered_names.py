"""Names that are made for objects of OLM bundles."""

from tests.unit.bundles import bundle, crd, csv_document, deployment, manifest, owned_crd, permission, webhook
from tests.unit.goldens.pinned import check
from tests.unit.rendering import rendered

GET_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
CSV = csv_document(
    "demo.v1.0.0",
    owned=[owned_crd()],
    deployments=[deployment()],
    permissions=[permission(rules=[GET_PODS])],
    cluster_permissions=[permission("demo-sa-with-a-name-that-is-cut-because-it-is-long", rules=[GET_PODS])],
    webhooks=[
        webhook("validate.demo.example.com"),
        webhook("mutate.demo.example.com", kind="Mutating"),
    ],
)


def test_names_of_objects_of_olm_bundles() -> None:
    tree = bundle(csv=CSV, crds=[crd()], others=[manifest("ConfigMap", "c")])
    found: dict[str, list[str]] = {}
    for obj in rendered(tree, "watched"):
        found.setdefault(obj["kind"], []).append(obj["metadata"]["name"])
    check("names of objects of OLM bundles", {kind: sorted(names) for kind, names in found.items()})
