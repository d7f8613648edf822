"""Messages that a deployment uses in more than one place: the same words in conditions, Events and the log."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from rukpak_py.api.bundle_deployment import KeptReason
from rukpak_py.api.deployment_spec import Adopt, Override
from rukpak_py.api.install_options import matches
from rukpak_py.api.names import ALLOW_DATA_LOSS_ANNOTATION
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.text import NAMED, counted, named
from rukpak_py.formats.hook import DELETE_EVENTS, HookEvent

SUSPENDED = "spec.suspend is true: nothing is applied, corrected or pruned"
RESUMED = "reconciling again"
HEALTHY = "BundleDeployment is healthy"
REFETCHING = "Re-fetching bundle content"
RENDERING = "Rendering bundle content"
OPTIONS_LOST = (
    "the options that the active bundle was installed with are lost, because status.history has only their digest: "
    "nothing is corrected until the bundle of the template is installed"
)
TEMPLATE_UNKNOWN = (
    "it cannot be created again, because status.history does not have its exact template: restore the former "
    "spec.template, or correct the new one"
)
REFRESH = (
    "set the annotation core.rukpak.io/refresh-at of the BundleDeployment to a new value to install what the source "
    "has now"
)
REFRESHING = "Fetching what the source has now, in another Bundle"
STATUS_TOO_LARGE = (
    "the object is too large for the API server with its whole status, so status.history has no templates and values: "
    "shorten spec.config, annotations or the template"
)
NOT_CORRECTED = ": drift is not corrected; "
RENDERING_LOST = (
    "the rendering that was installed is lost, and rendering the chart again gives different objects"
    f"{NOT_CORRECTED}change spec.template or spec.config to render it anew"
)
HOOKS_SKIPPED = 'the annotation core.rukpak.io/skip-hooks is "true": hooks of the chart are not run'
SKIP_DELETE_HOOKS = 'set core.rukpak.io/skip-hooks to "true" to delete without hooks'
HOOKS_UNKNOWN = (
    "the hooks that the chart has for its deletion cannot be found out; set the annotation core.rukpak.io/skip-hooks "
    'to "true" to delete without them'
)
HOOKS_BEGIN_AGAIN = (
    "the rendering whose hooks had run is lost, and rendering the chart again gives different objects: the "
    "installation begins again, with the hooks of the new rendering"
)
_KEPT_NOTES: Mapping[str, str] = {KeptReason.HAD_INSTANCES: " (its instances are gone)"}


class KeptObject(Protocol):
    """An object that left the content and that is deleted only on request."""

    @property
    def group(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def reason(self) -> str: ...


def instantiated(bundle: str) -> str:
    return f"Instantiated bundle {bundle} successfully"


def instantiated_before(bundle: str, what: str, installed: int, wanted: int) -> str:
    """Message while other content is wanted. `what`: name and version of the installed content, where it says them.

    `installed`: the generation that asked for it; 0: unknown. Another one may ask for the same content, and the same
    for other content: a branch has moved, or values in a Secret were changed.
    """
    of = f"of generation {installed}" if installed else ""
    is_what = " ".join(part for part in (what, of) if part)
    missing = "what the same generation asks for now" if installed == wanted else f"what generation {wanted} asks for"
    return f"{instantiated(bundle)}{': ' if is_what else ''}{is_what}; {missing} is not installed yet"


def applying(number: int) -> str:
    return f"Applying {counted(number)}"


def reverted_drift(keys: Collection[ObjectKey]) -> str:
    return f"reverted drift on {counted(len(keys))}: {named(keys)}"


def kept_changing(managers: Mapping[ObjectKey, Sequence[str]]) -> str:
    """Objects that others change as fast as they are reverted, with who does."""
    return (
        f"{_each(managers)}; reverting at most once a minute. Stop it, remove the field from the bundle, or name it in "
        "spec.overrides[].ignore"
    )


def certificates_kept_changing(managers: Mapping[ObjectKey, Sequence[str]]) -> str:
    return (
        f"{_each(managers)}; its serving certificate or caBundle is restored at most once a minute, and until then the "
        "API server cannot call the webhook. Stop it"
    )


def over_budget(leaving: Collection[ObjectKey], most: int) -> str:
    are = "is" if len(leaving) == 1 else "are"
    return (
        f"{counted(len(leaving))} {are} no longer in the bundle, and spec.prune.maxObjects is {most}: "
        f"nothing was pruned; raise it to delete {named(leaving)}"
    )


def held_back(leaving: Collection[ObjectKey]) -> str:
    """Message about objects that are held back after some minutes of waiting for health."""
    are = "is" if len(leaving) == 1 else "are"
    return (
        f"{counted(len(leaving))} no longer in the bundle {are} kept until the new content is healthy: "
        f"{named(leaving)}; set spec.prune.when to AfterApply to delete now"
    )


def kept_text(kept: Collection[KeptObject]) -> str:
    """One line about what left the content and stays, with what allows its deletion; empty for nothing."""
    if not kept:
        return ""
    names = (_place(one) + _KEPT_NOTES.get(one.reason, "") for one in kept)
    return (
        f"kept {counted(len(kept))} no longer in the bundle: {named(names)}; deleted with the BundleDeployment; "
        'to delete earlier, set the annotation core.rukpak.io/prune: "true" on the object, or prune: true in '
        "spec.overrides"
    )


def data_loss(losses: Sequence[str]) -> str:
    return (
        f"the deletion waits, because it would delete what others have: {'; '.join(losses)}. Delete or move that, or "
        f'set the annotation {ALLOW_DATA_LOSS_ANNOTATION}: "true" on the BundleDeployment'
    )


def orphaned(keys: Collection[ObjectKey]) -> str:
    return (
        f"left {counted(len(keys))} in the cluster, as a deletion that orphans asks: {named(keys)}; "
        "a BundleDeployment of the same name takes them again"
    )


def copied(keys: Collection[ObjectKey]) -> str:
    return (
        f"{named(keys)}: with the labels or the owner reference of this BundleDeployment and not applied for it, "
        "as copies have them; left alone. Remove them (the garbage collector deletes what has the owner reference "
        "with the BundleDeployment)"
    )


def shared(owners: Mapping[ObjectKey, str], gone: Collection[str]) -> str:
    """`gone`: owners that do not exist."""
    return f"{_of_owners(owners, gone)}: in this bundle too, and the same; left as it is{_taken_over_by(gone)}"


def shared_differs(owners: Mapping[ObjectKey, str], gone: Collection[str]) -> str:
    return (
        f"{_of_owners(owners, gone)}, and not, or no longer, as this bundle has it; left as it is. "
        f"Install bundles with the same CRD in both{_taken_over_by(gone)}"
    )


def shared_unowned(keys: Collection[ObjectKey]) -> str:
    return (
        f"{named(sorted(keys))}: in this bundle too, and not, or no longer, managed by a BundleDeployment; "
        f"left as it is. spec.adopt: {Adopt.IF_UNOWNED} takes it over, {Adopt.FORCE} also from another tool"
    )


def _of_owners(owners: Mapping[ObjectKey, str], gone: Collection[str]) -> str:
    return named(
        f'{key} belongs to the BundleDeployment "{owner}"{", which does not exist" if owner in gone else ""}'
        for key, owner in sorted(owners.items())
    )


def _taken_over_by(gone: Collection[str]) -> str:
    return f". Where its owner does not exist, spec.adopt: {Adopt.IF_UNOWNED} takes it over" if gone else ""


def released(keys: Collection[ObjectKey], why: str) -> str:
    """`why`: who said that they stay; empty: they existed before, or outlive the deployment for another reason."""
    return f"left {named(keys)} in the cluster, no longer managed{f' ({why})' if why else ''}"


def bundle_missing(name: str, why: str) -> str:
    return f'Bundle "{name}", whose content is installed, does not exist{NOT_CORRECTED}{why}'


def bundle_not_unpacked(name: str, why: str) -> str:
    return f'Bundle "{name}", whose content is installed, cannot be unpacked{NOT_CORRECTED}{why}'


def bundle_has_other_content(name: str) -> str:
    return (
        f'Bundle "{name}" was created again with content other than what is installed{NOT_CORRECTED}'
        "restore its source, or correct the new spec.template"
    )


def unmatched_overrides(
    overrides: Sequence[Override], keys: Collection[ObjectKey], install_namespace: str
) -> list[str]:
    """A line for each entry of `spec.overrides` that is about none of these objects."""
    found = [
        f"spec.overrides[{number}] ({_place(one)}) matches no object of the bundle and no kept object; "
        "check kind, namespace and name, or remove the entry"
        for number, one in enumerate(overrides)
        if not any(matches(one, key, install_namespace=install_namespace) for key in keys)
    ]
    more = len(found) - NAMED
    return [*found[:NAMED], *([f"spec.overrides[]: {more} more entries match nothing"] if more > 0 else [])]


def hook_running(event: HookEvent, key: ObjectKey) -> str:
    return f"the {event} hook {key} is running"


def superseded_hook_runs(event: str, key: ObjectKey) -> str:
    return (
        f"the {event} hook {key} of an installation that was given up is still running. The operator waits for it to "
        "end, because it may be half a migration. To go on at once, look at its logs, then delete it"
    )


def superseded_hook_stays(event: str, key: ObjectKey, why: str) -> str:
    return f"{key}, a {event} hook of an installation that was given up, has ended and cannot be deleted: {why}"


def superseded_hook_ended(event: str, key: ObjectKey, why: str) -> str:
    return f"the {event} hook {key} of an installation that was given up has {f'failed: {why}' if why else 'succeeded'}"


def hook_ended(event: HookEvent, key: ObjectKey, result: str) -> str:
    return f"the {event} hook {key} has {result.lower()}"


def hook_not_run(event: HookEvent, why: str) -> str:
    return f"{event} hook: {why}{f'; {SKIP_DELETE_HOOKS}' if event in DELETE_EVENTS else ''}"


def hook_failed(event: HookEvent, key: ObjectKey, why: str) -> str:
    """Message about a failed hook, with what to do next: it is not run again by itself."""
    instead = SKIP_DELETE_HOOKS if event in DELETE_EVENTS else "change spec.template or spec.config"
    return (
        f"the {event} hook {key} failed{f': {why}' if why else ''}. Look at the logs of its pods; to run it again, set "
        f"the annotation core.rukpak.io/reconcile-at to a new value, or {instead}"
    )


def hook_failed_and_lost(event: str, key: ObjectKey, why: str) -> str:
    """Message about a failed hook of a rendering that is lost."""
    return (
        f"the {event} hook {key} failed{f': {why}' if why else ''}, and the rendering that it is of is lost: rendering "
        "the chart again gives different objects. Look at the logs of its pods; to begin the installation again, with "
        "the hooks of the new rendering, set the annotation core.rukpak.io/reconcile-at to a new value, or change "
        "spec.template or spec.config"
    )


def class_not_served(name: str) -> str:
    return (
        f'this operator does not serve the class "{name}"; nothing is applied, corrected or pruned '
        "until spec.provisionerClassName names a class that is served"
    )


def unhealthy_text(lines: Sequence[str], total: int, example: str) -> str:
    """Upstream's line for one object; for more, a summary before their lines."""
    if len(lines) == 1:
        return lines[0]
    return "\n".join([f"{len(lines)} of {counted(total)} are not healthy: {example}", *lines])


def _place(one: KeptObject | Override) -> str:
    return str(ObjectKey(one.group, one.kind, one.namespace, one.name))


def _each(managers: Mapping[ObjectKey, Sequence[str]]) -> str:
    return "; ".join(f"{_subject(managers[key])} changing {key}" for key in sorted(managers))


def _subject(managers: Sequence[str]) -> str:
    return f"{' and '.join(managers) or 'another client'} {'keep' if len(managers) > 1 else 'keeps'}"
