"""The rules for registry+v1 bundles: one file per family, one function per rule.

Families judge a Bundle (what was read), or a Reading (the files too, also when there is no bundle). A new family is
added to the tuple of its subject; a new rule is one function in the family's file. What is asked for only in some
profiles has a tuple of its own.
"""

from rukpak_py.formats.registry_v1.bundle import Bundle
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules import renderable
from rukpak_py.formats.rules import Family

BUNDLE_FAMILIES: tuple[Family[Bundle], ...] = (renderable.FAMILY,)
READING_FAMILIES: tuple[Family[Reading], ...] = ()

# Asked for by the profile `operatorhub` only.
HUB_FAMILIES: tuple[Family[Bundle], ...] = ()
