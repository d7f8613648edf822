"""Record of what is installed in the status: the history with options, version, kinds, and the hash of all objects.

An entry is of one content with one set of options. What is recorded of it changes where it is told in another form:
options as a former release recorded them, digests under another key, a template that did not fit. None of that is
another installation. The content says its version: a chart, or the ClusterServiceVersion of an OLM bundle; what an
earlier process has rendered is as the status says it. Plain content says nothing, so its source does: the tag of its
image, its git tag, its commit.
"""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, pinned_source
from rukpak_py.api.bundle_deployment import (
    HISTORY,
    Installation,
    InstalledContent,
    InstallOutcome,
    KeptObject,
)
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.install_options import mean_the_same, recorded
from rukpak_py.api.installed import with_revisions
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.api.names import GROUP, PLAIN_CLASS
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.removed_objects import without_kept
from rukpak_py.controllers.deployment.applied_digest import applied_digest
from rukpak_py.controllers.deployment.attempt import Attempt, is_rendering_of
from rukpak_py.controllers.deployment.kept_renderings import key_of
from rukpak_py.controllers.deployment.planning import completed_now
from rukpak_py.controllers.deployment.recorded_kinds import kinds_of, union
from rukpak_py.controllers.deployment.state import differences
from rukpak_py.controllers.result.changes import is_reduced, within_limit
from rukpak_py.controllers.result.progress import RecordedInstallation, StatusChange
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.formats.format import OFFLINE_RENDERING, Rendering


def installed_change(
    attempt: Attempt,
    owned: Mapping[ObjectKey, ObservedObject],
    kept: tuple[KeptObject, ...],
    now: str,
    *,
    outcome: InstallOutcome,
    done: Collection[ObjectKey] | None = None,
    all_is_seen: bool = True,
    by_namespace: Collection[GroupKind] = (),
) -> StatusChange:
    """Change of the status by what is installed. `kept`: objects that left the content and stay. `done`: objects of
    the content that have run and are gone; None: as before. `by_namespace`: kinds that are watched so.

    While some kind cannot be seen the kinds and the hash stay as they are: they may be about objects that are there.
    """
    everything, owned = owned, without_kept(owned, kept)
    applied, status = attempt.state.applied, attempt.deployment.status
    left = differences(applied, owned)
    is_whole = all_is_seen and attempt.is_settled and not any(key in applied.fields for key in left)
    wanted = [live for key, live in owned.items() if key in applied.fields]
    digest = "" if all_is_seen else status.applied_digest
    if is_whole:
        digest = applied_digest(wanted, attempt.content, with_uids=attempt.is_nondeterministic)
    kinds = kinds_of(((live.gvk, live.key.namespace) for live in everything.values()), by_namespace)
    installed = RecordedInstallation(
        bundle=attempt.bundle.metadata.name,
        digest=attempt.bundle.status.digest,
        version=version_of(attempt),
        content=content_of(attempt),
        install_namespace=attempt.chosen_namespace,
        applied_digest=digest,
        kinds=kinds if is_whole and not left else union(status.kinds, kinds),
        kept=kept,
        completed=completed_now(attempt.completed, {live.key: live for live in wanted}, done),
        history=_history(attempt, outcome, now),
        delete_hooks=attempt.facts.delete_hooks if attempt.facts is not None else status.delete_hooks,
    )
    return StatusChange(installed=installed, hooks=_hooks(attempt))


def _history(attempt: Attempt, outcome: InstallOutcome, now: str) -> tuple[Installation, ...]:
    history = attempt.deployment.status.history
    latest = history[0] if history else None
    if latest is not None and _is_of(latest, attempt) and _is_before_rollback(history, attempt.undoes):
        again = replace(_as_known_now(latest, attempt, outcome), revision=with_revisions(history)[0].revision + 1)
        return within_limit((again, *with_revisions(history)[1:]))
    if latest is None or not _is_of(latest, attempt):
        former = _with_undone(with_revisions(history), attempt.undoes)
        revision = former[0].revision + 1 if former else 1
        return within_limit((_entry(attempt, outcome, now, revision), *former)[:HISTORY])
    if _as_known_now(latest, attempt, outcome) == latest:
        return history
    numbered = with_revisions(history)
    return within_limit((_as_known_now(numbered[0], attempt, outcome), *numbered[1:]))


def _is_before_rollback(history: tuple[Installation, ...], undone: RolledBack | None) -> bool:
    """Whether the upgrade was no revision yet: the rollback counts up instead, or an approval would count twice."""
    return undone is not None and with_revisions(history)[0].revision <= undone.revision


