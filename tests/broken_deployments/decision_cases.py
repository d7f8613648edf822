"""Deployments that wait for a decision of their owner, or are configured so that nothing can happen."""

from rukpak_py.api.names import (
    ALLOW_DATA_LOSS_ANNOTATION,
    APPROVED_ANNOTATION,
    PLAIN_CLASS,
    ConditionType,
    Reason,
)
from tests.broken_deployments.case import Expected, Story, case
from tests.broken_deployments.scene import DEPLOYMENT, Scene
from tests.manifests import Document, crd, manifest

READY = ConditionType.READY


@case("the provisioner class is misspelt")
async def class_misspelt(scene: Scene) -> Story:
    await scene.deploy(await scene.source(scene.settings()), provisionerClassName="core-rukpak-io-plains")
    yield Expected(
        reason=Reason.CLASS_UNKNOWN,
        condition=READY,
        words=('"core-rukpak-io-plains"', f'did you mean "{PLAIN_CLASS}"?'),
    )
    await scene.patch(provisionerClassName=PLAIN_CLASS)


@case("the deployment is suspended")
async def suspended(scene: Scene) -> Story:
    await scene.deploy(await scene.source(scene.settings()), suspend=True)
    yield Expected(reason=Reason.SUSPENDED, condition=READY, words=("spec.suspend is true",))
    await scene.patch(suspend=None)


@case("an upgrade waits for an approval")
async def upgrade_not_approved(scene: Scene) -> Story:
    await scene.deploy(await scene.source(scene.settings(key="1")), upgrades={"approval": "Manual"})
    await scene.until_ready()
    await scene.change_source(await scene.source(scene.settings(key="2")))
    yield Expected(
        reason=Reason.UPGRADE_PENDING,
        condition=ConditionType.UPGRADE_PENDING,
        words=(f"rukpakctl approve {scene.name}",),
        is_ready=True,
    )
    waiting = await scene.until(pending, what="the upgrade is on record")
    await scene.annotate(APPROVED_ANNOTATION, pending(waiting)["digest"])


def pending(document: Document) -> Document:
    found: Document = document.get("status", {}).get("pendingUpgrade") or {}
    return found


@case("an upgrade would delete more objects than allowed")
async def prune_over_budget(scene: Scene) -> Story:
    names = ("a", "b", "c")
    await scene.deploy(await scene.source(*map(scene.settings, names)), prune={"maxObjects": 1})
    await scene.until_ready()
    await scene.change_source(await scene.source(scene.settings("a")))
    yield Expected(
        reason=Reason.PRUNE_BUDGET_EXCEEDED,
        condition=ConditionType.INSTALLED,
        object=scene.called("ConfigMap", "b"),
        words=("spec.prune.maxObjects is 1",),
    )
    await scene.patch(prune={"maxObjects": 2})


@case("a deletion would destroy what others have")
async def deletion_loses_data(scene: Scene) -> Story:
    group = f"{scene.name}.example.com"
    await scene.deploy(await scene.source(crd(group)))
    await scene.until_ready()
    await scene.create(manifest(f"{group}/v1", "Thing", "of-others", scene.namespace, spec={}))
    await scene.run("delete", DEPLOYMENT, scene.name, "--wait=false")
    yield Expected(
        reason=Reason.DELETING,
        condition=READY,
        object=f"CustomResourceDefinition.apiextensions.k8s.io/things.{group}",
        words=(ALLOW_DATA_LOSS_ANNOTATION,),
        ends_gone=True,
    )
    await scene.annotate(ALLOW_DATA_LOSS_ANNOTATION, "true")


CASES = (
    class_misspelt,
    suspended,
    upgrade_not_approved,
    prune_over_budget,
    deletion_loses_data,
)
