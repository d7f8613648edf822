"""The kinds that a bundle of OLM needs and does not bring: `olm.gvk` in its dependencies, `required` in its CSV.

What is written wrongly is no requirement here; the rules tell it. Packages (`olm.package`) are information for people:
who installs what provides the kinds has installed the package.
"""

from collections.abc import Iterator

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.format import Requirement
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.metadata.dependencies import GVK


def requirements(bundle: RegistryBundle) -> tuple[Requirement, ...]:
    found = {one.gvk: one for one in (*required_by_csv(bundle), *_of_dependencies(bundle))}
    return tuple(one for gvk, one in sorted(found.items()) if gvk.version and gvk.kind)


def required_by_csv(bundle: RegistryBundle) -> Iterator[Requirement]:
    """As they are listed."""
    spec: Json = bundle.csv.typed.get("spec") or {}
    file = bundle.csv.document.file
    for entry in _required(spec, "customresourcedefinitions"):
        _, _, group = _text(entry, "name").partition(".")
        yield Requirement(gvk=GroupVersionKind(group, _text(entry, "version"), _text(entry, "kind")), file=file)
    for entry in _required(spec, "apiservicedefinitions"):
        gvk = GroupVersionKind(_text(entry, "group"), _text(entry, "version"), _text(entry, "kind"))
        yield Requirement(gvk=gvk, file=file)


def _of_dependencies(bundle: RegistryBundle) -> Iterator[Requirement]:
    for dependency in bundle.metadata.dependencies:
        if dependency.type == GVK and isinstance(dependency.value, dict):
            value = dependency.value
            gvk = GroupVersionKind(_text(value, "group"), _text(value, "version"), _text(value, "kind"))
            yield Requirement(gvk=gvk, file=dependency.place.file)


def _required(spec: Json, key: str) -> list[Json]:
    return [entry for entry in (spec.get(key) or {}).get("required") or [] if isinstance(entry, dict)]


def _text(entry: Json, key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""
