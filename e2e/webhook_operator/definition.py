"""The CustomResourceDefinition of Gadgets. Its versions differ in where the spec has the size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from e2e.webhook_operator.bundle import GadgetBundle

KIND = "Gadget"
PLURAL = "gadgets"
INTEGER = {"type": "integer", "format": "int64"}
SIZES: dict[str, dict[str, Any]] = {
    "v1": {"size": INTEGER},
    # Required, so that nothing but the width has to survive a conversion.
    "v2": {"dimensions": {"type": "object", "required": ["width"], "properties": {"width": INTEGER}}},
}


def definition(bundle: GadgetBundle) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": bundle.definition_name},
        "spec": {
            "group": bundle.group,
            "names": {"kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": KIND.lower()},
            "scope": "Namespaced",
            "versions": [_version(name, bundle) for name in bundle.api.served],
        },
    }


def _version(name: str, bundle: GadgetBundle) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"color": {"type": "string"}, **SIZES[name]}}
    return {
        "name": name,
        "served": True,
        "storage": name == bundle.api.stored,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
