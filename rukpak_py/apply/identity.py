"""The value of the annotation `applied`: for which object of which deployment it was written, and what was sent.

    v2:<identity>:sha256:<digest>
    sha256:<digest>                 of the releases before

Labels, annotations and owner references travel with copies: Kubernetes copies the labels of a Service to its Endpoints,
and clients copy whole objects. The identity covers the uid of the deployment and the key of the object, so a copy under
another name carries one that does not fit. An object that the content does not have is proven to be the deployment's
by an identity that fits and by an entry of our field manager; of the former form the entry alone is asked for.
"""

import hashlib

from rukpak_py.core.objects import ObjectKey

_FORM = "v2"
_LENGTH = 32  # hexadecimal digits


def identity(owner_uid: str, key: ObjectKey) -> str:
    named = f"{owner_uid}\n{key.group}\n{key.kind}\n{key.namespace}\n{key.name}"  # none of them has a line break
    return hashlib.sha256(named.encode()).hexdigest()[:_LENGTH]


def applied_value(identified: str, digest: str) -> str:
    return f"{_FORM}:{identified}:{digest}"


def read_applied(value: str) -> tuple[str, str]:
    """The identity, empty in the former form, and the digest."""
    if not value.startswith(f"{_FORM}:"):
        return "", value
    identified, _, digest = value.removeprefix(f"{_FORM}:").partition(":")
    return identified or "none", digest
