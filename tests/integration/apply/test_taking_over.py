"""Objects that others applied before become ours as a whole: what we drop afterwards really goes."""

import asyncio
from pathlib import Path

import pytest
import yaml

from e2e.cluster.binaries import path as binary
from rukpak_py.api.bundle_deployment import Adopt
from rukpak_py.api.names import OWNER_KIND_LABEL, OWNER_NAME_LABEL, OWNER_UID_ANNOTATION
from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import Trouble
from tests.integration.apply.room import Manifest, Room, config_map, managers, names, only

HELM = "helm"


@pytest.fixture
def kubectl(kubeconfig: Path, room: Room, tmp_path: Path) -> "Kubectl":
    return Kubectl(kubeconfig, room.namespace, tmp_path)


class Kubectl:
    def __init__(self, kubeconfig: Path, namespace: str, directory: Path) -> None:
        self._prefix = [str(binary("kubectl")), "--kubeconfig", str(kubeconfig), "--namespace", namespace]
        self._directory = directory

    async def apply(self, manifest: Manifest, *flags: str) -> None:
        file = self._directory / "manifest.yaml"
        file.write_text(yaml.safe_dump(manifest))
        await self.run("apply", "-f", str(file), *flags)

    async def run(self, *arguments: str) -> None:
        process = await asyncio.create_subprocess_exec(*self._prefix, *arguments, stdout=asyncio.subprocess.DEVNULL)
        assert await process.wait() == 0


async def test_what_belongs_to_nobody_is_refused_unless_it_may_be_adopted(room: Room) -> None:
    await room.somebody_creates(config_map("a", x="1"))
    change = only(await room.plan(config_map("a", x="1")))
    assert change.action is Action.REFUSE
    assert "spec.adopt" in change.reason
    assert only(await room.plan(config_map("a", x="1"), adopt=Adopt.IF_UNOWNED)).action is Action.TAKE


@pytest.mark.parametrize("server_side", [False, True], ids=["client-side", "server-side"])
async def test_from_kubectl(room: Room, kubectl: Kubectl, *, server_side: bool) -> None:
    await kubectl.apply(config_map("a", x="1", dropped="1"), *(("--server-side",) if server_side else ()))
    carried = await room.installed(config_map("a", x="2"), adopt=Adopt.IF_UNOWNED)
    assert names(carried.taken) == ["a"]
    live = await room.read(config_map("a"))
    assert live["data"] == {"x": "2"}
    assert managers(live) == {room.owner.manager}
    assert only(await room.plan(config_map("a", x="2"))).action is Action.LEAVE


async def test_from_helm(room: Room) -> None:
    theirs = config_map("a", x="1", dropped="1", kept="1")
    theirs["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
    await room.somebody_creates(theirs, manager=HELM)
    await room.installed(config_map("a", x="1", kept="1"), adopt=Adopt.IF_UNOWNED)
    live = await room.read(config_map("a"))
    assert live["data"] == {"x": "1", "kept": "1"}
    assert "app.kubernetes.io/managed-by" not in live["metadata"]["labels"]
    await room.installed(config_map("a", x="1"))
    assert (await room.read(config_map("a")))["data"] == {"x": "1"}


async def test_fields_of_another_controller_stay_its_own(room: Room) -> None:
    await room.somebody_creates(config_map("a", x="1"), manager=HELM)
    await room.somebody_patches(config_map("a"), {"data": {"injected": "1"}}, manager="injector")
    await room.installed(config_map("a", x="1"), adopt=Adopt.IF_UNOWNED)
    live = await room.read(config_map("a"))
    assert live["data"] == {"x": "1", "injected": "1"}
    assert managers(live) == {room.owner.manager, "injector"}


async def test_status_entries_stay_with_those_who_write_them(room: Room, kubectl: Kubectl) -> None:
    spec = {"ports": [{"port": 80}], "selector": {"app": "x"}}
    mine: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    await kubectl.apply(mine)
    await kubectl.run("patch", "service", "s", "--subresource=status", "--type=merge", "-p", CONDITION)
    await room.installed(mine, adopt=Adopt.IF_UNOWNED)
    entries = (await room.read(mine))["metadata"]["managedFields"]
    assert sorted((one["manager"].partition("/")[0], one.get("subresource", "")) for one in entries) == [
        ("kubectl-patch", "status"),
        ("rukpak", ""),
    ]


CONDITION = (
    '{"status":{"conditions":[{"type":"T","status":"True","reason":"R","message":"",'
    '"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
)


async def test_labels_without_a_controller_are_enough(room: Room) -> None:
    """Bootstrapped, orphaned or restored: our labels, and nobody's object otherwise."""
    theirs = config_map("a", x="1", dropped="1")
    theirs["metadata"]["labels"] = {OWNER_KIND_LABEL: "BundleDeployment", OWNER_NAME_LABEL: room.owner.name}
    await room.somebody_creates(theirs, manager="kubectl-create")
    carried = await room.installed(config_map("a", x="1"))
    assert names(carried.taken) == ["a"]
    live = await room.read(config_map("a"))
    assert live["data"] == {"x": "1"}
    assert live["metadata"]["ownerReferences"][0]["uid"] == room.owner.uid


@pytest.mark.parametrize("former", [HELM, "somebody"])
async def test_what_changed_since_it_was_judged_is_not_taken(room: Room, former: str) -> None:
    """With former managers the rewrite meets the other version, without them the apply does."""
    await room.somebody_creates(config_map("a", x="1"), manager=former)
    plan = await room.plan(config_map("a", x="2"), adopt=Adopt.IF_UNOWNED)
    await room.somebody_patches(config_map("a"), {"data": {"y": "1"}})
    before = await room.read(config_map("a"))
    carried = await room.engine.apply(room.target, plan)
    assert [failure.trouble for failure in carried.failures] == [Trouble.CONFLICT]
    assert await room.read(config_map("a")) == before


@pytest.mark.parametrize("former", [HELM, "somebody"])
async def test_what_was_replaced_since_it_was_judged_is_not_taken(room: Room, former: str) -> None:
    await room.somebody_creates(config_map("a", x="1"), manager=former)
    plan = await room.plan(config_map("a", x="2"), adopt=Adopt.IF_UNOWNED)
    before = await room.replaced(config_map("a"), config_map("a", x="theirs"))
    carried = await room.engine.apply(room.target, plan)
    assert [failure.trouble for failure in carried.failures] == [Trouble.CONFLICT]
    assert await room.read(config_map("a")) == before


async def test_a_namespace_that_was_there_before_us_outlives_us(room: Room) -> None:
    await room.installed(room_namespace(room), adopt=Adopt.IF_UNOWNED)
    live = await room.read(room_namespace(room))
    assert "ownerReferences" not in live["metadata"]
    (seen,) = room.inventory.owned_by(room.owner.uid).values()
    assert seen.outlives
    assert only(await room.plan(room_namespace(room))).action is Action.LEAVE
    assert live["metadata"]["annotations"][OWNER_UID_ANNOTATION] == room.owner.uid


def room_namespace(room: Room) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": room.namespace}}
