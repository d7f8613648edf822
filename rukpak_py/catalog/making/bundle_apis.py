"""Kinds that a bundle provides and requires, as its CSV and its CustomResourceDefinitions say."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rukpak_py.catalog.making.bundle_files import BundleFiles
from rukpak_py.catalog.making.csv_decoding import checked, member
from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.registry_v1.kinds import OLD_DEFINITIONS

_CRDS = "customresourcedefinitions"
_API_SERVICES = "apiservicedefinitions"
_SHOWN = 10  # kinds in a message
_FIELDS = ("group", "version", "kind", "name")


class Api(NamedTuple):
    gvk: GroupVersionKind
    plural: str


def provided(files: BundleFiles) -> frozenset[GroupVersionKind]:
    """The versions of all CRDs, and owned API services; ContentError where the CSV owns a CRD that is not there."""
    if "spec" not in files.csv:
        raise ContentError(f"the ClusterServiceVersion {files.name!r} has no spec")
    defined = frozenset(_defined(files))
    for entry in _entries(files.csv, _CRDS, "owned"):
        plural, group = _plural_and_group(entry["name"], files.name)
        api = Api(GroupVersionKind(group, entry["version"], entry["kind"]), plural)
        if api not in defined:
            raise ContentError(
                f"bundle {files.name!r} owns {_shown(api)}, and no CustomResourceDefinition of the bundle defines it; "
                f"it defines {_listed(defined)}"
            )
    return frozenset(api.gvk for api in defined) | frozenset(map(_gvk, _entries(files.csv, _API_SERVICES, "owned")))


def required(files: BundleFiles) -> frozenset[GroupVersionKind]:
    crds = (
        GroupVersionKind(_plural_and_group(entry["name"], files.name)[1], entry["version"], entry["kind"])
        for entry in _entries(files.csv, _CRDS, "required")
    )
    return frozenset(crds) | frozenset(map(_gvk, _entries(files.csv, _API_SERVICES, "required")))


def _defined(files: BundleFiles) -> Iterator[Api]:
    for manifest in files.definitions:
        spec = manifest.get("spec") or {}
        names = spec.get("names") or {}
        versions = [(version or {}).get("name") or "" for version in spec.get("versions") or ()]
        if manifest["apiVersion"] == OLD_DEFINITIONS and spec.get("version"):
            versions.append(spec["version"])
        for version in versions:
            gvk = GroupVersionKind(spec.get("group") or "", version, names.get("kind") or "")
            yield Api(gvk, names.get("plural") or "")


def _entries(csv: dict[str, Any], key: str, side: str) -> list[Mapping[str, str]]:
    """Entries with all of their fields, empty where they have none."""
    listed = member(member(csv, "spec", "object", ()), key, "object", ("spec",))
    entries = member(listed, side, "list", ("spec", key))
    return [_entry(entry, ("spec", key, side, index)) for index, entry in enumerate(entries)]


def _entry(entry: Any, path: Path) -> Mapping[str, str]:
    return {name: member(checked(entry, "object", path), name, "string", path) for name in _FIELDS}


def _plural_and_group(name: str, bundle: str) -> tuple[str, str]:
    plural, dot, group = name.partition(".")
    if not dot:
        raise ContentError(f"bundle {bundle!r} names the CustomResourceDefinition {name!r}, not <plural>.<group>")
    return plural, group


def _gvk(entry: Mapping[str, str]) -> GroupVersionKind:
    return GroupVersionKind(entry["group"], entry["version"], entry["kind"])


def _listed(apis: frozenset[Api]) -> str:
    shown = list(map(_shown, sorted(apis)[:_SHOWN]))
    return ", ".join([*shown, "…"] if len(apis) > _SHOWN else shown) or "none"


def _shown(api: Api) -> str:
    return f"{api.gvk.group}/{api.gvk.version} {api.gvk.kind} ({api.plural})"
