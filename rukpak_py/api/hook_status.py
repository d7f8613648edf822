"""Hooks of charts in the status of a BundleDeployment: how they ended, and the one that is waited for."""

from enum import StrEnum
from typing import Annotated

from rukpak_py.api.schema import ApiType, doc
from rukpak_py.core.objects import GroupVersionKind, ObjectKey


class HookResult(StrEnum):
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class HookInStatus(ApiType, frozen=True, kw_only=True):
    """One run of a hook: what it is of, and its object."""

    revision: Annotated[str, doc("SHA-256 of what the rendering of the chart depends on: content, namespace, config.")]
    run: Annotated[str, doc("The run that it is part of; `core.rukpak.io/hook-run` on the object says the same.")]
    event: Annotated[str, doc("`pre-install`, `post-upgrade` and the like.")]
    group: Annotated[str, doc("API group of the object; empty for the core group.")] = ""
    version: Annotated[str, doc("API version of the object.")]
    kind: Annotated[str, doc("Kind of the object.")]
    namespace: Annotated[str, doc("Namespace of the object; empty for a cluster-scoped object.")] = ""
    name: Annotated[str, doc("Name of the object.")]
    uid: Annotated[str, doc("UID of the object; empty until it is known to be there.")] = ""
    reconcile_at: Annotated[
        str,
        doc(
            "The annotation `core.rukpak.io/reconcile-at` when the hook was begun; another value runs a hook that"
            " failed again."
        ),
    ] = ""
    rendering_digest: Annotated[
        str,
        doc(
            "Digest of the rendering that the hook is of, as in `history`; empty for hooks of a deletion. Hooks of"
            " another rendering are run again."
        ),
    ] = ""
    delete_policies: Annotated[
        tuple[str, ...], doc("Its `helm.sh/hook-delete-policy`: what becomes of it when the installation is given up.")
    ] = ()

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.group, self.kind, self.namespace, self.name)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)


class HookRecord(HookInStatus, frozen=True, kw_only=True):
    """How one hook ended."""

    result: Annotated[str, doc("`Succeeded` or `Failed`.")]
    message: Annotated[str, doc("Why it failed.")] = ""
    started_at: Annotated[str, doc("When the object was created.", format="date-time")]
    finished_at: Annotated[str, doc("When the operator saw how it ended.", format="date-time")]


class RunningHook(HookInStatus, frozen=True, kw_only=True):
    """A Job or a Pod that is waited for."""

    result: Annotated[
        str, doc("`Succeeded` or `Failed` of a hook that was given up, until it is deleted as its policy says.")
    ] = ""
