"""`status.appliedDigest`: one hash over what was applied and what the server made of it, and what it proves.

After a restart it tells from one list whether anything drifted while no operator was running, whatever is wanted by
now. Where something did, the digests on the objects still say whose content they are of. It has two forms:

    v2:sha256:<hex>    of `Applied` as canonical JSON
    sha256:<hex>       before 0.1.0, of the `repr` of tuples; nothing writes it any more

Another computation under the same version makes every deployment look unproven, and each of its objects is applied
again. So what changes the JSON of a deployment that exists needs the next version, and the computation of this one is
kept for a release: a digest of the former form still proves what it proved. The first look writes the present form,
though nothing else may have changed. That costs one status write for each deployment, once; a deployment that kept the
former form until something else changes would look unproven to the release after this one, and be applied once more.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from rukpak_py.api.reading import to_json
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.removed_objects import without_kept
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.state_parts import ContentKey
from rukpak_py.core.objects import ObjectKey, canonical_json

SCHEME = "v2:sha256:"


class AppliedObject(Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    group: str = ""
    kind: str
    namespace: str = ""
    name: str
    applied: str  # digest of what was sent
    fields: str  # hash of the fields that the deployment owned after that
    uid: str = ""


class Applied(Struct, frozen=True, kw_only=True, rename="camel"):
    content: ContentKey
    objects: list[AppliedObject]  # by their keys


def applied_digest(lives: Iterable[ObservedObject], content: ContentKey, *, with_uids: bool = False) -> str:
    """`with_uids`: of content that holds what is secret to readers of the status. Readers who cannot see the objects
    cannot guess their uids, and so not what is in them.
    """
    objects = [
        AppliedObject(
            group=live.key.group,
            kind=live.key.kind,
            namespace=live.key.namespace,
            name=live.key.name,
            applied=live.applied,
            fields=live.fields,
            uid=live.uid if with_uids else "",
        )
        for live in sorted(lives, key=lambda live: live.key)
    ]
    applied = Applied(content=content, objects=objects)
    return SCHEME + hashlib.sha256(canonical_json(to_json(applied))).hexdigest()


def proves(digest: str, lives: Iterable[ObservedObject], content: ContentKey, *, with_uids: bool = False) -> bool:
    """Whether a recorded digest, of either form, is of this content and of these objects as they are."""
    compute = applied_digest if digest.startswith(SCHEME) else former_applied_digest
    return bool(digest) and digest == compute(lives, content, with_uids=with_uids)


def former_applied_digest(lives: Iterable[ObservedObject], content: ContentKey, *, with_uids: bool = False) -> str:
    former_key = (
        content.deployment,
        content.digest,
        content.install_namespace,
        str(content.makes_namespace),
        str(content.prunes),
        *filter(None, (content.options, content.bundle_class)),
    )
    digest = hashlib.sha256(repr(former_key).encode())
    for live in sorted(lives, key=lambda live: live.key):
        uid = (live.uid,) if with_uids else ()
        digest.update(repr((*live.key, live.applied, live.fields, *uid)).encode())
    return "sha256:" + digest.hexdigest()


def recall(active: Attempt | None, owned: Mapping[ObjectKey, ObservedObject]) -> bool:
    """Recall from the first list alone. `active`: an attempt with what the history says is installed."""
    if active is None:
        return False
    kept = active.installed.kept if active.installed is not None else ()
    return _trust_if_proven(active, [*without_kept(owned, kept).values()])


def recall_from_content(
    active: Attempt, wanted: Collection[ObjectKey], owned: Mapping[ObjectKey, ObservedObject], *, is_wanted: bool
) -> bool:
    """The same where more is there than was applied: what left the content and was not pruned yet.

    While other content is wanted (`is_wanted` False), it may be of half an upgrade, and is not pruned as drift then.
    """
    is_proven = _trust_if_proven(active, [live for key, live in owned.items() if key in wanted])
    kept = active.installed.kept if active.installed is not None else ()
    if is_proven and not is_wanted and not without_kept(owned, kept).keys() <= set(wanted):
        active.state.content = active.state.untouched = None
    return is_proven


def recall_untouched(active: Attempt, desired: Iterable[Desired], owned: Mapping[ObjectKey, ObservedObject]) -> None:
    """Drift is no half upgrade while every object was last applied as the active content has it."""
    installed = active.installed
    if installed is None or installed.digest != active.bundle.status.digest:
        return
    forms = {one.key: {one.payload.digest, one.payload_when_taken.digest} for one in desired}
    lives = without_kept(owned, installed.kept)
    if lives and all(live.applied in forms.get(key, ()) for key, live in lives.items()):
        active.state.untouched = active.content


def _trust_if_proven(active: Attempt, lives: list[ObservedObject]) -> bool:
    installed = active.installed
    if installed is None or installed.digest != active.bundle.status.digest:
        return False
    if not proves(installed.applied_digest, lives, active.content, with_uids=active.is_nondeterministic):
        return False
    active.state.trust(active.content, lives)
    return True
