"""Objects that a former release gave an owner reference: the server may refuse to let it be taken away."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER, Reason
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.target import LastApplied, Target
from rukpak_py.controllers.deployment.ownership_form import OwnershipForm
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.core.logs import JsonFormatter, about
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.kube.errors import ApiError, ForbiddenError, StaleError
from rukpak_py.kube.resources import Resource
from tests.unit.apply.lives import live, owned
from tests.unit.controllers.fakes import refusal
from tests.unit.controllers.values import deployment

CLAIM = GroupVersionKind("", "v1", "PersistentVolumeClaim")
CLAIMS = Resource(gvk=CLAIM, plural="persistentvolumeclaims", namespaced=True)


class Cluster:
    """Inventory, kinds and client: reading a claim that is named here fails."""

    def __init__(self, owner: Owner, **errors: ApiError) -> None:
        self._owner, self._errors = owner, errors
        self.reads: list[str] = []

    def owned_by(self, _uid: str) -> dict[ObjectKey, ObservedObject]:
        seen = [live(**owned(name, by=self._owner), gvk=CLAIM) for name in self._errors]
        return {one.key: one for one in seen}

    def is_listed(self, _: GroupKind) -> bool:
        return True

    def target_of(self, _: BundleDeployment, applied: LastApplied) -> Target:
        client: Any = self
        return Target(owner=self._owner, last_applied=applied, resource_of=lambda _: CLAIMS, client=client)

    async def get_metadata(self, _resource: Resource, _namespace: str, name: str) -> None:
        self.reads.append(name)
        raise self._errors[name]


async def test_refused_conversion_is_logged_once_while_another_object_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    of = deployment(finalizers=(ORDERED_DELETION_FINALIZER,))
    cluster, state = Cluster(Owner.of(of), a=refusal(ForbiddenError), b=refusal(StaleError)), DeploymentState()
    ports: Any = cluster
    form = OwnershipForm(ports, ports)
    with about("BundleDeployment", "of-a-former-release"):
        for _ in range(3):
            await form.convert(of, state)
    assert not state.is_converted
    assert cluster.reads.count("a") == 3
    (record,) = caplog.records
    assert "keeps its owner reference" in record.getMessage()
    assert orjson.loads(JsonFormatter().format(record))["reason"] == Reason.ACCESS_DENIED
