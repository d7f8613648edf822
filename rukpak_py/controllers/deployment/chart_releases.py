"""The release as which a chart is rendered for an attempt, the way of rendering, and what templates may look up.

What is installed is rendered again as it was rendered at first, until its next upgrade: in the way that its entry of
the history records, and with the same answer of `.Release.IsUpgrade`. Anything else is rendered in the newest way.
"""

from dataclasses import dataclass

import msgspec

from rukpak_py.api.bundle_deployment import HISTORY
from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.controllers.deployment.attempt import Attempt, installed_entry, is_rendering_of
from rukpak_py.controllers.deployment.lookups import LookingUp, LookupPolicy, Lookups
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.format import ChartRenderer, Release, Rendering
from rukpak_py.formats.helm.cluster_view import ClusterView, ServedKind, ServedVersion
from rukpak_py.formats.helm.settings import settings_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.resources import SECRETS


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """Capabilities of the cluster that the templates of a chart may ask for."""

    kube_version: str
    api_versions: tuple[str, ...]  # `apps/v1` and `apps/v1/Deployment`


class _ServerVersion(msgspec.Struct, rename="camel"):
    git_version: str


class ClusterCapabilities:
    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def told(self) -> Capabilities:
        """Capabilities for helm without access to a cluster: the server's version, and each kind that it serves."""
        body = await self._version()
        try:
            version = msgspec.json.decode(body, type=_ServerVersion)
        except msgspec.MsgspecError as error:
            raise UnavailableError("the API server does not report its version") from error
        gvks = self._discovery.served.resources
        names = {name for gvk in gvks for name in (gvk.api_version, f"{gvk.api_version}/{gvk.kind}")}
        return Capabilities(kube_version=version.git_version, api_versions=tuple(sorted(names)))

    async def view(self) -> ClusterView:
        """View of the cluster for templates that ask it."""
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


@dataclass(frozen=True, kw_only=True)
class ChartReleases:
    client: Client
    capabilities: ClusterCapabilities
    discovery: Discovery
    policy: LookupPolicy
    limits: Limits

    async def rendering_of(self, attempt: Attempt) -> Rendering:
        entry = installed_entry(attempt)
        if entry is None:
            is_upgrade = attempt.installed is not None or await self._is_release_of_helm(attempt)
            return Rendering(renderer=ChartRenderer.CLUSTER, is_upgrade=is_upgrade)
        is_upgrade = _counts_as_upgrade(attempt) if entry.is_upgrade is None else entry.is_upgrade
        return Rendering(renderer=entry.renderer, is_upgrade=is_upgrade)

    async def release_of(self, attempt: Attempt, made: Rendering) -> Release:
        """Release that templates see, as it is at this moment."""
        name, is_upgrade = attempt.deployment.metadata.name, bool(made.is_upgrade)
        if made.renderer == ChartRenderer.CLUSTER:
            return Release(name=name, is_upgrade=is_upgrade, cluster=await self.capabilities.view())
        capabilities = await self.capabilities.told()
        return Release(
            name=name,
            is_upgrade=is_upgrade,
            has_settings=False,
            kube_version=capabilities.kube_version,
            api_versions=capabilities.api_versions,
        )

    def lookups_of(self, attempt: Attempt) -> Lookups:
        who = LookingUp(
            release=_release_name(attempt),
            namespace=attempt.install_namespace,
            uid=attempt.deployment.metadata.uid,
            policy=self.policy,
        )
        return Lookups(self.client, self.discovery.served, who, limits=self.limits)

    async def _is_release_of_helm(self, attempt: Attempt) -> bool:
        """Whether a release of helm is taken over: its own upgrade would be one, too."""
        if attempt.deployment.spec.adopt is not Adopt.FORCE:
            return False
        selector = f"owner=helm,name={_release_name(attempt)},status notin (uninstalled,uninstalling)"
        found = await self.client.list_page(SECRETS, attempt.install_namespace, limit=1, label_selector=selector)
        return bool(found.items)


def _release_name(attempt: Attempt) -> str:
    return settings_of(attempt.options.config or {}).release_for(attempt.deployment.metadata.name)


def _counts_as_upgrade(attempt: Attempt) -> bool:
    """Whether something was installed before, for entries that do not record it."""
    history = attempt.installed.history if attempt.installed is not None else ()
    first = max((at for at, entry in enumerate(history) if is_rendering_of(entry, attempt)), default=-1)
    return len(history) == HISTORY or first < len(history) - 1
