"""The facts of an OLM bundle that a catalog and its reviewers go by, and how two bundles differ in them.

Most of them are in no rendered object: a bundle can get another place in its channels while all objects stay as they
are. Lists are compared entry by entry, because their order has no meaning and some grow long.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rukpak_py.apply.field_differences import Difference, FieldChange, differences
from rukpak_py.apply.permissions.permission import text
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.metadata.annotations import CHANNELS, DEFAULT_CHANNEL, PACKAGE
from rukpak_py.library import inspection

Facts = Mapping[str, Any]  # texts, lists, and maps of texts

_ROOT: Final = "annotations"  # for paths; the name of a file would be quoted in them
_SKIP_RANGE: Final = "olm.skipRange"
_TOLD_ELSEWHERE: Final = frozenset({_SKIP_RANGE, PACKAGE, CHANNELS, DEFAULT_CHANNEL})
_FACTS: Final = (
    *("package", "name", "displayName", "version", "replaces", "skips", "skipRange", "channels", "defaultChannel"),
    *("minKubeVersion", "installModes", "owned", "required", "dependencies", "annotations", "annotations.yaml"),
)


def facts_of(bundle: RegistryBundle, file_annotations: Mapping[str, str]) -> Facts:
    """`file_annotations`: those of annotations.yaml."""
    inspected = inspection.of_bundle(bundle)
    csv = bundle.csv
    facts = {
        **inspected,
        "channels": ", ".join(sorted({channel.strip() for channel in inspected["channels"]})),
        "installModes": ", ".join(inspected["installModes"]),
        "owned": [
            *(f"{api.kind} {api.version} ({api.name})" for api in csv.owned),
            *(_api(entry) for entry in csv.owned_api_services),
        ],
        "required": [_api(entry) for entry in inspected["required"]],
        "annotations": _without_told(csv.annotations),
        "annotations.yaml": _without_told(file_annotations),
    }
    return {name: facts[name] for name in _FACTS}


def summary_differences(old: Facts, new: Facts) -> list[Difference]:
    """Both have all facts, or one has none: its bundle is of another format."""
    return [found for name in old or new for found in _differences(name, old.get(name), new.get(name))]


def _differences(name: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old or new, list):
        old, new = old or [], new or []
        yield from (Difference(change=FieldChange.REMOVED, path=name, old=one) for one in old if one not in new)
        yield from (Difference(change=FieldChange.ADDED, path=name, new=one) for one in new if one not in old)
    elif isinstance(old or new, dict):
        for found in differences({_ROOT: old or {}}, {_ROOT: new or {}}):
            yield replace(found, path=f"{name}{found.path.removeprefix(_ROOT)}")
    elif old or new:
        yield from differences({name: old} if old else {}, {name: new} if new else {})


def _without_told(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if name not in _TOLD_ELSEWHERE}


def _api(entry: Mapping[str, Any]) -> str:
    return f"{text(entry.get('kind'))} {text(entry.get('version'))} ({text(entry.get('group'))})"
