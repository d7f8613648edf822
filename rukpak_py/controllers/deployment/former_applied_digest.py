"""The form of `status.appliedDigest` before 0.1.0, so that an upgrade from a snapshot before it applies nothing.

It hashed the `repr` of tuples. Nothing writes it any more; `applied_digest.proves` compares with it. Every deployment
that is not suspended gets the present form at the first look of the first operator that knows it, so this module goes
with the first release after 0.1.0. A deployment that still has the former form then is applied once more.
"""

import hashlib
from collections.abc import Iterable

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.content_key import ContentKey


def former_applied_digest(lives: Iterable[ObservedObject], content: ContentKey, *, with_uids: bool = False) -> str:
    digest = hashlib.sha256(repr(_former_key(content)).encode())
    for live in sorted(lives, key=lambda live: live.key):
        uid = (live.uid,) if with_uids else ()
        digest.update(repr((*live.key, live.applied, live.fields, *uid)).encode())
    return "sha256:" + digest.hexdigest()


def _former_key(content: ContentKey) -> tuple[str, ...]:
    return (
        content.deployment,
        content.digest,
        content.install_namespace,
        str(content.makes_namespace),
        str(content.prunes),
        *filter(None, (content.options, content.bundle_class)),
    )
