"""Objects that others made before become ours: the fields of the content alone, so that what we drop afterwards goes.

What others set and the content does not have survives. What another tool manages is left to it.
"""

from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from e2e.cluster.binaries import path as binary
from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import FailureKind
from tests.integration.apply.room import Manifest, Room, labelled, managers, names, only, run
from tests.manifests import config_map

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
        await run(*self._prefix, *arguments)


@pytest.mark.parametrize("server_side", [False, True], ids=["client-side", "server-side"])
async def test_object_of_kubectl_is_taken_with_the_fields_of_the_content(
    room: Room, kubectl: Kubectl, *, server_side: bool
) -> None:
    await kubectl.apply(config_map("a", x="1", later="1", theirs="1"), *(("--server-side",) if server_side else ()))
    change_set = await room.installed(config_map("a", x="2", later="1"), adopt=Adopt.IF_UNOWNED)
    assert names(change_set.taken) == ["a"]
    assert (await room.read(config_map("a")))["data"] == {"x": "2", "later": "1", "theirs": "1"}
    assert only(await room.plan(config_map("a", x="2", later="1"))).action is Action.LEAVE
    await room.installed(config_map("a", x="2"))
    assert (await room.read(config_map("a")))["data"] == {"x": "2", "theirs": "1"}


async def test_manager_of_nothing_but_fields_of_the_content_is_removed(room: Room) -> None:
    await room.another_client_creates(config_map("a", x="1"), manager="kubectl-create")
    await room.installed(config_map("a", x="1"), adopt=Adopt.IF_UNOWNED)
    assert managers(await room.read(config_map("a"))) == {room.owner.manager}


async def test_key_that_a_user_patched_into_a_secret_survives(room: Room, kubectl: Kubectl) -> None:
    mine: Manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"user": b64encode(b"admin").decode()},
    }
    await kubectl.apply(mine)
    await kubectl.run("patch", "secret", "s", "--type=merge", "-p", '{"stringData":{"token":"theirs"}}')
    await room.installed(mine, adopt=Adopt.IF_UNOWNED)
    assert (await room.read(mine))["data"] == mine["data"] | {"token": b64encode(b"theirs").decode()}


async def test_variable_and_label_that_a_user_set_survive(room: Room, kubectl: Kubectl) -> None:
    mine = cron_job(A="1", B="1")
    await kubectl.apply(mine)
    await kubectl.run("set", "env", "cronjob/web", "THEIRS=1")
    await kubectl.run("label", "cronjob/web", "team=theirs")
    await room.installed(mine, adopt=Adopt.IF_UNOWNED)
    live = await room.read(mine)
    assert (variables(live), live["metadata"]["labels"]["team"]) == (["A", "B", "THEIRS"], "theirs")
    await room.installed(cron_job(A="1"))
    live = await room.read(mine)
    assert (variables(live), live["metadata"]["labels"]["team"]) == (["A", "THEIRS"], "theirs")


async def test_fields_of_an_object_without_managers_become_ours_too(room: Room) -> None:
    """The server counts such an object as made by `before-first-apply`."""
    await room.another_client_creates(config_map("a", x="1", later="1", theirs="1"))
    await room.another_client_patches(config_map("a"), {"metadata": {"managedFields": [{}]}})
    await room.installed(config_map("a", x="1", later="1"), adopt=Adopt.IF_UNOWNED)
    await room.installed(config_map("a", x="1"))
    assert (await room.read(config_map("a")))["data"] == {"x": "1", "theirs": "1"}


async def test_fields_of_another_controller_stay_its_own(room: Room) -> None:
    await room.another_client_creates(config_map("a", x="1"), manager=HELM)
    await room.another_client_patches(config_map("a"), {"data": {"injected": "1"}}, manager="injector")
    await room.installed(config_map("a", x="1"), adopt=Adopt.IF_UNOWNED)
    live = await room.read(config_map("a"))
    assert live["data"] == {"x": "1", "injected": "1"}
    assert managers(live) == {room.owner.manager, "injector"}


@pytest.mark.parametrize("controlled", [False, True], ids=["bootstrapped", "installed"])
async def test_of_the_original_operator_everything_is_taken(room: Room, *, controlled: bool) -> None:
    """Its Helm wrote as `manager`, and left marks that mean nothing any more."""
    theirs = upstreams(room, room.owner.name)
    if controlled:
        theirs["metadata"]["ownerReferences"] = [room.owner.reference]
    await room.another_client_creates(theirs, manager="manager")
    await room.another_client_patches(theirs, {"data": {"patched": "1"}}, manager="kubectl-patch")
    change_set = await room.installed(config_map("a", x="1", later="1"))
    assert names(change_set.taken) == ["a"]
    live = await room.read(theirs)
    assert live["data"] == {"x": "1", "later": "1", "patched": "1"}
    assert "app.kubernetes.io/managed-by" not in live["metadata"]["labels"]
    assert "meta.helm.sh/release-name" not in live["metadata"]["annotations"]
    await room.installed(config_map("a", x="1"))
    assert (await room.read(theirs))["data"] == {"x": "1", "patched": "1"}


