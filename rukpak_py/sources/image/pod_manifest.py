"""The unpack pod of a Bundle: the bundle image's container runs nothing of the image, it only waits to be asked.

An init container brings a static busybox, and mounted into the image it is all that ever runs there: the image may be
one from scratch, and its entrypoint, user and directory do not count. The pod is named like its Bundle, which owns it.
It runs as a user without rights, as the Pod Security level `restricted` wants it; as root, without capabilities, only
where files of the image cannot be read otherwise.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    UNPACK_POD_ANNOTATION,
)
from rukpak_py.core.objects import canonical_json
from rukpak_py.sources.image.descriptors import Platform

Json = Mapping[str, Any]

INIT_CONTAINER: Final = "install-unpacker"
CONTAINER: Final = "bundle"
MOUNT: Final = ".rukpak"  # at the root of the image
TOOL: Final = f"/{MOUNT}/busybox"
USER: Final = 1001
ALWAYS: Final = "Always"
PULL_POLICIES: Final = (ALWAYS, "IfNotPresent")
_LONGEST_LABEL: Final = 63
_TOOL_OF_IMAGE: Final = "/bin/busybox"  # in the image of the init container
_ALIVE_SECONDS: Final = 3600  # the longest life of an abandoned pod, with its pull
# Deleted, it ends at once. Told to, a moment later: what tells it runs in the same container, and is to get to its end.
_WAIT: Final = f"trap 'exit 0' TERM; trap '{TOOL} sleep 1; exit 0' USR1; {TOOL} sleep {_ALIVE_SECONDS} & wait"
FINISH: Final = (TOOL, "kill", "-USR1", "1")


@dataclass(frozen=True, kw_only=True)
class PodSettings:
    """The operator's settings for unpack pods."""

    tool_image: str
    platform: Platform
    keep: bool = False
    pull_policy: str = ""  # for the image of the Bundle; empty: that of Kubernetes
    pull_secrets: Sequence[str] = ()  # for the image of the tool
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Json] = ()
    resources: Json = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WantedPod:
    """The pod that unpacks one image for one Bundle."""

    bundle: str
    uid: str  # of the Bundle
    ref: str
    pull_secret: str = ""

    def manifest(self, settings: PodSettings, *, as_root: bool = False) -> bytes:
        spec = self._spec(settings, as_root=as_root)
        owner = {"apiVersion": API_VERSION, "kind": BUNDLE_KIND, "name": self.bundle, "uid": self.uid}
        metadata = {
            "name": self.bundle,
            "labels": {OWNER_KIND_LABEL: BUNDLE_KIND, **self._owner_name()},
            "annotations": {UNPACK_POD_ANNOTATION: _digest(spec)},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        return canonical_json({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def _owner_name(self) -> Mapping[str, str]:
        """The owner's label, for people; names of Bundles may be longer than the value of a label."""
        return {OWNER_NAME_LABEL: self.bundle} if len(self.bundle) <= _LONGEST_LABEL else {}

    def digests(self, settings: PodSettings) -> frozenset[str]:
        """The digests in a pod's annotation that mean this pod, by whichever user it runs."""
        return frozenset(_digest(self._spec(settings, as_root=as_root)) for as_root in (False, True))

    def _spec(self, settings: PodSettings, *, as_root: bool) -> Json:
        hardened = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        common = {"securityContext": hardened, **({"resources": settings.resources} if settings.resources else {})}
        init = {
            "name": INIT_CONTAINER,
            "image": settings.tool_image,
            "imagePullPolicy": "IfNotPresent",
            "command": [_TOOL_OF_IMAGE, "cp", _TOOL_OF_IMAGE, "/util/busybox"],
            "volumeMounts": [{"name": "util", "mountPath": "/util"}],
            **common,
        }
        main = {
            "name": CONTAINER,
            "image": self.ref,
            **({"imagePullPolicy": settings.pull_policy} if settings.pull_policy else {}),
            "command": [TOOL, "sh", "-c", _WAIT],
            "workingDir": "/",
            "volumeMounts": [{"name": "util", "mountPath": f"/{MOUNT}", "readOnly": True}],
            **common,
        }
        pull_secrets = dict.fromkeys([*filter(None, [self.pull_secret]), *settings.pull_secrets])
        user = 0 if as_root else USER
        return {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": _ALIVE_SECONDS,
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": not as_root,
                "runAsUser": user,
                "runAsGroup": user,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "nodeSelector": {
                "kubernetes.io/os": settings.platform.os,
                "kubernetes.io/arch": settings.platform.architecture,
                **settings.node_selector,
            },
            "volumes": [{"name": "util", "emptyDir": {}}],
            "initContainers": [init],
            "containers": [main],
            **({"tolerations": list(settings.tolerations)} if settings.tolerations else {}),
            **({"imagePullSecrets": [{"name": name} for name in pull_secrets]} if pull_secrets else {}),
        }


def _digest(spec: Json) -> str:
    return hashlib.sha256(canonical_json(spec)).hexdigest()
