"""Small catalogs with upgrade graphs, written as one line per entry."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from rukpak_py.catalog.drawing.graph_model import ChannelDrawing, DrawingOptions, GraphDrawing, graph_drawing
from rukpak_py.catalog.model import (
    BUNDLE,
    CHANNEL,
    PACKAGE,
    PACKAGE_PROPERTY,
    Bundle,
    Catalog,
    Channel,
    Deprecation,
    Deprecations,
    Entry,
    Package,
    Property,
)
from rukpak_py.catalog.package_index import PackageIndex, by_package


def entry(name: str, replaces: str = "", skips: Sequence[str] = (), skip_range: str = "") -> Entry:
    return Entry(name=name, replaces=replaces, skips=tuple(skips), skip_range=skip_range)


def bundle_of(package: str, name: str, version: str | None = None) -> Bundle:
    """A bundle of the version that stands in its name behind `.v`, unless another is given."""
    number = name.rpartition(".v")[2] if version is None else version
    value = {"packageName": package, "version": number}
    return Bundle(package=package, name=name, properties=(Property(type=PACKAGE_PROPERTY, value=value),))


def catalog(
    channels: Mapping[str, Sequence[Entry]],
    *,
    package: str = "p",
    deprecated: Mapping[str, str] | None = None,
    versions: Mapping[str, str] | None = None,
) -> Catalog:
    """A package of channels, each entry with its bundle. `deprecated`: messages by `package`, channel or bundle."""
    versions = versions or {}
    names = dict.fromkeys(one.name for entries in channels.values() for one in entries)
    return Catalog(
        packages=(Package(name=package, default_channel=next(iter(channels), "")),),
        channels=tuple(
            Channel(package=package, name=name, entries=tuple(entries)) for name, entries in channels.items()
        ),
        bundles=tuple(
            bundle_of(package, name, versions.get(name)) for name in names if versions.get(name, "0") != "none"
        ),
        deprecations=(
            Deprecations(
                package=package,
                entries=tuple(
                    Deprecation(schema=PACKAGE, message=message)
                    if name == "package"
                    else Deprecation(schema=CHANNEL if name in channels else BUNDLE, name=name, message=message)
                    for name, message in (deprecated or {}).items()
                ),
            ),
        ),
    )


def indexed(*catalogs: Catalog) -> dict[str, PackageIndex]:
    return by_package(sum(catalogs, Catalog()))


def drawn(entries: Sequence[Entry], *, minimum_edge: str = "", v0: bool = True) -> ChannelDrawing:
    """The one channel of a package."""
    options = DrawingOptions(minimum_edge=minimum_edge, draw_v0_semantics=v0)
    ((channel,),) = (one.channels for one in graph_drawing(indexed(catalog({"a": entries})), options).packages)
    return channel


HOSTILE = [
    "",
    "end",
    'a"b',
    "a]b[c",
    "x\ny",
    "<script>alert(1)</script>",
    "]]>",
    "%%{init: {}}%%",
    "&lt;#quot;",
    "back\\slash\\",
    "`code`",
    "--> b",
    "nul\0 esc\x1b",
    "\ud800",
    "\u202egpj",
    "ü 漢字",
    "style:#1;",
    "-",
    "n-_1",
    "\\N\\G",
]


@st.composite
def random_channels(draw: st.DrawFn, names: st.SearchStrategy[str] | None = None) -> dict[str, list[Entry]]:
    """Up to three channels, with every kind of edge between any two names."""
    name = names or st.sampled_from([f"p.v{major}.{minor}.0" for major in range(3) for minor in range(4)] + HOSTILE)
    ranges = st.sampled_from(["", ">=1.0.0 <2.0.0", "<9.0.0 !1.1.0", "1.x || 0.1.x", "^1"])
    entries = st.builds(
        Entry,
        name=name,
        replaces=st.just("") | name,
        skips=st.lists(name, max_size=4).map(tuple),
        skip_range=ranges,
    )
    channels = st.sampled_from(["a", "b", *HOSTILE])
    return draw(st.dictionaries(channels, st.lists(entries, max_size=8), min_size=1, max_size=3))


@st.composite
def random_drawings(draw: st.DrawFn) -> GraphDrawing:
    packages = draw(st.lists(st.sampled_from(["p", "q", *HOSTILE]), min_size=1, max_size=3, unique=True))
    options = DrawingOptions(draw_v0_semantics=draw(st.booleans()))
    deprecated = draw(st.dictionaries(st.sampled_from(["package", "a", *HOSTILE]), st.sampled_from(HOSTILE)))
    catalogs = [catalog(draw(random_channels()), package=name, deprecated=deprecated) for name in packages]
    return graph_drawing(indexed(*catalogs), options)
