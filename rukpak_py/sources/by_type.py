"""The sources of the cluster, found by `spec.source.type`: a type of source is one row of `FETCHERS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.config_maps import ConfigMaps, ConfigMapsSource
from rukpak_py.sources.git.source import GitFetcher
from rukpak_py.sources.http import DownloadSettings, HttpFetcher
from rukpak_py.sources.image.registry_or_pod import ImageUnpackConfig, image_source
from rukpak_py.sources.image.source import ImagePorts
from rukpak_py.sources.logins import Logins, refuse_own_name
from rukpak_py.sources.source import Fetched, Fetcher, FetchRequest, Waiting, Workers
from rukpak_py.sources.spool import Spool
from rukpak_py.sources.upload import UploadDirectory, UploadFetcher


@dataclass(frozen=True, kw_only=True)
class SourcePorts:
    """Ports that the operator provides for all sources together."""

    config_maps: ConfigMaps
    logins: Logins
    image: ImagePorts
    unpacking: ImageUnpackConfig
    plain_http: frozenset[str]  # registries
    addresses: AddressPolicy
    limits: Limits
    uploads: UploadDirectory
    workers: Workers
    spool: Spool


FETCHERS: Mapping[SourceType, Callable[[SourcePorts], Fetcher]] = {
    SourceType.CONFIG_MAPS: lambda ports: ConfigMapsSource(ports.config_maps, ports.limits),
    SourceType.GIT: lambda ports: GitFetcher(
        ports.logins, addresses=ports.addresses, limits=ports.limits, workers=ports.workers, spool=ports.spool
    ),
    SourceType.HTTP: lambda ports: HttpFetcher(
        ports.logins,
        DownloadSettings(addresses=ports.addresses, limits=ports.limits),
        workers=ports.workers,
        spool=ports.spool,
    ),
    SourceType.IMAGE: lambda ports: image_source(
        ports.image,
        ports.unpacking,
        addresses=ports.addresses,
        plain_http=ports.plain_http,
        limits=ports.limits,
        workers=ports.workers,
        spool=ports.spool,
    ),
    SourceType.UPLOAD: lambda ports: UploadFetcher(ports.uploads, ports.limits, ports.workers),
}


class SourcesByType:
    def __init__(self, fetchers: Mapping[SourceType, Fetcher]) -> None:
        self._fetchers: Mapping[str, Fetcher] = {str(kind): fetcher for kind, fetcher in fetchers.items()}

    def lane(self, source: Source) -> str:
        found = self._fetchers.get(source.type)
        return found.lane(source) if found is not None else source.type

    async def fetch(self, request: FetchRequest) -> Fetched | Waiting:
        found = self._fetchers.get(request.source.type)
        if found is None:
            served = ", ".join(sorted(self._fetchers))
            raise ContentError(f'source type "{request.source.type}" not supported; use one of {served}')
        for name in request.source.secret_names:
            refuse_own_name(name)
        return await found.fetch(request)

    async def clean_up(self, bundle: str, uid: str, source: Source) -> None:
        """The content is stored, or of no use: nothing has to be kept ready for it."""
        if (found := self._fetchers.get(source.type)) is not None:
            await found.clean_up(bundle, uid, source)


def cluster_sources(ports: SourcePorts) -> SourcesByType:
    """Every source that the operator serves."""
    return SourcesByType({kind: fetcher_of(ports) for kind, fetcher_of in FETCHERS.items()})
