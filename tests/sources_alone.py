"""All sources of the operator without a cluster: there is neither a Secret nor a ConfigMap nor a pod."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.by_type import SourcePorts, SourcesByType, cluster_sources
from rukpak_py.sources.config_maps import ConfigMap
from rukpak_py.sources.image.layout import host_platform
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.image.registry_or_pod import ImageUnpackConfig
from rukpak_py.sources.image.source import ImagePorts
from rukpak_py.sources.image.unpack_methods import ImageUnpack
from rukpak_py.sources.logins import Logins
from rukpak_py.sources.source import ImageAccess, ImageContent
from rukpak_py.sources.upload import UploadDirectory
from tests.source_secrets import logins
from tests.workers import SPOOL, WORKERS


class Nothing:
    """All ports."""

    async def config_map(self, name: str) -> ConfigMap:
        raise UnavailableError(f"no ConfigMap {name!r}")

    async def names(self) -> Sequence[str]:
        return ()

    async def find(self, access: ImageAccess) -> ImageContent | None:
        return None

    async def is_stored(self, access: ImageAccess) -> bool:
        return False

    async def prove(self, access: ImageAccess) -> None:
        raise AssertionError("nothing is stored")


def sources_alone(
    addresses: AddressPolicy, *, limits: Limits = DEFAULT_LIMITS, credentials: Logins | None = None
) -> SourcesByType:
    nothing, given = Nothing(), credentials or logins()
    ports = SourcePorts(
        config_maps=nothing,
        logins=given,
        image=ImagePorts(logins=given, pull_secrets=nothing, unpacked=nothing),
        unpacking=ImageUnpackConfig(
            way=ImageUnpack.DIRECT,
            pods=cast("Any", nothing),  # never asked
            settings=PodSettings(tool_image="", platform=host_platform()),
            tell=lambda _request, _message: None,
        ),
        uploads=UploadDirectory(Path("/nonexistent"), DEFAULT_LIMITS),
        plain_http=frozenset(),
        addresses=addresses,
        limits=limits,
        workers=WORKERS,
        spool=SPOOL,
    )
    return cluster_sources(ports)
