"""What a deployment left in the cluster when it left the content, and may take again: the annotation `released`.

    v1:<digest>

The digest covers the uids of the deployment and of the object, the key of the object, and which other tool managed it
then. So it proves nothing for a copy, an object that was made anew, another deployment of the same name, or what
another tool has taken since. It is the only mark of ours that such an object has.
"""

import hashlib

from rukpak_py.apply.tools import other_tool
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.kube.metadata import Metadata

_FORM = "v1"
_LENGTH = 32  # hexadecimal digits


def released_value(owner_uid: str, key: ObjectKey, metadata: Metadata) -> str:
    return released_mark(owner_uid, key, metadata.uid, other_tool(metadata.labels, metadata.annotations))


def released_mark(owner_uid: str, key: ObjectKey, uid: str, tool: str) -> str:
    digest = hashlib.sha256(canonical_json([owner_uid, [*key], uid, tool])).hexdigest()
    return f"{_FORM}:{digest[:_LENGTH]}"
