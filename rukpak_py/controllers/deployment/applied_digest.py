"""`status.appliedDigest`: one hash over what was applied and what the server made of it.

After a restart it tells from one list whether anything drifted while no operator was running. It has two forms:

    v2:sha256:<hex>    of `Applied` as canonical JSON
    sha256:<hex>       of the release before, see `former_applied_digest`

Another computation under the same version makes every deployment look unproven, and each of its objects is applied
again. So what changes the JSON of a deployment that exists needs the next version, and the computation of this one is
kept for a release: a digest of the former form still proves what it proved. The first look writes the present form,
though nothing else may have changed. That costs one status write for each deployment, once; a deployment that kept the
former form until something else changes would look unproven to the release after this one.
"""

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from rukpak_py.api.reading import to_json
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.content_key import ContentKey
from rukpak_py.controllers.deployment.former_applied_digest import former_applied_digest
from rukpak_py.core.objects import canonical_json

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
    objects = [_applied(live, uid=live.uid if with_uids else "") for live in sorted(lives, key=lambda live: live.key)]
    applied = Applied(content=content, objects=objects)
    return SCHEME + hashlib.sha256(canonical_json(to_json(applied))).hexdigest()


def proves(digest: str, lives: Iterable[ObservedObject], content: ContentKey, *, with_uids: bool = False) -> bool:
    """Whether a recorded digest, of either form, is of this content and of these objects as they are."""
    compute = applied_digest if digest.startswith(SCHEME) else former_applied_digest
    return bool(digest) and digest == compute(lives, content, with_uids=with_uids)


def _applied(live: ObservedObject, *, uid: str) -> AppliedObject:
    key = live.key
    return AppliedObject(
        group=key.group,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        applied=live.applied,
        fields=live.fields,
        uid=uid,
    )
