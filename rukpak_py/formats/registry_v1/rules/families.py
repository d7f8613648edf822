"""All rules for registry+v1 bundles, by what they judge.

A family judges a Bundle (what was read), a Reading (the files too, also when there is no bundle), or an InstallRequest.
A new family is added to the tuple of its subject; what is asked for in a profile only has a tuple of its own.
"""

from rukpak_py.formats.registry_v1.bundle import Bundle
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules import (
    accounts,
    collisions,
    csv,
    definition_parts,
    definitions,
    examples,
    hub,
    layout,
    objects,
    own,
    practices,
    refusals,
    registry,
    renderable,
)
from rukpak_py.formats.registry_v1.rules.refusals import InstallRequest
from rukpak_py.formats.rules import Family

BUNDLE_FAMILIES: tuple[Family[Bundle], ...] = (renderable.FAMILY, own.FAMILY, accounts.FAMILY, collisions.FAMILY)
READING_FAMILIES: tuple[Family[Reading], ...] = (
    layout.FAMILY,
    csv.FAMILY,
    examples.FAMILY,
    definitions.FAMILY,
    definition_parts.FAMILY,
    registry.FAMILY,
    objects.FAMILY,
    objects.STABILITY_FAMILY,
    practices.FAMILY,
    own.READING_FAMILY,
)
REQUEST_FAMILIES: tuple[Family[InstallRequest], ...] = (refusals.FAMILY,)

# Asked for by the profile `operatorhub` only.
HUB_FAMILIES: tuple[Family[Reading], ...] = (hub.FAMILY,)
# Asked for by the profile `olmv1` only.
OLM_V1_FAMILIES: tuple[Family[InstallRequest], ...] = (refusals.OLM_V1_FAMILY,)
