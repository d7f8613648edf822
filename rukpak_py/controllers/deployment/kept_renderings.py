"""Renderings of charts: made once for each content and its options, kept, and compared with what was installed.

Templates may be random, tell the time, and look objects up in the cluster, so a second rendering may differ. What was
made once is used again after a restart. When it is lost, it is rendered again, in the way in which it was made at
first: templates see the objects that they have made, and keep what is in them. Only what has the digest of what was
installed counts as the same. What differs is never stored in its place.

Beside content and options nothing is part of the key: neither a new kind in the cluster nor a new version of it changes
what is installed. A key is the name of a file and, as `revision`, part of statuses. It has no version in front; another
form gets one, and what has the former name is still found for a release.

The digest stands in the status. Of a rendering with Secrets, or with values from elsewhere, it is keyed, because the
plain one would tell a guessed password from a wrong one. Once that key is lost, what is stored still counts by its
name, under which nothing else is ever stored; what is rendered again cannot be compared, and counts as different.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import HISTORY, BundleDeployment, RecordedValues
from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.install_options import (
    config_digest,
    options_of,
    recorded_config_digest,
)
from rukpak_py.api.installed import installed_of
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment.attempt import Attempt, installed_entry, installed_rendering, is_rendering_of
from rukpak_py.controllers.deployment.lookups import LookingUp, LookupPolicy, Lookups
from rukpak_py.controllers.ports import Content, DigestKeys, Renderings
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.keyed_digests import are_comparable, key_id
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import canonical_json
from rukpak_py.formats.format import ChartRenderer, Release, RenderedContent, Rendering, RenderOptions
from rukpak_py.formats.helm.cluster_view import ClusterView, ServedKind, ServedVersion
from rukpak_py.formats.helm.settings import settings_of
from rukpak_py.formats.stored_rendering import lines_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.resources import SECRETS

# The release as which a chart is rendered


class _ServerVersion(msgspec.Struct, rename="camel"):
    git_version: str


class ClusterCapabilities:
    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def offline(self, name: str, *, is_upgrade: bool) -> Release:
        """Release for helm without access to a cluster, with the version of the server and each kind that it serves."""
        body = await self._version()
        try:
            version = msgspec.json.decode(body, type=_ServerVersion)
        except msgspec.MsgspecError as error:
            raise UnavailableError("the API server does not report its version") from error
        gvks = self._discovery.served.resources
        names = {name for gvk in gvks for name in (gvk.api_version, f"{gvk.api_version}/{gvk.kind}")}
        return Release(
            name=name,
            is_upgrade=is_upgrade,
            has_settings=False,
            kube_version=version.git_version,
            api_versions=tuple(sorted(names)),
        )

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
    """The release as which a chart is rendered for an attempt, the way of rendering, and what templates may look up.

    What is installed is rendered again as it was rendered at first, until its next upgrade: in the way that its entry
    of the history records, and with the same answer of `.Release.IsUpgrade`. Anything else is rendered in the newest
    way.
    """

    client_of: Callable[[BundleDeployment], Client]
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
        return await self.capabilities.offline(name, is_upgrade=is_upgrade)

    def lookups_of(self, attempt: Attempt) -> Lookups:
        who = LookingUp(
            release=_release_name(attempt),
            namespace=attempt.install_namespace,
            uid=attempt.deployment.metadata.uid,
            policy=self.policy,
        )
        return Lookups(self.client_of(attempt.deployment), self.discovery.served, who, limits=self.limits)

    async def _is_release_of_helm(self, attempt: Attempt) -> bool:
        """Whether a release of helm is taken over: its own upgrade would be one, too."""
        if attempt.deployment.spec.adopt is not Adopt.FORCE:
            return False
        selector = f"owner=helm,name={_release_name(attempt)},status notin (uninstalled,uninstalling)"
        client = self.client_of(attempt.deployment)
        found = await client.list_page(SECRETS, attempt.install_namespace, limit=1, label_selector=selector)
        return bool(found.items)


def _release_name(attempt: Attempt) -> str:
    return settings_of(attempt.options.config or {}).release_for(attempt.deployment.metadata.name)


def _counts_as_upgrade(attempt: Attempt) -> bool:
    """Whether something was installed before, for entries that do not record it."""
    history = attempt.installed.history if attempt.installed is not None else ()
    first = max((at for at, entry in enumerate(history) if is_rendering_of(entry, attempt)), default=-1)
    return len(history) == HISTORY or first < len(history) - 1


_SECRET = b'"kind":"Secret"'  # in canonical JSON


# Its renderings


class KeptRenderings:
    def __init__(self, content: Content, renderings: Renderings, keys: DigestKeys, *, releases: ChartReleases) -> None:
        self._content = content
        self._renderings = renderings
        self._keys = keys
        self._releases = releases

    async def load(self, attempt: Attempt) -> RenderedContent | None:
        stored = await self._renderings.load(key_of(attempt))
        if stored is None:
            return None
        sealed, known = await self._sealed(attempt, stored), installed_rendering(attempt)
        return sealed if not known or are_comparable(sealed.digest, known) else replace(sealed, digest=known)

    async def make(self, attempt: Attempt, tree: Tree, options: RenderOptions) -> RenderedContent:
        """Stored when it returns, unless it differs from what was installed."""
        rendered = await self.render(attempt, tree, options)
        sealed = await self._sealed(attempt, rendered)
        if sealed.digest == (installed_rendering(attempt) or sealed.digest):
            await self._renderings.keep(key_of(attempt), rendered)
        return sealed

    async def render(self, attempt: Attempt, tree: Tree, options: RenderOptions) -> RenderedContent:
        """Render without a look at kept renderings, and without keeping the result."""
        made = await self._releases.rendering_of(attempt)
        release = await self._releases.release_of(attempt, made)
        sees_all_files = made.renderer == ChartRenderer.OFFLINE
        options = replace(options, release=release, is_directory=options.is_directory and not sees_all_files)
        lookups: Lookups | None = None
        if release.cluster is None:
            rendered = await self._content.render(attempt.classes, tree, options)
        else:
            lookups = self._releases.lookups_of(attempt)
            rendering = self._content.render_with_lookups(attempt.classes, tree, options, lookups.reply)
            try:
                rendered = await lookups.during(rendering)
            finally:
                attempt.state.lookups = frozenset(lookups.asked)
                attempt.state.mask.learn_looked_up(attempt.deployment, lookups.secrets)
        return replace(rendered, made=made, lookups=frozenset(lookups.asked) if lookups is not None else frozenset())

    async def _sealed(self, attempt: Attempt, content: RenderedContent) -> RenderedContent:
        """Content with the digest that may stand in a status; a plain one where the status has a plain one already."""
        known = installed_rendering(attempt)
        if known and not key_id(known):
            return content
        if not attempt.options.values_from and not any(_SECRET in line for line in lines_of(content)):
            return content
        key = await self._keys.get()
        return replace(content, digest=key.digest(b"rendering", content.digest.encode()))


def key_of(attempt: Attempt) -> str:
    return _key(
        attempt.deployment.metadata.uid,
        attempt.bundle.status.digest,
        attempt.install_namespace,
        config_digest(attempt.options.config),
        *_parts(attempt.options.values_from),
    )


def keys_in_use(
    deployment: BundleDeployment,
    bundles: Iterable[Bundle],
    *,
    default_namespace: str,
    values: Sequence[RecordedValues] = (),
) -> set[str]:
    """Keys of the history, of hooks that have run, and of each Bundle with the options of the spec and these values."""
    uid, options = deployment.metadata.uid, options_of(deployment.spec)
    wanted = {
        (bundle.status.digest, options.install_namespace, config_digest(options.config), *_parts(values))
        for bundle in bundles
    }
    installed = installed_of(deployment.status)
    recorded = {
        (
            entry.digest,
            entry.options.install_namespace,
            recorded_config_digest(entry.options),
            *_parts(entry.options.values_from),
        )
        for entry in (installed.history if installed is not None else ())
        if entry.options is not None
    }
    running = deployment.status.running_hook
    begun = {record.revision for record in deployment.status.hooks}  # what its hooks have seen is installed
    begun |= {running.revision} if running is not None else set()
    return begun | {_key(uid, digest, name or default_namespace, *rest) for digest, name, *rest in wanted | recorded}


def _parts(values: Iterable[RecordedValues]) -> list[str]:
    """Parts of a key; none for no values, so that renderings without values keep the name that they have."""
    return [part for one in values for part in (one.kind, one.name, one.key, one.digest)]


def _key(*parts: str) -> str:
    return hashlib.sha256(canonical_json(parts)).hexdigest()
