"""Places of findings in the blobs of a catalog. Paths have the names of fields as schemas write them."""

from rukpak_py.catalog.model import Channel, Origin
from rukpak_py.formats.rules import Place


def place_in(origin: Origin, *path: str | int) -> Place:
    return Place(file=origin.file, document=origin.document, path=path)


def place_of_entry(channel: Channel, name: str, *path: str | int) -> Place:
    """The first entry of that name; the channel where it has none."""
    found = next((index for index, entry in enumerate(channel.entries) if entry.name == name), None)
    return place_in(channel.origin) if found is None else place_in(channel.origin, "entries", found, *path)
