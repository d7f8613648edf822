"""The audit log of a worker's control plane: whose rights each request had, and its answer."""

import uuid

import pytest

from e2e.cluster.audit import audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.resources import CONFIG_MAPS


async def test_impersonated_request_stands_with_its_account_and_its_answer(
    plane: ControlPlane, admin: Client, namespace_there: str
) -> None:
    account = f"system:serviceaccount:{namespace_there}:{uuid.uuid4().hex[:8]}"
    before = len(audited(plane.state))
    with pytest.raises(ForbiddenError):
        await admin.acting_as(account).delete(CONFIG_MAPS, namespace_there, "kube-root-ca.crt")
    (found,) = [one for one in audited(plane.state, skip=before) if one.account]
    assert (found.account, found.user) == (account, "admin")
    assert (found.verb, found.resource, found.namespace, found.name) == (
        "delete",
        "configmaps",
        namespace_there,
        "kube-root-ca.crt",
    )
    assert found.is_write
    assert found.is_forbidden
