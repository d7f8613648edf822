"""Whether an attempt makes its install namespace."""

import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.controllers.deployment.attempts import Attempts
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import NAMESPACES
from tests.unit.apply.watches import watches_of
from tests.unit.controllers.deployment.parts import kinds
from tests.unit.controllers.values import deployment, unpacked

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


@pytest.mark.parametrize(
    ("recorded", "is_listed", "makes_it"),
    [
        ((NAMESPACES.gvk,), False, True),  # the watch will show it in a moment; until then the status says it
        ((NAMESPACES.gvk,), True, False),  # somebody else's
        ((CONFIG_MAP,), False, False),
    ],
)
async def test_after_a_restart_the_status_says_whose_namespace_it_is(
    monkeypatch: pytest.MonkeyPatch, recorded: tuple[GroupVersionKind, ...], *, is_listed: bool, makes_it: bool
) -> None:
    watches = watches_of(monkeypatch, NAMESPACES)
    watches.informer(NAMESPACES).synced.clear()
    if is_listed:
        watches.listed(NAMESPACES)
    attempts = Attempts(watches.inventory, lambda _name: True, system_namespace="system")
    one = deployment(
        install_namespace="shop", create_namespace=True, status=BundleDeploymentStatus(kinds=kinds(*recorded))
    )
    assert attempts.wanted(one, unpacked(), DeploymentState()).makes_namespace is makes_it
    await watches.inventory.close()
