"""The account of a deployment is what its live spec names, whatever is written elsewhere."""

from typing import Any

import pytest

from rukpak_py.api.accounts import Mode
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.core.errors import AccessError
from rukpak_py.kube.errors import ForbiddenError
from tests.unit.controllers.fakes import FakeClient, ImpersonatingClient, refusal
from tests.unit.controllers.values import deployment

NOW = "2026-01-01T00:00:00Z"
OWN, SHOP, SYSTEM = "", "system:serviceaccount:shop:installer", "system:serviceaccount:rukpak-system:installer"


@pytest.mark.parametrize(
    ("spec", "default", "user"),
    [
        ({}, "", OWN),
        ({"install_namespace": "shop"}, "", OWN),
        ({"install_namespace": "shop", "service_account_name": "installer"}, "", SHOP),
        ({"install_namespace": "shop", "service_account_name": "installer"}, "other", SHOP),
        ({"install_namespace": "shop"}, "installer", SHOP),
        ({}, "installer", SYSTEM),
    ],
)
def test_account_is_that_of_the_spec_else_the_default_one(spec: dict[str, Any], default: str, user: str) -> None:
    client: Any = ImpersonatingClient()
    identities = Identities(client, system_namespace="rukpak-system", default_account=default)
    one = deployment(**spec)
    found: Any = identities.client_of(one)
    assert found.user == user
    assert (found is client) is (user == OWN)
    assert identities.are_own(one) is (user == OWN)
    assert identities.owner_of(one).reference["blockOwnerDeletion"] is (user == OWN)


def test_account_in_status_or_history_or_annotations_counts_for_nothing() -> None:
    status = BundleDeploymentStatus(
        install_namespace="kube-system",
        history=(Installation(bundle="b", digest="d", time=NOW, account="kube-system/admin"),),
    )
    client: Any = ImpersonatingClient()
    identities = Identities(client, system_namespace="rukpak-system")
    forged = deployment(status=status, annotations={"core.rukpak.io/service-account": "kube-system/admin"})
    assert identities.account_of(forged) is None


@pytest.mark.parametrize(
    ("spec", "default", "is_refused"),
    [
        ({}, "", True),
        ({"install_namespace": "shop"}, "", True),
        ({"install_namespace": "shop", "service_account_name": "installer"}, "", False),
        ({}, "installer", False),
    ],
)
def test_narrow_mode_refuses_deployments_without_an_effective_account(
    spec: dict[str, Any],
    default: str,
    is_refused: bool,  # noqa: FBT001 - a column of the table
) -> None:
    client: Any = ImpersonatingClient()
    narrow = Identities(client, system_namespace="rukpak-system", default_account=default, mode=Mode.NARROW)
    one = deployment(**spec)
    assert narrow.refuses(one) is is_refused
    assert not Identities(client, system_namespace="rukpak-system", default_account=default).refuses(one)
    if is_refused:
        with pytest.raises(AccessError, match="no service account"):
            narrow.client_of(one)
    else:
        assert narrow.client_of(one) is not client


INSTALLER: dict[str, Any] = {"install_namespace": "shop", "service_account_name": "installer"}


@pytest.mark.parametrize(
    ("stored", "denied", "missing"),
    [
        (("ServiceAccount", "Namespace"), False, False),
        (("Namespace",), False, True),
        ((), True, True),  # the operator's right to look has gone with the namespace
    ],
)
async def test_account_is_missing_when_it_or_its_namespace_does_not_exist(
    stored: tuple[str, ...], *, denied: bool, missing: bool
) -> None:
    client = FakeClient()
    for kind in stored:
        client.put(kind, {"metadata": {"name": "installer" if kind == "ServiceAccount" else "shop"}})
    if denied:
        client.refused_kinds["ServiceAccount"] = refusal(ForbiddenError)
    identities = Identities(client.as_client(), system_namespace="rukpak-system")
    account = await identities.missing_account(deployment(**INSTALLER))
    assert (account is not None) is missing


async def test_an_account_that_the_operator_may_not_read_is_not_taken_for_missing() -> None:
    client = FakeClient()
    client.put("Namespace", {"metadata": {"name": "shop"}})
    client.refused_kinds["ServiceAccount"] = refusal(ForbiddenError)
    identities = Identities(client.as_client(), system_namespace="rukpak-system")
    with pytest.raises(ForbiddenError):
        await identities.missing_account(deployment(**INSTALLER))


async def test_without_an_account_none_is_asked_for() -> None:
    client = FakeClient()
    assert await Identities(client.as_client(), system_namespace="x").missing_account(deployment()) is None
    assert client.calls == []
