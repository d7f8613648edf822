"""Rendered objects of a bundle, refused where a cluster could have no kind for them.

A bundle may ship objects without an apiVersion, and rendering keeps them so: the reference renderer does. No API server
has such a kind; waiting for it would be in vain, so that is an error of the content, by file.
"""

from collections.abc import Sequence

from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import Object
from rukpak_py.core.text import joined
from rukpak_py.formats.registry_v1.bundle import Json, RegistryBundle


def applicable(bundle: RegistryBundle, manifests: Sequence[Json]) -> list[Object]:
    documents = [*(definition.document for definition in bundle.definitions), *bundle.others]
    nameless = [one for one in documents if not one.api_version]
    if nameless:
        found = joined(f"{one.file}: {one.kind} '{one.name}' has no apiVersion" for one in nameless)
        raise ContentError(f"{found}. Add it as the documentation of the kind has it.")
    return [Object.from_manifest(one) for one in manifests]