def _with_undone(history: tuple[Installation, ...], undone: RolledBack | None) -> tuple[Installation, ...]:
    if undone is None or not history or history[0].digest != undone.content or _is_before_rollback(history, undone):
        return history
    return (replace(history[0], outcome=InstallOutcome.ROLLED_BACK), *history[1:])


def _is_of(entry: Installation, attempt: Attempt) -> bool:
    """An entry of the first release has no options: it counts with those of the spec."""
    bundle = attempt.bundle
    if (entry.bundle, entry.digest) != (bundle.metadata.name, bundle.status.digest):
        return False
    return entry.options is None or mean_the_same(entry.options, recorded(attempt.options))


def _entry(attempt: Attempt, outcome: InstallOutcome, now: str, revision: int) -> Installation:
    installed = attempt.installed
    digest, made = _rendering(attempt, installed.entry if installed is not None else None)
    return Installation(
        revision=revision,
        bundle=attempt.bundle.metadata.name,
        digest=attempt.bundle.status.digest,
        version=version_of(attempt),
        generation=attempt.deployment.metadata.generation,
        time=now,
        outcome=outcome,
        account=str(attempt.account or ""),
        options=recorded(attempt.options),
        template=_template(attempt.bundle),
        rendering_digest=digest,
        renderer=made.renderer,
        is_upgrade=made.is_upgrade,
        taken_over=installed is not None and installed.is_of_original_operator,
    )


def _as_known_now(entry: Installation, attempt: Attempt, outcome: InstallOutcome) -> Installation:
    """An entry without an outcome is of a former release, and stays so: what it was worth is not known."""
    options = recorded(attempt.options)
    template = _template(attempt.bundle) if is_reduced(entry) else entry.template
    return replace(
        entry,
        version=version_of(attempt) or entry.version,
        options=options,
        template=template,
        outcome=entry.outcome if entry.outcome in {"", InstallOutcome.HEALTHY} else outcome,  # healthy once: stays so
    )


def _hooks(attempt: Attempt) -> tuple[HookRecord, ...]:
    """Records of hooks; those of a former installation are dropped once it is replaced."""
    status, installed = attempt.deployment.status, attempt.installed
    if installed is not None and installed.entry is not None and is_rendering_of(installed.entry, attempt):
        return status.hooks
    revision = key_of(attempt)
    return tuple(record for record in status.hooks if record.revision == revision)


def _rendering(attempt: Attempt, latest: Installation | None) -> tuple[str, Rendering]:
    """Digest of the rendering, and how it was made; of an earlier process both are as recorded."""
    if attempt.facts is not None:
        return attempt.facts.rendering, attempt.facts.made
    if latest is None or not is_rendering_of(latest, attempt):
        return "", OFFLINE_RENDERING
    return latest.rendering_digest, Rendering(renderer=latest.renderer, is_upgrade=latest.is_upgrade)


def _template(bundle: Bundle) -> BundleTemplate:
    """The template that brings exactly this content back: its source is the resolved one."""
    metadata = bundle.metadata
    labels = {name: value for name, value in metadata.labels.items() if not name.startswith(f"{GROUP}/")}
    return BundleTemplate(
        metadata=TemplateMeta(labels=labels, annotations=metadata.annotations),
        spec=replace(bundle.spec, source=pinned_source(bundle)),
    )


VERSION_CHARACTERS, NAME_CHARACTERS = 63, 253


def version_of(attempt: Attempt) -> str:
    """Empty: it has none, or it was installed by a release that did not record it."""
    content = content_of(attempt)
    if content is not None:
        return content.version
    return source_version(attempt.bundle) if attempt.classes.bundle == PLAIN_CLASS else ""


def content_of(attempt: Attempt) -> InstalledContent | None:
    """Cut to what a label or the name of an object may have: the content may say anything."""
    described = attempt.facts.description if attempt.facts is not None else None
    if described is not None:
        return InstalledContent(
            name=described.name[:NAME_CHARACTERS],
            version=described.version[:VERSION_CHARACTERS],
            app_version=described.app_version[:VERSION_CHARACTERS],
            package=described.package[:NAME_CHARACTERS],
        )
    status = attempt.deployment.status
    return status.content if status.digest == attempt.bundle.status.digest else None


def source_version(bundle: Bundle) -> str:
    return bundle.spec.source.version(bundle.status.resolved_source)[:VERSION_CHARACTERS]
