"""Mistakes that the API server, or the operator before it, answers when the objects are applied."""

from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, ConditionType, Reason
from tests.broken_deployments.case import Expected, Story, case
from tests.broken_deployments.scene import Scene
from tests.manifests import Document, crd, manifest, service, service_account, thing, workload
from tests.waiting import eventually

INSTALLED = ConditionType.INSTALLED
RBAC = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io/v1"


@case("the CRD of a custom resource is missing")
async def kind_missing(scene: Scene) -> Story:
    group = f"{scene.name}.example.com"
    await scene.deploy(await scene.source(thing(group, "first", scene.namespace)))
    yield Expected(
        reason=Reason.INSTALL_FAILED,
        condition=INSTALLED,
        object=scene.called(f"Thing.{group}", "first"),
        words=("the cluster has no kind Thing", group),
        whole=("required resource not found", f'no matches for kind "Thing" in version "{group}/v1"'),
    )
    await scene.create(crd(group))


@case("the namespace does not exist")
async def namespace_missing(scene: Scene) -> Story:
    namespace = f"{scene.namespace}-late"
    document = scene.settings()
    document["metadata"]["namespace"] = namespace
    await scene.deploy(await scene.source(document))
    yield Expected(
        reason=Reason.INSTALL_FAILED,
        condition=INSTALLED,
        object=f"Namespace {namespace}",
        words=(f"Namespace {namespace} not found",),
    )
    await scene.create(manifest("v1", "Namespace", namespace))


@case("an object exists, and no tool manages it")
async def object_not_managed(scene: Scene) -> Story:
    await scene.create(scene.settings(key="of a former installation"))
    await scene.deploy(await scene.source(scene.settings()))
    yield Expected(
        reason=Reason.CONFLICT,
        condition=INSTALLED,
        object=scene.called("ConfigMap", "settings"),
        words=("exists and is not managed by anyone", "spec.adopt"),
    )
    await scene.patch(adopt="IfUnowned")


@case("another tool manages an object")
async def object_of_another_tool(scene: Scene) -> Story:
    existing = scene.settings(key="of the chart")
    existing["metadata"] |= {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {
            "meta.helm.sh/release-name": "shop",
            "meta.helm.sh/release-namespace": scene.namespace,
        },
    }
    await scene.create(existing)
    await scene.deploy(await scene.source(scene.settings()))
    yield Expected(
        reason=Reason.CONFLICT,
        condition=INSTALLED,
        object=scene.called("ConfigMap", "settings"),
        words=("is managed by Helm",),
    )
    await scene.delete("configmap", "settings")


@case("a field that never changes was changed")
async def field_immutable(scene: Scene) -> Story:
    await scene.deploy(await scene.source(workload("web", scene.namespace)))
    await scene.until_ready()
    await scene.change_source(await scene.source(workload("web", scene.namespace, app="shop")))
    yield Expected(
        reason=Reason.UPGRADE_FAILED,
        condition=INSTALLED,
        object=scene.called("Deployment.apps", "web"),
        words=("field is immutable",),
    )
    target = {"group": "apps", "kind": "Deployment", "namespace": scene.namespace, "name": "web"}
    await scene.patch(overrides=[{**target, "force": True}])


@case("the service account lacks a right", needs_policies=True)
async def account_lacks_rights(scene: Scene) -> Story:
    await scene.create(service_account("installer", scene.namespace), *role(scene, "get", "list", "watch"))
    await scene.deploy(
        await scene.source(scene.settings()), installNamespace=scene.namespace, serviceAccountName="installer"
    )
    yield Expected(
        reason=Reason.PERMISSIONS_MISSING,
        condition=INSTALLED,
        object=scene.called("ServiceAccount", "installer"),
        words=("installer", "configmaps"),
    )
    await scene.apply(*role(scene, "*"))
    await scene.annotate(RECONCILE_AT_ANNOTATION, "after-the-role-was-changed")


