"""All rules for registry+v1 bundles, by what they judge.

A family judges a RegistryBundle (what was read), a Reading (the files too, also when there is no bundle), or an
InstallRequest. A new family is added to the tuple of its subject, or to the profile that asks for it.
"""

from collections.abc import Mapping
from typing import Any, Final

from rukpak_py.core.findings import Profile
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules import (
    additional,
    cluster_service_version,
    collisions,
    community,
    definitions,
    example_schemas,
    examples,
    images,
    layout,
    metadata_files,
    objects,
    operatorhub,
    owned_apis,
    practices,
    renderable,
    shipped,
    unsupported,
    upgrades,
    webhooks,
    workloads,
)
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Family

BUNDLE_FAMILIES: tuple[Family[RegistryBundle], ...] = (
    renderable.FAMILY,
    additional.FAMILY,
    metadata_files.NAMES,
    workloads.ACCOUNTS,
    collisions.FAMILY,
    workloads.FAMILY,
    webhooks.FAMILY,
    shipped.FAMILY,
    shipped.FIELDS,
    shipped.INTEGERS,
    example_schemas.FAMILY,
)
READING_FAMILIES: tuple[Family[Reading], ...] = (
    layout.FAMILY,
    cluster_service_version.FAMILY,
    examples.FAMILY,
    definitions.FAMILY,
    definitions.PARTS,
    owned_apis.FAMILY,
    upgrades.FAMILY,
    images.FAMILY,
    objects.FAMILY,
    additional.READING_FAMILY,
    metadata_files.UNREAD,
)
REQUEST_FAMILIES: tuple[Family[InstallRequest], ...] = (unsupported.FAMILY,)

READING_FAMILIES_OF: Final[Mapping[Profile, Family[Reading]]] = {
    Profile.OPERATORHUB: operatorhub.FAMILY,
    Profile.COMMUNITY: community.FAMILY,
    Profile.BUNDLE_OBJECTS: objects.STABILITY_FAMILY,
    Profile.PRACTICES: practices.FAMILY,
}
REQUEST_FAMILIES_OF: Final[Mapping[Profile, Family[InstallRequest]]] = {Profile.OLM_V1: unsupported.OLM_V1_FAMILY}

ALL: Final[tuple[Family[Any], ...]] = (
    *BUNDLE_FAMILIES,
    *READING_FAMILIES,
    *REQUEST_FAMILIES,
    *READING_FAMILIES_OF.values(),
    *REQUEST_FAMILIES_OF.values(),
)
# The profile that asks for a family of these, by the family's title.
PROFILE_OF: Final[Mapping[str, Profile]] = {
    **{family.title: profile for profile, family in READING_FAMILIES_OF.items()},
    **{family.title: profile for profile, family in REQUEST_FAMILIES_OF.items()},
}
