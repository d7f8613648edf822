"""The sources of Bundles, put together for the cluster: what they may reach, and what they ask the API server for."""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from rukpak_py.controllers.content_records import StoredImages
from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.operator.settings import Settings
from rukpak_py.runtime.limits import container_memory, git_memory
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.by_type import SourcePorts, SourcesByType, cluster_sources
from rukpak_py.sources.image.registry_or_pod import ImageUnpackConfig, Tell
from rukpak_py.sources.image.source import ImagePorts
from rukpak_py.sources.logins import Logins, Warn
from rukpak_py.sources.ports import Pods, PullSecrets, Workers
from rukpak_py.sources.spool import Spool
from rukpak_py.sources.upload_directory import UploadDirectory
from rukpak_py.workers.pool import NEED_ALL


def sources_of(
    settings: Settings,
    system: SystemObjects,
    *,
    stored: StoredImages,
    pods: Pods,
    account_secrets: PullSecrets,
    api_servers: AbstractSet[tuple[str, int]],
    uploads: UploadDirectory,
    workers: Workers,
    spool: Spool,
    tell: Tell,
    warn: Warn,
) -> SourcesByType:
    """`api_servers`: more of them may become known later. `tell` is called when a pod has to be made for an image.

    `warn`: when a Secret goes where nothing says that it belongs.
    """
    git_total = git_memory(settings.limits.git_total_memory_bytes, NEED_ALL, container_memory())
    logins = Logins(system, settings.logins, warn=warn)
    ports = SourcePorts(
        config_maps=system,
        logins=logins,
        image=ImagePorts(
            logins=logins,
            pull_secrets=account_secrets,
            unpacked=stored,
        ),
        unpacking=ImageUnpackConfig(
            way=settings.image_unpack,
            pods=pods,
            settings=settings.unpack_pods,
            tell=tell,
        ),
        plain_http=settings.plain_http_registries,
        addresses=AddressPolicy(allowed=settings.allow_source_addresses, api_servers=api_servers),
        limits=replace(settings.limits, git_total_memory_bytes=git_total),
        uploads=uploads,
        workers=workers,
        spool=spool,
    )
    return cluster_sources(ports)