def role(scene: Scene, *verbs: str) -> list[Document]:
    """A Role for ConfigMaps, and its binding to the account."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs)}]
    subject = {"kind": "ServiceAccount", "name": "installer", "namespace": scene.namespace}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "installer"}
    version = f"{RBAC}/v1"
    return [
        manifest(version, "Role", "installer", scene.namespace, rules=rules),
        manifest(version, "RoleBinding", "installer", scene.namespace, roleRef=reference, subjects=[subject]),
    ]


@case("the service account does not exist", needs_policies=True)
async def account_missing(scene: Scene) -> Story:
    await scene.deploy(
        await scene.source(scene.settings()), installNamespace=scene.namespace, serviceAccountName="installer"
    )
    yield Expected(
        reason=Reason.ACCOUNT_MISSING,
        condition=INSTALLED,
        object=scene.called("ServiceAccount", "installer"),
        words=(f"{scene.namespace}/installer", "does not exist"),
    )
    await scene.create(service_account("installer", scene.namespace), *role(scene, "*"))


@case("a quota is exceeded")
async def quota_exceeded(scene: Scene) -> Story:
    quota = manifest("v1", "ResourceQuota", "small", scene.namespace, spec={"hard": {"services": "0"}})
    await scene.create(quota)

    async def is_counted() -> bool:
        found = await scene.run(
            "get", "resourcequota", "small", f"--namespace={scene.namespace}", "--output=jsonpath={.status.hard}"
        )
        return bool(found)

    await eventually(is_counted, what="the quota is in force")
    await scene.deploy(await scene.source(service("web", scene.namespace)))
    yield Expected(
        reason=Reason.INSTALL_FAILED,
        condition=INSTALLED,
        object=scene.called("Service", "web"),
        words=("exceeded quota: small",),
    )
    await scene.apply({**quota, "spec": {"hard": {"services": "1"}}})


@case("a policy of the cluster refuses an object")
async def policy_refuses(scene: Scene) -> Story:
    name = f"{scene.name}-team"
    await scene.create(*policy(name, scene.namespace))
    await policy_in_force(scene)
    await scene.deploy(await scene.source(scene.settings()))
    yield Expected(
        reason=Reason.INSTALL_FAILED,
        condition=INSTALLED,
        object=scene.called("ConfigMap", "settings"),
        words=("the label team is required",),
    )
    document = scene.settings()
    document["metadata"]["labels"] = {"team": "shop"}
    await scene.change_source(await scene.source(document))


def policy(name: str, namespace: str) -> list[Document]:
    """Every ConfigMap of the namespace needs the label `team`."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    required = {
        "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
        "message": "the label team is required",
    }
    there = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    spec = {"matchConstraints": {"resourceRules": [rule], **there}, "validations": [required]}
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": there}
    return [
        manifest(ADMISSION, "ValidatingAdmissionPolicy", name, spec=spec),
        manifest(ADMISSION, "ValidatingAdmissionPolicyBinding", name, spec=binding),
    ]


async def policy_in_force(scene: Scene) -> None:
    async def refuses() -> bool:
        return "the label team is required" in await scene.refusal(scene.settings("probe"))

    await eventually(refuses, what="the policy refuses")


@case("the deployment depends on one that does not exist")
async def dependency_missing(scene: Scene) -> Story:
    needed = f"{scene.name}-database"
    await scene.deploy(await scene.source(scene.settings()), dependsOn=[{"name": needed}])
    yield Expected(
        reason=Reason.DEPENDENCY_MISSING,
        condition=INSTALLED,
        words=(needed, "no such BundleDeployment exists"),
    )
    await scene.patch(dependsOn=None)


CASES = (
    kind_missing,
    namespace_missing,
    object_not_managed,
    object_of_another_tool,
    field_immutable,
    account_lacks_rights,
    account_missing,
    quota_exceeded,
    policy_refuses,
    dependency_missing,
)
