"""What templates of charts may ask of the cluster: its version, and which kinds it serves."""

from dataclasses import dataclass

import msgspec

from rukpak_py.core.errors import UnavailableError
from rukpak_py.formats.helm.cluster_view import ClusterView, ServedKind, ServedVersion
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What the templates of a chart may ask for."""

    kube_version: str
    api_versions: tuple[str, ...]  # `apps/v1` and `apps/v1/Deployment`


class _ServerVersion(msgspec.Struct, rename="camel"):
    git_version: str


class ClusterCapabilities:
    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def told(self) -> Capabilities:
        """As helm without access to a cluster is told them: the version of the server, and each kind that it serves."""
        body = await self._version()
        try:
            version = msgspec.json.decode(body, type=_ServerVersion)
        except msgspec.MsgspecError as error:
            raise UnavailableError("the API server does not report its version") from error
        gvks = self._discovery.served.resources
        names = {name for gvk in gvks for name in (gvk.api_version, f"{gvk.api_version}/{gvk.kind}")}
        return Capabilities(kube_version=version.git_version, api_versions=tuple(sorted(names)))

    async def view(self) -> ClusterView:
        """What templates see that ask the cluster."""
        return ClusterView(
            version=await self._version(),
            served=tuple(
                ServedVersion(
                    group=one.group,
                    version=one.version,
                    kinds=tuple(
                        ServedKind(kind=resource.gvk.kind, plural=resource.plural, namespaced=resource.namespaced)
                        for resource in one.resources
                    ),
                    other_kinds=tuple(sorted(one.subresource_kinds)),
                    is_stale=one.is_stale,
                )
                for one in self._discovery.served.versions
            ),
        )

    async def _version(self) -> bytes:
        return (await self._client.raw_get("/version", verb="discover")).body
