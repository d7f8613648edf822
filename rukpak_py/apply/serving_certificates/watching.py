"""The Secrets that the signer made, of all deployments, by one label-selected watch of their metadata.

`on_change(uid of the deployment)` is called for what somebody else did to one of them, not for our own writes: the
answers to those are taken in first (`observe`). No data of a Secret is ever in memory here.
"""

from collections.abc import Callable

import msgspec

from rukpak_py.api.names import SERVING_CERTIFICATE_LABEL
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import SECRETS
from rukpak_py.kube.seen_versions import OnRestore


class ServingSecrets:
    def __init__(
        self, client: Client, *, on_change: Callable[[str], None], on_restore: OnRestore | None = None
    ) -> None:
        """The client of the operator: it sees the Secrets of every deployment. Start and stop `informer`."""
        self.informer = Informer(
            client,
            SECRETS,
            label_selector=SERVING_CERTIFICATE_LABEL,
            keep=False,
            on_change=self._changed,
            on_restore=on_restore,
        )
        self._on_change = on_change
        self._seen: dict[ObjectKey, Metadata] = {}

    @property
    def is_synced(self) -> bool:
        return self.informer.synced.is_set()

    def get(self, key: ObjectKey) -> Metadata | None:
        return self._seen.get(key)

    def of(self, uid: str) -> list[tuple[ObjectKey, Metadata]]:
        """Those that this deployment controls."""
        return [(key, metadata) for key, metadata in self._seen.items() if _owner(metadata) == uid]

    def observe(self, key: ObjectKey, metadata: Metadata) -> None:
        """The answer to a write or a read of our own."""
        known = self._seen.get(key)
        if known is None or known.uid != metadata.uid or known.version < metadata.version:
            self._seen[key] = _without_fields(metadata)

    def gone(self, key: ObjectKey, uid: str) -> None:
        """The server said that this one is not there any more."""
        known = self._seen.get(key)
        if known is not None and known.uid == uid:
            del self._seen[key]

    def _changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        known = self._seen.get(key)
        if new is None:
            if known is not None and (old is None or known.uid == old.metadata.uid):
                del self._seen[key]
                self._on_change(_owner(known))
            return
        went_back = old is not None and new.metadata.version < old.metadata.version  # etcd was restored
        is_known = known is not None and known.uid == new.metadata.uid and known.version >= new.metadata.version
        if is_known and not went_back:
            return
        self._seen[key] = _without_fields(new.metadata)
        for uid in {_owner(metadata) for metadata in (known, new.metadata) if metadata is not None} - {""}:
            self._on_change(uid)


def _without_fields(metadata: Metadata) -> Metadata:
    """Raw parts keep the bytes alive that they came in: of a whole Secret, its private key."""
    return msgspec.structs.replace(metadata, sent_managed_fields=None)


def _owner(metadata: Metadata) -> str:
    return metadata.controller.uid if metadata.controller is not None else ""
