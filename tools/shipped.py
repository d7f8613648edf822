"""Objects of the chart in each mode, as `rukpakctl check` knows them: names, and the rules and subjects of RBAC.

CRDs and the policies that guard identities are left out: the program makes those from their types.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from rukpak_py.api.accounts import Mode
from rukpak_py.api.policies.document import Token
from rukpak_py.api.policies.installation import Installation
from tools import chart

if TYPE_CHECKING:
    from pathlib import Path

KEPT = ("apiVersion", "kind", "rules", "aggregationRule", "roleRef", "subjects")
RBAC = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


def page(helm: Path) -> str:
    modes = {mode.value: _objects(helm, mode) for mode in Mode}
    listed = ",\n".join(
        f'"{mode}": [\n' + ",\n".join(json.dumps(one) for one in objects) + "\n]" for mode, objects in modes.items()
    )
    return f"{{\n{listed}\n}}\n".replace(chart.NAMESPACE, Token.SYSTEM_NAMESPACE)


def _objects(helm: Path, mode: Mode) -> list[dict[str, Any]]:
    made = {(one["kind"], one["metadata"]["name"]) for one in Installation(system_namespace=chart.NAMESPACE).policies()}
    rendered = filter(None, yaml.safe_load_all(chart.render(helm, f"mode={mode}")))
    return [
        _outline(one)
        for one in rendered
        if one["kind"] != "CustomResourceDefinition" and (one["kind"], one["metadata"]["name"]) not in made
    ]


def _outline(one: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: one["metadata"][key] for key in ("name", "namespace") if key in one["metadata"]}
    kept = KEPT if one["kind"] in RBAC else KEPT[:2]
    return {**{key: one[key] for key in kept if key in one}, "metadata": metadata}
