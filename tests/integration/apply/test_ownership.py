"""Ownership of objects that are there already: refusals name the owner and the way out."""

from pathlib import Path

import pytest
import yaml

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.names import OWNER_NAME_LABEL, OWNER_UID_ANNOTATION
from rukpak_py.apply.plan import Action
from rukpak_py.core.objects import GroupKind
from tests.integration.apply.room import Manifest, Room, labelled, names, only, run
from tests.integration.apply.things import definition
from tests.manifests import config_map
from tests.waiting import eventually, until
from tools.chart import built_helm


async def test_unowned_object_is_refused_unless_it_may_be_adopted(room: Room) -> None:
    await room.another_client_creates(config_map("a", x="1"))
    change = only(await room.plan(config_map("a", x="1")))
    assert change.action is Action.REFUSE
    assert "spec.adopt" in change.reason
    assert only(await room.plan(config_map("a", x="1"), adopt=Adopt.IF_UNOWNED)).action is Action.TAKE


MARKS: list[tuple[str, dict[str, str], dict[str, str], str]] = [
    ("managed-by", {"app.kubernetes.io/managed-by": "kustomize"}, {}, '"kustomize"'),
    ("Helm", {}, {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}, "shop/web"),
    ("Argo CD", {}, {"argocd.argoproj.io/tracking-id": "web:/ConfigMap:shop/a"}, "application web"),
    ("Flux", {"kustomize.toolkit.fluxcd.io/name": "web", "kustomize.toolkit.fluxcd.io/namespace": "shop"}, {}, "Flux"),
]


@pytest.mark.parametrize(("labels", "annotations", "named"), [pytest.param(*rest, id=name) for name, *rest in MARKS])
async def test_object_of_another_tool_is_refused_with_its_name_unless_forced(
    room: Room, labels: dict[str, str], annotations: dict[str, str], named: str
) -> None:
    theirs = config_map("a", x="1", theirs="1")
    theirs["metadata"] |= {"labels": labels, "annotations": annotations}
    before = await room.another_client_creates(theirs)
    for adopt in (Adopt.NEVER, Adopt.IF_UNOWNED):
        change = only(await room.plan(config_map("a", x="2"), adopt=adopt))
        assert change.action is Action.REFUSE
        assert named in change.reason
        assert "Force" in change.reason
    assert await room.read(theirs) == before

    await room.installed(config_map("a", x="2"), adopt=Adopt.FORCE)
    live = await room.read(theirs)
    assert live["data"] == {"x": "2", "theirs": "1"}
    assert live["metadata"]["labels"].items() >= labels.items()
    assert live["metadata"]["annotations"].items() >= annotations.items()


@pytest.mark.skipif(built_helm() is None, reason="helm is not built yet (make test builds it)")
async def test_an_object_of_a_helm_release_keeps_its_data(room: Room, kubeconfig: Path, tmp_path: Path) -> None:
    chart = tmp_path / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (chart / "templates" / "a.yaml").write_text(yaml.safe_dump(config_map("a", x="1", theirs="1")))
    flags = (f"--kubeconfig={kubeconfig}", f"--namespace={room.namespace}")
    await run(str(built_helm()), "install", "till", str(chart), *flags)

    refused = only(await room.plan(config_map("a", x="2"), adopt=Adopt.IF_UNOWNED))
    assert (refused.action, f"Helm (release {room.namespace}/till)" in refused.reason) == (Action.REFUSE, True)
    await room.installed(config_map("a", x="2"), adopt=Adopt.FORCE)
    assert (await room.read(config_map("a")))["data"] == {"x": "2", "theirs": "1"}


async def test_object_that_a_renamed_deployment_left_can_be_adopted(room: Room) -> None:
    await room.another_client_creates(labelled("a", "gone-and-renamed"))
    refused = only(await room.plan(config_map("a", x="1")))
    assert refused.action is Action.REFUSE
    assert "was installed by BundleDeployment gone-and-renamed, which does not exist" in refused.reason
    assert "spec.adopt to IfUnowned" in refused.reason
    change_set = await room.installed(config_map("a", x="1"), adopt=Adopt.IF_UNOWNED)
    assert names(change_set.taken) == ["a"]
    live = await room.read(config_map("a"))
    assert live["metadata"]["labels"][OWNER_NAME_LABEL] == room.owner.name
    assert live["metadata"]["ownerReferences"][0]["uid"] == room.owner.uid


async def test_object_labelled_for_an_existing_deployment_is_refused(room: Room) -> None:
    """Whatever its class: no operator serves the one of these."""
    other = await Room.open(room.client, room.namespace)
    await room.another_client_creates(labelled("a", other.owner.name))
    for adopt in Adopt:
        refused = only(await room.plan(config_map("a", x="1"), adopt=adopt))
        assert refused.action is Action.REFUSE
        assert f"belongs to BundleDeployment {other.owner.name}" in refused.reason
    await other.close()


@pytest.mark.parametrize("kind", ["Namespace", "PersistentVolumeClaim", "PersistentVolume", "CustomResourceDefinition"])
async def test_irreplaceable_object_that_existed_before_us_outlives_us(room: Room, kind: str) -> None:
    manifest = irreplaceable(room, kind)
    if kind != "Namespace":
        await room.another_client_creates(manifest)
    if kind == "CustomResourceDefinition":
        await until(lambda: room.cluster.is_established(GroupKind(group_of(room), "Thing")))
    if kind == "PersistentVolume":

        async def is_available() -> bool:
            return await phase_of(room, manifest) == "Available"

        await eventually(is_available, what="its controller has written")
    await room.installed(manifest, adopt=Adopt.IF_UNOWNED)
    live = await room.read(manifest)
    assert "ownerReferences" not in live["metadata"]
    assert live["metadata"]["annotations"][OWNER_UID_ANNOTATION] == room.owner.uid
    (seen,) = room.inventory.owned_by(room.owner.uid).values()
    assert seen.outlives
    assert only(await room.plan(manifest)).action is Action.LEAVE
    if kind in {"PersistentVolume", "CustomResourceDefinition"}:
        await room.another_client_deletes(manifest)


async def test_a_claim_that_was_adopted_outlives_the_next_deployment_of_the_name_too(room: Room) -> None:
    manifest = irreplaceable(room, "PersistentVolumeClaim")
    former = {OWNER_UID_ANNOTATION: "uid-of-a-former-deployment"}
    manifest["metadata"] |= {"labels": room.owner.labels, "annotations": former}
    await room.another_client_creates(manifest)
    await room.installed(irreplaceable(room, "PersistentVolumeClaim"))
    live = await room.read(manifest)
    assert "ownerReferences" not in live["metadata"]
    assert live["metadata"]["annotations"][OWNER_UID_ANNOTATION] == room.owner.uid


async def phase_of(room: Room, manifest: Manifest) -> object:
    return (await room.read(manifest)).get("status", {}).get("phase")


def group_of(room: Room) -> str:
    return f"{room.namespace}.example.com"


def irreplaceable(room: Room, kind: str) -> Manifest:
    size = {"storage": "1Mi"}
    match kind:
        case "Namespace":
            return {"apiVersion": "v1", "kind": kind, "metadata": {"name": room.namespace}}
        case "PersistentVolumeClaim":
            spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": size}}
            return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "data"}, "spec": spec}
        case "PersistentVolume":
            spec = {"accessModes": ["ReadWriteOnce"], "capacity": size, "hostPath": {"path": "/nowhere"}}
            return {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"pv-{room.namespace}"}, "spec": spec}
        case _:
            return definition(group_of(room), "a")
