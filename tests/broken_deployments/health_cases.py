"""Mistakes that show when the objects are there: pods that do not run, claims, Jobs, custom resources."""

from typing import Any

from rukpak_py.api.names import ConditionType, Reason
from tests.broken_deployments.case import Expected, Story, case
from tests.broken_deployments.scene import KUBELET_OF_THE_TEST, NOW, Scene
from tests.manifests import Document, crd, manifest

HEALTHY = ConditionType.HEALTHY
GOOD = "registry.k8s.io/pause:3.10"
MISSING = "registry.invalid/shop/web:v2"


def web(scene: Scene, image: str = GOOD, *, pod: Document | None = None, **of_container: Any) -> Document:
    """A Deployment of one pod. `pod`: fields of its spec."""
    labels = {"app": "web"}
    container = {"name": "web", "image": image, **of_container}
    scheduler = {} if scene.has_node else {"schedulerName": KUBELET_OF_THE_TEST}
    template = {"metadata": {"labels": labels}, "spec": {**scheduler, **(pod or {}), "containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return manifest("apps/v1", "Deployment", "web", scene.namespace, spec=spec)


async def replace(scene: Scene, document: Document, broken: str) -> None:
    """Have the content corrected, and its pod run."""
    await scene.change_source(await scene.source(document))
    await scene.run_well(await scene.pod("web", other_than=broken))


@case("an image of a container does not exist", runs_pods=True)
async def container_image_missing(scene: Scene) -> Story:
    await scene.deploy(await scene.source(web(scene, MISSING)))
    pod = await scene.pod("web")
    message = f'Back-off pulling image "{MISSING}"'
    await scene.report(pod, image=MISSING, state={"waiting": {"reason": "ImagePullBackOff", "message": message}})
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("Deployment.apps", "web"),
        words=("container web", "PullBackOff" if not scene.has_node else "Pull", MISSING),
    )
    await replace(scene, web(scene), pod)


@case("a container ends again and again", runs_pods=True)
async def container_crashes(scene: Scene) -> Story:
    await scene.deploy(await scene.source(web(scene, command=["/pause", "--no-such-flag"])))
    pod = await scene.pod("web")
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": NOW, "finishedAt": NOW}}
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container=web"}
    await scene.report(pod, "Running", restartCount=3, state={"waiting": waiting}, lastState=ended)
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("Deployment.apps", "web"),
        words=("container web", "CrashLoopBackOff", "exit code 1"),
    )
    await replace(scene, web(scene), pod)


@case("a container needs a Secret that does not exist", runs_pods=True)
async def container_config_missing(scene: Scene) -> Story:
    secret = {"secretRef": {"name": "database"}}
    await scene.deploy(await scene.source(web(scene, envFrom=[secret])))
    pod = await scene.pod("web")
    waiting = {"reason": "CreateContainerConfigError", "message": 'secret "database" not found'}
    await scene.report(pod, state={"waiting": waiting})
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("Deployment.apps", "web"),
        words=("container web", "CreateContainerConfigError", 'secret "database" not found'),
    )
    await scene.create(manifest("v1", "Secret", "database", scene.namespace, stringData={"password": "x"}))
    await scene.run_well(pod)


@case("a readiness probe never succeeds", runs_pods=True)
async def never_ready(scene: Scene) -> Story:
    probe = {"tcpSocket": {"port": 8081}, "periodSeconds": 1}
    await scene.deploy(await scene.source(web(scene, readinessProbe=probe)))
    pod = await scene.pod("web")
    await scene.report(pod, "Running", started=True, state={"running": {"startedAt": NOW}})
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("Deployment.apps", "web"),
        words=("ContainersNotReady", "web"),
    )
    await replace(scene, web(scene), pod)


@case("no node can take a pod", runs_pods=True)
async def pod_unschedulable(scene: Scene) -> Story:
    """The real scheduler says so, with and without a node."""
    pod = {"schedulerName": "default-scheduler", "nodeSelector": {"disk": f"of-{scene.name}"}}
    await scene.deploy(await scene.source(web(scene, pod=pod)))
    broken = await scene.pod("web")
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("Deployment.apps", "web"),
        words=("Unschedulable", "node"),
    )
    await replace(scene, web(scene), broken)


