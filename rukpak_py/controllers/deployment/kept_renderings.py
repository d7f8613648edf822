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
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, RecordedValues
from rukpak_py.api.install_options import (
    config_digest,
    options_of,
    recorded_config_digest,
)
from rukpak_py.api.installed import installed_of
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment.attempt import Attempt, installed_rendering
from rukpak_py.controllers.deployment.chart_releases import ChartReleases
from rukpak_py.controllers.ports import Content, DigestKeys, Renderings
from rukpak_py.core.keyed_digests import are_comparable, key_id
from rukpak_py.core.objects import canonical_json
from rukpak_py.formats.format import ChartRenderer, RenderedContent, RenderOptions
from rukpak_py.formats.stored_rendering import lines_of

_SECRET = b'"kind":"Secret"'  # in canonical JSON


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
        if release.cluster is None:
            rendered = await self._content.render(attempt.classes, tree, options)
        else:
            lookups = self._releases.lookups_of(attempt)
            rendering = self._content.render_with_lookups(attempt.classes, tree, options, lookups.reply)
            try:
                rendered = await lookups.during(rendering)
            finally:
                attempt.state.mask.learn_looked_up(attempt.deployment, lookups.secrets)
        return replace(rendered, made=made)

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
    system_namespace: str,
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
    return begun | {_key(uid, digest, name or system_namespace, *rest) for digest, name, *rest in wanted | recorded}


def _parts(values: Iterable[RecordedValues]) -> list[str]:
    """Parts of a key; none for no values, so that renderings without values keep the name that they have."""
    return [part for one in values for part in (one.kind, one.name, one.key, one.digest)]


def _key(*parts: str) -> str:
    return hashlib.sha256(canonical_json(parts)).hexdigest()
