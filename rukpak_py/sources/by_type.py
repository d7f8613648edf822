"""The sources of the cluster, found by `spec.source.type`."""

from collections.abc import Mapping

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source as SourceSpec
from rukpak_py.api.source import secret_names
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.config_maps import ConfigMaps, ConfigMapsSource
from rukpak_py.sources.git.source import GitFetcher
from rukpak_py.sources.http import HttpFetcher
from rukpak_py.sources.http_download import DownloadSettings
from rukpak_py.sources.image.registry_or_pod import ImageUnpackConfig, RegistryOrPod, image_source
from rukpak_py.sources.image.source import ImagePorts
from rukpak_py.sources.logins import Logins, refuse_own_name
from rukpak_py.sources.ports import Workers
from rukpak_py.sources.source import Fetched, Fetcher, FetchRequest, Waiting
from rukpak_py.sources.spool import Spool
from rukpak_py.sources.upload import UploadFetcher
from rukpak_py.sources.upload_directory import UploadDirectory


class SourcesByType:
    def __init__(self, sources: Mapping[SourceType, Fetcher], *, image: RegistryOrPod) -> None:
        self._sources: dict[str, Fetcher] = {str(kind): source for kind, source in sources.items()}
        self._sources[SourceType.IMAGE] = self._image = image

    def lane(self, source: SourceSpec) -> str:
        found = self._sources.get(source.type)
        return found.lane(source) if found is not None else source.type

    async def fetch(self, request: FetchRequest) -> Fetched | Waiting:
        found = self._sources.get(request.source.type)
        if found is None:
            served = ", ".join(sorted(self._sources))
            raise ContentError(f'source type "{request.source.type}" not supported; use one of {served}')
        for name in secret_names(request.source):
            refuse_own_name(name)
        return await found.fetch(request)

    async def clean_up(self, bundle: str, uid: str, source: SourceSpec) -> None:
        """Of images alone is something there that was made to fetch them."""
        if source.type == SourceType.IMAGE:
            await self._image.clean_up(bundle, uid, source)


def cluster_sources(
    *,
    config_maps: ConfigMaps,
    logins: Logins,
    image: ImagePorts,
    unpacking: ImageUnpackConfig,
    plain_http: frozenset[str],
    addresses: AddressPolicy,
    limits: Limits,
    uploads: UploadDirectory,
    workers: Workers,
    spool: Spool,
) -> SourcesByType:
    """Every source that the operator serves, on the ports that it hands in."""
    downloads = DownloadSettings(addresses=addresses, limits=limits)
    return SourcesByType(
        {
            SourceType.CONFIG_MAPS: ConfigMapsSource(config_maps, limits),
            SourceType.GIT: GitFetcher(logins, addresses=addresses, limits=limits, workers=workers, spool=spool),
            SourceType.HTTP: HttpFetcher(logins, downloads, workers=workers, spool=spool),
            SourceType.UPLOAD: UploadFetcher(uploads, limits, workers),
        },
        image=image_source(
            image,
            unpacking,
            addresses=addresses,
            plain_http=plain_http,
            limits=limits,
            workers=workers,
            spool=spool,
        ),
    )
