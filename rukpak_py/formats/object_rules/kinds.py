"""Kinds of the API server itself: whether one exists, and whether supported versions of Kubernetes still serve it.

go_kinds.json is generated from the sources of the Go packages, see tools/go_types. Groups with a dot that are not there
are those of CRDs and of aggregated APIs, and nothing is said of them. The packages are those of one Kubernetes: alpha
versions come and go with each, and one that they lack may be served by another.
"""

from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

from rukpak_py.core.findings import Fix
from rukpak_py.formats import go_types
from rukpak_py.formats.rules import of_other_case

# Of packages that the table is not made from, or that are gone there.
_MORE: Final[dict[str, dict[str, str]]] = {
    "apiregistration.k8s.io/v1": {"APIService": ""},
    "apiregistration.k8s.io/v1beta1": {"APIService": "1.22"},
    "autoscaling/v2beta1": {"HorizontalPodAutoscaler": "1.25"},
    "autoscaling/v2beta2": {"HorizontalPodAutoscaler": "1.26"},
    "batch/v2alpha1": {"CronJob": "1.21"},
    "policy/v1beta1": {"PodSecurityPolicy": "1.25"},
}
_SUFFIX: Final = "List"
# Versions that were removed, and those with the same fields that took their place.
_SAME_FIELDS: Final = {
    "autoscaling/v2beta2": "autoscaling/v2",
    "batch/v1beta1": "batch/v1",
    "coordination.k8s.io/v1beta1": "coordination.k8s.io/v1",
    "node.k8s.io/v1beta1": "node.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1": "rbac.authorization.k8s.io/v1",
    "scheduling.k8s.io/v1beta1": "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1": "storage.k8s.io/v1",
}


class KindDefect(NamedTuple):
    field: str  # that is wrong
    message: str
    hint: str
    is_removed: bool = False
    is_certain: bool = True
    fix: Fix | None = None


def kind_defect(manifest: dict[str, Any]) -> KindDefect | None:
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        return None  # told as missing
    kinds, (group, _, version) = _table().get(api_version), api_version.rpartition("/")
    is_certain = "alpha" not in version
    if kinds is None:
        if "." in group and group not in _groups():
            return None
        message = f"apiVersion {api_version[:80]} does not exist in Kubernetes"
        return KindDefect("apiVersion", message, _other_version(kind, api_version), is_certain=is_certain)
    if kind not in kinds:
        if kind.endswith(_SUFFIX) and kind.removesuffix(_SUFFIX) in kinds:
            return None
        (near,) = get_close_matches(kind.lower(), map(str.lower, kinds), n=1, cutoff=0.8) or [""]
        near = of_other_case(near, kinds) if near else ""
        hint = f"Did you mean `kind: {near}`?" if near else _other_version(kind, api_version)
        fix = Fix(text=near) if near else None
        message = f"the kind {kind[:80]} does not exist in {api_version}"
        return KindDefect("kind", message, hint, is_certain=is_certain, fix=fix)
    if removed := kinds[kind]:
        message = f"{kind} of {api_version} was removed from Kubernetes {removed}"
        fix = Fix(text=_SAME_FIELDS[api_version]) if api_version in _SAME_FIELDS else None
        return KindDefect("apiVersion", message, _other_version(kind, api_version), is_removed=True, fix=fix)
    return None


def _other_version(kind: str, than: str) -> str:
    """Advice about an apiVersion that serves the kind."""
    found = [one for one, kinds in _table().items() if one != than and kinds.get(kind) == ""]
    stable = [one for one in found if "alpha" not in one and "beta" not in one]
    group = than.rpartition("/")[0]
    best = max(stable or found, key=lambda one: (one.rpartition("/")[0] == group, one), default="")
    return f"Write `apiVersion: {best}`." if best else ""


@cache
def _groups() -> frozenset[str]:
    return frozenset(one.rpartition("/")[0] for one in _table())


@cache
def _table() -> dict[str, dict[str, str]]:
    text = resources.files(go_types).joinpath("go_kinds.json").read_bytes()
    table = msgspec.json.decode(text, type=dict[str, dict[str, str]])
    for api_version, kinds in _MORE.items():
        table.setdefault(api_version, {}).update(kinds)
    return table
