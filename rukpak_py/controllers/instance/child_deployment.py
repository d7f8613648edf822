"""The BundleDeployment of a BundleInstance: created, owned, and kept as the instance says.

* It has the instance as its controller, by uid. One that another client made under the name is never taken over.
* Of its spec every difference is reverted, of its metadata only our labels and the annotation that forces a reconcile.
* Nothing that was written here goes into the cache: what the API server made of it comes as an event, and the event
  brings the instance back. So a webhook that rewrites what we send is seen, and corrected no faster than other drift.
"""

from collections.abc import Callable
from enum import Enum, auto
from time import monotonic
from typing import Any

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.names import (
    API_VERSION,
    APPROVED_ANNOTATION,
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_INSTANCE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    RECONCILE_AT_ANNOTATION,
    REFRESH_AT_ANNOTATION,
)
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.existence import Existence
from rukpak_py.core.errors import ConflictError, ContestedError, UnavailableError
from rukpak_py.core.objects import canonical_json
from rukpak_py.core.repair_backoff import RepairBackoff
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import AlreadyExistsError, KindNotServedError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, not_served

Patch = list[dict[str, Any]]

_REQUESTS = (RECONCILE_AT_ANNOTATION, REFRESH_AT_ANNOTATION, APPROVED_ANNOTATION)


class ChildSituation(Enum):
    OURS = auto()  # our owner reference
    LEAVING = auto()  # of a former BundleInstance of the name: it was deleted, or is about to be collected
    LEFT_BEHIND = auto()  # of a former one, without an owner (`--cascade=orphan`, or a backup), with the spec of ours
    LEFT_AND_CHANGED = auto()  # the same with another spec: a user may rely on it
    OTHER = auto()


def situation(deployment: BundleDeployment, instance: BundleInstance) -> ChildSituation:
    metadata, controller = deployment.metadata, deployment.metadata.controller
    if controller is not None:
        if controller.uid == instance.metadata.uid:
            return ChildSituation.OURS
        is_former = (controller.kind, controller.name) == (BUNDLE_INSTANCE_KIND, instance.metadata.name)
        return ChildSituation.LEAVING if is_former else ChildSituation.OTHER
    if metadata.owner_references or not (owner_labels(instance).items() <= metadata.labels.items()):
        return ChildSituation.OTHER
    if metadata.is_deleted:
        return ChildSituation.LEAVING
    return ChildSituation.LEFT_BEHIND if deployment.spec == instance.spec else ChildSituation.LEFT_AND_CHANGED


def owner_labels(instance: BundleInstance) -> dict[str, str]:
    return {OWNER_KIND_LABEL: BUNDLE_INSTANCE_KIND, OWNER_NAME_LABEL: instance.metadata.name}


def is_ours(deployment: BundleDeployment | None, instance: BundleInstance) -> bool:
    return deployment is not None and situation(deployment, instance) is ChildSituation.OURS


