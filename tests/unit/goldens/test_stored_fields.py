"""Fields of our kinds, which the API server has stored: names and types. Each part is pinned where it is first."""

from typing import Any

import pytest

from rukpak_py.api import names
from rukpak_py.api.crds import crds
from tests.unit.goldens.pinned import check

KINDS = {
    "Bundle": (names.BUNDLE_KIND, {"status.resolvedSource"}),
    "BundleDeployment": (
        names.BUNDLE_DEPLOYMENT_KIND,
        {"spec.template.spec", "status.conditions", "status.history[].template"},
    ),
    "BundleInstance": (names.BUNDLE_INSTANCE_KIND, {"spec", "status.conditions"}),
}


def fields(node: dict[str, Any], elsewhere: set[str], path: str = "") -> dict[str, str]:
    found = {path: str(node.get("type", "any"))} if path else {}
    if path not in elsewhere:
        for name, child in node.get("properties", {}).items():
            found |= fields(child, elsewhere, f"{path}.{name}".removeprefix("."))
        if "items" in node:
            found |= fields(node["items"], elsewhere, f"{path}[]")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_stored_fields(kind: str) -> None:
    now, elsewhere = KINDS[kind]
    (crd,) = (one for one in crds().values() if one["spec"]["names"]["kind"] == now)
    (version,) = crd["spec"]["versions"]
    stored = fields(version["schema"]["openAPIV3Schema"], elsewhere)
    check(f"fields of a {kind}", {name: type_ for name, type_ in stored.items() if name.startswith(("spec", "status"))})
