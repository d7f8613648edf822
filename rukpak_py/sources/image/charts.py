"""Charts in a registry, as `helm push` writes them: a manifest like that of an image, for one `helm package` archive.

Its configuration is of a type of its own, which tells it from an image. A signature may lie beside the archive.
"""

from typing import Final, Protocol

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.descriptors import Descriptor, check_entries

CHART: Final = "application/vnd.cncf.helm.config.v1+json"
_ARCHIVES: Final = frozenset({"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"})


class Manifest(Protocol):
    @property
    def config(self) -> Descriptor | None: ...

    @property
    def layers(self) -> list[Descriptor] | None: ...


def is_chart(manifest: Manifest) -> bool:
    return manifest.config is not None and manifest.config.media_type == CHART


def chart_archive_of(manifest: Manifest, limits: Limits) -> Descriptor:
    """The one archive of a chart, within the limits as far as the manifest says."""
    layers = manifest.layers or []
    check_entries("the chart's manifest", len(layers), limits)
    archives = [layer for layer in layers if layer.media_type in _ARCHIVES]
    if len(archives) != 1:
        raise ContentError(f"the chart's manifest has {len(archives)} archives of a chart instead of one")
    if archives[0].size > limits.archive_bytes:
        raise limits.exceeded("archive_bytes", "the size of the archive")
    return archives[0]
