"""Whether a bundle can watch the namespaces that it shall watch, as far as the catalog tells.

The metadata of the CSV lists install modes: AllNamespaces, OwnNamespace (the one of the operator), SingleNamespace (one
other), MultiNamespace. The operator checks the bundle itself; this check says it before anything is installed.
"""

from collections.abc import Sequence

from rukpak_py.catalog.making.csv_metadata import csv_of
from rukpak_py.catalog.model import CSV_METADATA, Bundle
from rukpak_py.core.text import named
from rukpak_py.formats.registry_v1.bundle import SUGGESTED_NAMESPACE, InstallMode


def watch_problem(bundle: Bundle, watched: Sequence[str], namespace: str) -> str:
    """Why the bundle cannot watch these namespaces ('' is all); empty: it can, or the catalog does not tell.

    `namespace` is the one to install into; empty: the bundle chooses.
    """
    metadata = next((one for one in bundle.values_of(CSV_METADATA) if isinstance(one, dict)), None)
    modes = _modes(metadata.get("installModes")) if metadata is not None else None
    if metadata is None:
        csv = csv_of(bundle) or {}
        modes, metadata = _modes(_member(csv, "spec").get("installModes")), _member(csv, "metadata")
    if not watched or modes is None:
        return ""
    suggested = _member(metadata, "annotations").get(SUGGESTED_NAMESPACE)
    own = namespace or (suggested if isinstance(suggested, str) and suggested else f"{bundle.package}-system")
    needed = _needed(watched, own)
    missing = [mode for mode in needed if mode not in modes]
    if not missing:
        return ""
    supported = f"supports {named(sorted(modes))}" if modes else "supports no install mode"
    return f"{bundle.name} {supported}, and to watch {_described(watched, own)} needs {named(missing)}"


def _needed(watched: Sequence[str], own: str) -> list[str]:
    distinct = set(watched)
    if distinct == {""}:
        return [InstallMode.ALL]
    if distinct == {own}:
        return [InstallMode.OWN]
    if len(distinct) == 1:
        return [InstallMode.SINGLE]
    return [InstallMode.MULTI, *([InstallMode.OWN] if own in distinct else [])]


def _described(watched: Sequence[str], own: str) -> str:
    distinct = dict.fromkeys(watched)
    if set(distinct) == {""}:
        return "all namespaces"
    if set(distinct) == {own}:
        return f"its own namespace ({own})"
    return f"{'namespaces' if len(distinct) > 1 else 'namespace'} {named(distinct)}"


def _modes(listed: object) -> set[str] | None:
    """The supported ones; None where there is no list."""
    if not isinstance(listed, list):
        return None
    known = {str(mode) for mode in InstallMode}
    entries = (one for one in listed if isinstance(one, dict) and one.get("supported") is True)
    return {mode for one in entries if isinstance(mode := one.get("type"), str) and mode in known}


def _member(value: object, key: str) -> dict[str, object]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
