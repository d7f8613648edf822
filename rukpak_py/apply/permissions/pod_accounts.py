"""Service accounts of workloads: a pod may do whatever its account may.

An account that the content brings has the permissions that its roles grant. What an account of the cluster may do is
not known from the content: the workload borrows it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rukpak_py.apply.permissions.permission import mapping, text
from rukpak_py.core.objects import GroupKind

Json = dict[str, Any]

DEFAULT = "default"  # the account of pods that name none, which every namespace has
POD_SPECS = (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))
_KINDS = frozenset(
    {
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Job",
        "Pod",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
    }
)
_GROUPS = frozenset({"", "apps", "batch"})


class Workload(NamedTuple):
    kind: str
    namespace: str
    name: str


def accounts_of(objects: Iterable[Json]) -> dict[Workload, str]:
    """Names of the accounts with which the pods of workloads run."""
    return dict(_accounts(objects))


def borrowed_accounts(objects: Iterable[Json]) -> dict[Workload, str]:
    """Those of them that the content does not bring."""
    objects = list(objects)
    brought = set(_brought(objects))
    return {
        workload: account
        for workload, account in _accounts(objects)
        if not {(workload.namespace, account), ("", account)} & brought
    }


def newly_borrowed(old: Iterable[Json], new: Iterable[Json]) -> dict[Workload, str]:
    """Accounts that workloads of the new content borrow and those of the old one did not.

    The account `default` counts where a workload changes to it: what is new has it as every pod has.
    """
    before = accounts_of(old)
    return {
        workload: account
        for workload, account in borrowed_accounts(new).items()
        if before.get(workload, DEFAULT) != account
    }


def runs_pods(manifest: Mapping[str, Any]) -> bool:
    group = text(manifest.get("apiVersion")).rpartition("/")[0]
    return is_of_pods(GroupKind(group, text(manifest.get("kind"))))


def is_of_pods(kind: GroupKind) -> bool:
    return kind.group in _GROUPS and kind.kind in _KINDS


def _accounts(objects: Iterable[Json]) -> Iterator[tuple[Workload, str]]:
    for manifest in filter(runs_pods, objects):
        metadata = mapping(manifest.get("metadata"))
        workload = Workload(manifest["kind"], text(metadata.get("namespace")), text(metadata.get("name")))
        yield workload, _account_of(manifest)


def _account_of(manifest: Json) -> str:
    for path in POD_SPECS:
        spec: Mapping[str, Any] = manifest
        for step in path:
            spec = mapping(spec.get(step))
        account = text(spec.get("serviceAccountName")) or text(spec.get("serviceAccount"))
        if account:
            return account
    return DEFAULT


def _brought(objects: Iterable[Json]) -> Iterator[tuple[str, str]]:
    for manifest in objects:
        if (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", "ServiceAccount"):
            metadata = mapping(manifest.get("metadata"))
            yield text(metadata.get("namespace")), text(metadata.get("name"))