@pytest.mark.parametrize("manager", ["manager", "Go-http-client", "core"])
async def test_manager_of_that_name_without_upstreams_marks_is_like_any_other(room: Room, manager: str) -> None:
    """Every other operator is called `manager`."""
    await room.another_client_creates(labelled("a", room.owner.name, x="1", theirs="1"), manager=manager)
    await room.installed(config_map("a", x="1"))
    assert (await room.read(config_map("a")))["data"] == {"x": "1", "theirs": "1"}


async def test_status_entries_stay_with_those_who_write_them(room: Room, kubectl: Kubectl) -> None:
    spec = {"ports": [{"port": 80}], "selector": {"app": "x"}}
    mine: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    await kubectl.apply(mine)
    await kubectl.run("patch", "service", "s", "--subresource=status", "--type=merge", "-p", CONDITION)
    await room.installed(mine, adopt=Adopt.IF_UNOWNED)
    entries = (await room.read(mine))["metadata"]["managedFields"]
    assert {(one["manager"].partition("/")[0], one.get("subresource", "")) for one in entries} == {
        ("kubectl-client-side-apply", ""),  # its annotation, and what the server filled in for it
        ("kubectl-patch", "status"),
        ("rukpak", ""),
    }


CONDITION = (
    '{"status":{"conditions":[{"type":"T","status":"True","reason":"R","message":"",'
    '"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
)


async def test_labels_without_a_controller_are_enough(room: Room) -> None:
    """Bootstrapped, orphaned or restored: our labels, and no other owner."""
    await room.another_client_creates(labelled("a", room.owner.name, x="1", theirs="1"), manager="kubectl-create")
    change_set = await room.installed(config_map("a", x="1"))
    assert names(change_set.taken) == ["a"]
    live = await room.read(config_map("a"))
    assert live["data"] == {"x": "1", "theirs": "1"}
    assert live["metadata"]["ownerReferences"][0]["uid"] == room.owner.uid


async def test_orphaned_object_loses_fields_that_left_the_content(room: Room) -> None:
    """Our own entry of before is still ours, whichever client wrote beside it."""
    await room.installed(config_map("a", x="1", dropped="1"))
    await room.another_client_patches(config_map("a"), {"data": {"x": "2"}, "metadata": {"ownerReferences": None}})
    await room.seen(config_map("a"))
    change_set = await room.installed(config_map("a", x="1"))
    assert names(change_set.taken) == ["a"]
    assert (await room.read(config_map("a")))["data"] == {"x": "1"}


@pytest.mark.parametrize("former", [HELM, "somebody"])
async def test_object_changed_since_it_was_judged_is_not_taken(room: Room, former: str) -> None:
    """The rewrite meets the other version when there are former managers, else the apply does."""
    await room.another_client_creates(config_map("a", x="1"), manager=former)
    plan = await room.plan(config_map("a", x="2"), adopt=Adopt.IF_UNOWNED)
    await room.another_client_patches(config_map("a"), {"data": {"y": "1"}})
    before = await room.read(config_map("a"))
    change_set = await room.engine.apply(room.target, plan)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.STALE]
    assert await room.read(config_map("a")) == before


@pytest.mark.parametrize("former", [HELM, "somebody"])
async def test_object_replaced_since_it_was_judged_is_not_taken(room: Room, former: str) -> None:
    await room.another_client_creates(config_map("a", x="1"), manager=former)
    plan = await room.plan(config_map("a", x="2"), adopt=Adopt.IF_UNOWNED)
    before = await room.replaced(config_map("a"), config_map("a", x="theirs"))
    change_set = await room.engine.apply(room.target, plan)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.STALE]
    assert await room.read(config_map("a")) == before


def upstreams(room: Room, release: str) -> Manifest:
    """An object as the original operator leaves it."""
    manifest = labelled("a", room.owner.name, x="1", later="1", dropped="1")
    manifest["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm"
    manifest["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": release,
        "meta.helm.sh/release-namespace": "rukpak-system",
    }
    return manifest


def cron_job(**env: str) -> Manifest:
    """A kind with containers of which no controller writes the status while it is suspended."""
    container = {"name": "c", "image": "i", "env": [{"name": name, "value": value} for name, value in env.items()]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": {"template": template}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "web"}, "spec": spec}


def pod(manifest: Manifest) -> Manifest:
    spec: Manifest = manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return spec


def variables(live: Manifest) -> list[str]:
    return sorted(one["name"] for one in pod(live)["containers"][0]["env"])