@case("pods are refused by Pod Security")
async def pods_refused(scene: Scene) -> Story:
    await scene.run("label", "namespace", scene.namespace, "pod-security.kubernetes.io/enforce=restricted")
    await scene.deploy(await scene.source(web(scene)))
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("Deployment.apps", "web"),
        words=("FailedCreate", 'violates PodSecurity "restricted:latest"'),
    )
    restricted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 65535,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    await replace(scene, web(scene, securityContext=restricted), "")


@case("a claim names no class, and the cluster has no default one")
async def claim_unbound(scene: Scene) -> Story:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = manifest("v1", "PersistentVolumeClaim", "data", scene.namespace, spec=spec)
    await scene.deploy(await scene.source(claim))
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("PersistentVolumeClaim", "data"),
        event="FailedBinding",
        words=("names no StorageClass",),
    )
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/tmp"},
        "claimRef": {"namespace": scene.namespace, "name": "data"},
    }
    await scene.create(manifest("v1", "PersistentVolume", f"{scene.name}-data", spec=volume))


@case("a StatefulSet asks for volumes, and the cluster has no default class")
async def stateful_set_claim_unbound(scene: Scene) -> Story:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    database = web(
        scene, pod={"schedulerName": "default-scheduler"}, volumeMounts=[{"name": "data", "mountPath": "/d"}]
    )
    database["kind"] = "StatefulSet"
    database["spec"] |= {"serviceName": "web", "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]}
    await scene.deploy(await scene.source(database))
    await scene.pod("web")
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("StatefulSet.apps", "web"),
        at_fault=scene.called("PersistentVolumeClaim", "data-web-0"),
        event="FailedBinding",
        words=("Unschedulable",),
    )
    await scene.change_source(await scene.source(scene.settings()))


@case("a Job has failed", runs_pods=True)
async def job_failed(scene: Scene) -> Story:
    def job(name: str, *command: str) -> Document:
        container = {"name": "web", "image": GOOD, **({"command": list(command)} if command else {})}
        scheduler = {} if scene.has_node else {"schedulerName": KUBELET_OF_THE_TEST}
        pod = {**scheduler, "restartPolicy": "Never", "containers": [container]}
        template = {"metadata": {"labels": {"app": name}}, "spec": pod}
        return manifest("batch/v1", "Job", name, scene.namespace, spec={"backoffLimit": 0, "template": template})

    await scene.deploy(await scene.source(job("migrate", "/no-such-program")))
    pod = await scene.pod("migrate")
    ended = {"exitCode": 2, "reason": "Error", "startedAt": NOW, "finishedAt": NOW}
    await scene.report(pod, "Failed", state={"terminated": ended})
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called("Job.batch", "migrate"),
        event="BackoffLimitExceeded",
        words=("BackoffLimitExceeded", "container web", "exit code"),
    )
    await scene.change_source(await scene.source(scene.settings()))


@case("a controller says that its custom resource cannot work")
async def custom_resource_fails(scene: Scene) -> Story:
    group = f"{scene.name}.example.com"
    kind = crd(group)
    kind["spec"]["versions"][0]["subresources"] = {"status": {}}
    await scene.deploy(await scene.source(kind, manifest(f"{group}/v1", "Thing", "first", scene.namespace, spec={})))
    await scene.until_exists(f"things.{group}", "first")
    said = {"type": "Ready", "status": "False", "reason": "NoLicense", "message": "the license has expired"}
    await scene.patch_status(f"things.{group}", "first", conditions=[said])
    yield Expected(
        reason=Reason.UNHEALTHY,
        condition=HEALTHY,
        object=scene.called(f"Thing.{group}", "first"),
        words=("the license has expired",),
    )
    await scene.patch_status(f"things.{group}", "first", conditions=[{**said, "status": "True", "reason": "Licensed"}])


CASES = (
    container_image_missing,
    container_crashes,
    container_config_missing,
    never_ready,
    pod_unschedulable,
    pods_refused,
    claim_unbound,
    stateful_set_claim_unbound,
    job_failed,
    custom_resource_fails,
)
