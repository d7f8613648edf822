"""`rukpakctl release`: leaves a BundleDeployment that is being deleted to the garbage collector.

The operator deletes in an order, with the rights of the deployment's account. Where the account is gone, or has lost
its rights, the deletion waits. Without the finalizer of that order, the collector takes what has an owner reference,
with rights of its own and in no order. What holds things of others (Namespaces, CRDs, claims, volumes) has an
annotation instead: it stays, and only its users know whether it may go. All requests have the rights of the caller.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import orjson

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    ORDERED_DELETION_FINALIZER,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
)
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.apply.deletions import ORPHAN
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.cli.cluster.deployments import FIELD_MANAGER, TRIES
from rukpak_py.core.errors import ConflictError, RukPakError
from rukpak_py.core.objects import GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.core.text import named
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError, InvalidError, NotFoundError, StaleError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, Resource


class ReleaseError(RukPakError):
    pass


@dataclass(frozen=True, kw_only=True)
class Left:
    """An object that the collector does not take."""

    key: ObjectKey
    resource: Resource

    @property
    def command(self) -> str:
        """How to delete it."""
        gvk, namespace = self.resource.gvk, f" --namespace {self.key.namespace}" if self.key.namespace else ""
        plural = f"{self.resource.plural}.{gvk.group}" if gvk.group else self.resource.plural
        return f"kubectl delete {plural} {self.key.name}{namespace}"


@dataclass(frozen=True, kw_only=True)
class Released:
    """A deployment that can be released, and what becomes of its objects, as far as the caller may see them."""

    deployment: BundleDeployment
    taken: Sequence[ObjectKey] = ()
    left: Sequence[Left] = ()
    unseen: Sequence[str] = field(default_factory=tuple)  # kinds


async def find(client: Client, name: str, *, deletes: bool) -> Released:
    """`deletes`: it need not be deleted yet. ReleaseError: it cannot be released."""
    deployment = await _read(client, name)
    _demand_releasable(deployment, deletes=deletes)
    discovery = Discovery(client)
    await discovery.refresh()
    taken, left, unseen = list[ObjectKey](), list[Left](), list[str]()
    for kind in deployment.status.kinds:
        gvk = GroupVersionKind(kind.group, kind.version, kind.kind)
        resource = discovery.find(gvk) or discovery.preferred(gvk.group, gvk.kind)
        if resource is None:  # its objects may be there: the server shows not each kind at each moment
            unseen.append(str(gvk.group_kind))
            continue
        found, is_all = await _listed(client, resource, deployment)
        if not is_all:
            unseen.append(str(gvk.group_kind))
        for live in found:
            observed = observed_object(live.key, resource.gvk, live.metadata)
            if observed.owner_uid != deployment.metadata.uid:
                continue
            if observed.is_annotated:
                left.append(Left(key=live.key, resource=resource))
            else:
                taken.append(live.key)
    return Released(
        deployment=deployment,
        taken=sorted(taken),
        left=sorted(left, key=lambda one: one.key),
        unseen=sorted(unseen),
    )


async def release(client: Client, deployment: BundleDeployment) -> None:
    """Delete it, if it is not being deleted yet, and take the finalizer of ordered deletion off."""
    metadata = deployment.metadata
    if not metadata.is_deleted:
        await client.delete(BUNDLE_DEPLOYMENTS, "", metadata.name, uid=metadata.uid, propagation="Background")
    for _ in range(TRIES):
        try:
            live = await _read(client, metadata.name)
        except ReleaseError:
            return  # gone
        if live.metadata.uid != metadata.uid or ORDERED_DELETION_FINALIZER not in live.metadata.finalizers:
            return
        index = live.metadata.finalizers.index(ORDERED_DELETION_FINALIZER)
        path = f"/metadata/finalizers/{index}"
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
            {"op": "test", "path": path, "value": ORDERED_DELETION_FINALIZER},
            {"op": "remove", "path": path},
        ]
        try:
            await client.patch(
                BUNDLE_DEPLOYMENTS,
                "",
                metadata.name,
                canonical_json(patch),
                content_type=JSON_PATCH,
                field_manager=FIELD_MANAGER,
            )
        except NotFoundError:
            return
        except (StaleError, InvalidError, ConflictError):
            continue  # another client changed its finalizers
        return
    raise ReleaseError(f"the finalizers of BundleDeployment {metadata.name} keep changing; run the command again")


async def _read(client: Client, name: str) -> BundleDeployment:
    try:
        body = await client.get(BUNDLE_DEPLOYMENTS, "", name)
    except NotFoundError as error:
        raise ReleaseError(error.message) from error
    return read_bundle_deployment(orjson.loads(body))


def _demand_releasable(deployment: BundleDeployment, *, deletes: bool) -> None:
    metadata = deployment.metadata
    name, others = metadata.name, [one for one in metadata.finalizers if one != ORDERED_DELETION_FINALIZER]
    if not metadata.is_deleted and not deletes:
        raise ReleaseError(
            f"BundleDeployment {name} is not being deleted. Delete it first (kubectl delete bundledeployment {name} "
            "--wait=false), or use --delete"
        )
    if ORPHAN in metadata.finalizers:
        raise ReleaseError(
            f"BundleDeployment {name} is being deleted with --cascade=orphan: its objects stay in the cluster, and "
            "nothing has to be released"
        )
    if metadata.is_deleted and ORDERED_DELETION_FINALIZER not in metadata.finalizers:
        raise ReleaseError(
            f"BundleDeployment {name} does not wait for an ordered deletion, but for the finalizers {named(others)}: "
            "the controllers that set them have to remove them"
        )


async def _listed(
    client: Client, resource: Resource, deployment: BundleDeployment
) -> tuple[Sequence[LiveObject], bool]:
    """Objects in all namespaces, or, where the caller may not list there, in that of the deployment.

    The second is false where there may be others: a release must not wait for a kind that the server cannot list.
    """
    selector = f"{OWNER_KIND_LABEL}={BUNDLE_DEPLOYMENT_KIND},{OWNER_NAME_LABEL}={deployment.metadata.name}"
    with suppress(ApiError):
        return (await client.list_metadata(resource, label_selector=selector)).items, True
    namespace = deployment.spec.install_namespace
    if resource.namespaced and namespace:
        with suppress(ApiError):
            return (await client.list_metadata(resource, namespace, label_selector=selector)).items, False
    return (), False