class ChildDeployment:
    def __init__(
        self,
        client: Client,
        deployments: Cache[BundleDeployment],
        existence: Existence[BundleInstance],
        *,
        on_reverted: Callable[[BundleInstance], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`on_reverted`: another client had changed the spec of the BundleDeployment."""
        self._client = client
        self._deployments = deployments
        self._existence = existence
        self._on_reverted = on_reverted
        self._clock = clock
        self._drift = RepairBackoff()
        self._refused: dict[str, int] = {}  # by uid, the generation of the instance that could not be mirrored

    def forget(self, uid: str) -> None:
        """The instance is gone, or it is mirrored."""
        self._refused.pop(uid, None)

    async def deployment_of(self, instance: BundleInstance) -> BundleDeployment | None:
        """The deployment as the instance wants it. None: it was written and its event follows, or the instance is gone.

        ConflictError, UnavailableError: the name is taken. StaleError: it was changed meanwhile.
        """
        found = self._deployments.get(instance.metadata.name)
        if found is None:
            # One that was there and is not may have been collected: the instance may be gone, unseen by us.
            if not await self._existence.still_exists(instance, is_doubtful=bool(instance.status.conditions)):
                return None
            found = await self._create(instance)
        if found is None:
            return None
        name = found.metadata.name
        match situation(found, instance):
            case ChildSituation.OURS:
                return await self._as_wanted(found, instance)
            case ChildSituation.LEFT_BEHIND:
                await self._take(found, instance)
                return None
            case ChildSituation.LEAVING:
                raise UnavailableError(
                    f"BundleDeployment {name} of a former BundleInstance of this name is being deleted; "
                    "waiting until it is gone"
                )
            case ChildSituation.LEFT_AND_CHANGED:
                raise ConflictError(
                    f"BundleDeployment {name} was left by a former BundleInstance of this name and has another spec; "
                    "make both specs equal to take it over, or delete it"
                )
            case ChildSituation.OTHER:
                raise ConflictError(
                    f"BundleDeployment {name} exists and does not belong to this BundleInstance; "
                    "delete one of the two, or create the BundleInstance under another name"
                )

    async def _create(self, instance: BundleInstance) -> BundleDeployment | None:
        """None: it was created. One that is there is of a class that is not watched, or its event is on the way."""
        body = canonical_json(
            {
                "apiVersion": API_VERSION,
                "kind": BUNDLE_DEPLOYMENT_KIND,
                "metadata": {
                    "name": instance.metadata.name,
                    "labels": owner_labels(instance),
                    "annotations": _annotations(instance),
                    "ownerReferences": [_reference(instance)],
                },
                "spec": to_json(instance.spec),
            }
        )
        try:
            await self._client.create(BUNDLE_DEPLOYMENTS, "", body)
        except AlreadyExistsError:
            return read_bundle_deployment(await self._client.get(BUNDLE_DEPLOYMENTS, "", instance.metadata.name))
        except KindNotServedError as error:
            raise UnavailableError(not_served(BUNDLE_DEPLOYMENTS)) from error
        return None

    async def _as_wanted(self, found: BundleDeployment, instance: BundleInstance) -> BundleDeployment | None:
        changes = _changes(found, instance)
        if not changes:
            self.forget(instance.metadata.uid)
        if not changes or found.metadata.is_deleted:
            return found
        has_other_spec = found.spec != instance.spec
        is_drift = has_other_spec and self._is_drift(instance)
        key, now = BUNDLE_DEPLOYMENTS.key("", instance.metadata.name), self._clock()
        if is_drift and self._drift.resting({key}, now):
            raise ContestedError(
                f"another client keeps changing the spec of BundleDeployment {key.name}; reverting at most once a "
                "minute. Change the BundleInstance instead"
            )
        if has_other_spec and not is_drift:
            self._refused[instance.metadata.uid] = instance.metadata.generation  # until it is otherwise
        if not await self._patch(found, changes):  # no event will tell of it
            if not has_other_spec:
                return found
            raise ConflictError(
                f"the spec of BundleDeployment {key.name} cannot be set to that of the BundleInstance: a webhook "
                "reverts it, or the CRD of BundleDeployments is older and does not have all of its fields"
            )
        self.forget(instance.metadata.uid)
        if is_drift:
            self._drift.repaired({key}, now)
            self._on_reverted(instance)
        return None

    def _is_drift(self, instance: BundleInstance) -> bool:
        """The status speaks of this spec, and not to say that it was refused: so it was mirrored before."""
        metadata = instance.metadata
        was_refused = self._refused.get(metadata.uid) == metadata.generation
        return instance.status.observed_generation == metadata.generation and not was_refused

    async def _take(self, found: BundleDeployment, instance: BundleInstance) -> None:
        """Take the deployment, with a uid that is checked now: with one that is gone it would be collected."""
        if await self._existence.still_exists(instance, is_doubtful=True):
            owner = {"op": "add", "path": "/metadata/ownerReferences", "value": [_reference(instance)]}
            await self._patch(found, [owner, *_changes(found, instance)])

    async def _patch(self, found: BundleDeployment, changes: Patch) -> bool:
        """Patch exactly what was read: anything newer answers 409. False: the API server has it as it was before."""
        metadata = found.metadata
        preconditions: Patch = [
            {"op": "add", "path": "/metadata/uid", "value": metadata.uid},
            {"op": "add", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
        ]
        body = canonical_json([*preconditions, *changes])
        live = await self._client.patch(BUNDLE_DEPLOYMENTS, "", metadata.name, body, content_type=JSON_PATCH)
        return live.metadata.resource_version != metadata.resource_version


def _changes(found: BundleDeployment, instance: BundleInstance) -> Patch:
    labels = {**found.metadata.labels, **owner_labels(instance)}
    annotations = {**found.metadata.annotations, **_annotations(instance)}
    wanted = (
        ("/spec", to_json(instance.spec), found.spec == instance.spec),
        ("/metadata/labels", labels, labels == found.metadata.labels),
        ("/metadata/annotations", annotations, annotations == found.metadata.annotations),
    )
    return [{"op": "add", "path": path, "value": value} for path, value, is_equal in wanted if not is_equal]


def _annotations(instance: BundleInstance) -> dict[str, str]:
    """Requests alone: another annotation or label may be the mark of a tool that owns the instance, not its mirror."""
    found = instance.metadata.annotations
    return {name: asked for name in _REQUESTS if (asked := found.get(name))}


def _reference(instance: BundleInstance) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": BUNDLE_INSTANCE_KIND,
        "name": instance.metadata.name,
        "uid": instance.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
