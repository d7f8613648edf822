"""OLM bundles installed as the original does it, and with their options by a deployment of their own class."""

import io
import tarfile
from typing import Any

import pytest
import yaml

from rukpak_py.api.names import OWNER_NAME_LABEL, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLES, CRDS, NAMESPACES, Resource
from tests.integration.content_clients import Accounts
from tests.integration.scenarios.olm_bundles import deploy, package, registry_source
from tests.integration.scenarios.stage import Document, Stage, definition, phase, says

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
CLUSTER_ROLES = Resource(
    gvk=GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), plural="clusterroles", namespaced=False
)
NOT_ALL = "convert registry+v1 bundle to plain+v0 bundle: AllNamespace install mode must be enabled"


async def controller(stage: Stage, namespace: str) -> Document:
    return await stage.get(DEPLOYMENTS, namespace, "controller")


def watched(found: Document) -> str:
    return str(found["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"])


@pytest.fixture
def own_namespace(stage: Stage) -> str:
    """The namespace of a bundle that suggests none; it stays, so the test deletes it."""
    name = f"{package(stage)}-system"
    stage.made.append((NAMESPACES, "", name))
    return name


async def test_scenario_63_a_plain_deployment_installs_a_registry_bundle(stage: Stage, own_namespace: str) -> None:
    await deploy(stage, await registry_source(stage), of_class=PLAIN_CLASS)
    found = await stage.until_deployment(
        stage.name, says("Installed", "True", "InstallationSucceeded", "Instantiated bundle"), says("Ready", "True")
    )
    assert found["status"]["activeBundle"]
    assert found["status"]["installNamespace"] == own_namespace
    assert watched(await controller(stage, own_namespace)) == ""


async def test_scenario_64_all_namespaces_must_be_supported(stage: Stage) -> None:
    await deploy(stage, await registry_source(stage, install_modes=["OwnNamespace"]), of_class=PLAIN_CLASS)
    found = await stage.until_deployment(stage.name, says("HasValidBundle", "False", "UnpackFailed", NOT_ALL))
    assert not found["status"].get("activeBundle")


async def test_a_bundle_alone_is_judged_as_for_a_plain_deployment(stage: Stage) -> None:
    source = await registry_source(stage, install_modes=["OwnNamespace"])
    name = await stage.bundle(source, provisioner=REGISTRY_CLASS)
    await stage.until_bundle(name, says("Unpacked", "False", "UnpackFailed", NOT_ALL), says("Stalled", "True"))


async def test_a_deployment_of_its_own_class_installs_what_cannot_be_converted(
    stage: Stage, own_namespace: str
) -> None:
    await deploy(stage, await registry_source(stage, install_modes=["OwnNamespace"]))
    await stage.until_ready(stage.name)
    assert watched(await controller(stage, own_namespace)) == own_namespace


async def test_a_changed_class_is_another_judgement(stage: Stage, own_namespace: str) -> None:
    """The content is wrong for a plain deployment, and right for one of class registry."""
    await deploy(stage, await registry_source(stage, install_modes=["OwnNamespace"]), of_class=PLAIN_CLASS)
    await stage.until_deployment(stage.name, says("HasValidBundle", "False", "UnpackFailed", NOT_ALL))
    await stage.edit(stage.name, provisionerClassName=REGISTRY_CLASS)
    await stage.until_ready(stage.name)
    assert watched(await controller(stage, own_namespace)) == own_namespace


async def test_the_converted_form_is_served(stage: Stage, own_namespace: str) -> None:
    name = await stage.bundle(await registry_source(stage), provisioner=REGISTRY_CLASS)
    await stage.until_bundle(name, phase("Unpacked"))
    accounts = Accounts(kubectl=stage.kubectl, namespace=stage.namespace, url=stage.operator.content)
    answer = await (await accounts.caller("reader", "bundle-reader")).get(name)
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
        assert tar.getnames() == [".", "manifests", "manifests/manifest.yaml"]
        member = tar.extractfile("manifests/manifest.yaml")
        assert member is not None
        documents = list(yaml.safe_load_all(member.read()))
    assert (documents[0]["kind"], documents[0]["metadata"]["name"]) == ("Namespace", own_namespace)
    assert {one["kind"] for one in documents} >= {"CustomResourceDefinition", "Deployment", "ServiceAccount"}
    assert (stage.operator.storage / f"{name}.tgz").read_bytes() == answer.body


async def test_the_namespace_of_a_bundle_is_shared_and_stays(stage: Stage, own_namespace: str) -> None:
    await deploy(stage, await registry_source(stage))
    await stage.until_ready(stage.name)
    namespace = await stage.get(NAMESPACES, "", own_namespace)
    assert OWNER_NAME_LABEL not in namespace["metadata"]["labels"]
    assert "ownerReferences" not in namespace["metadata"]
    kinds = {kind["kind"] for kind in (await stage.deployment())["status"]["kinds"]}
    assert "Namespace" not in kinds


async def test_bundle_is_installed_in_the_namespace_that_it_suggests(stage: Stage) -> None:
    suggested = f"{stage.name}-suggested"
    stage.made.append((NAMESPACES, "", suggested))
    annotations = {"operatorframework.io/suggested-namespace": suggested}
    await deploy(stage, await registry_source(stage, annotations=annotations))
    found = await stage.until_ready(stage.name)
    assert found["status"]["installNamespace"] == suggested
    assert await controller(stage, suggested)


async def test_another_version_suggests_another_namespace(stage: Stage) -> None:
    names = [f"{stage.name}-{version}" for version in ("one", "two")]
    stage.made += [(NAMESPACES, "", name) for name in names]
    sources = [
        await registry_source(
            stage, annotations={"operatorframework.io/suggested-namespace": name}, version=f"1.{number}.0", name=name
        )
        for number, name in enumerate(names)
    ]
    await deploy(stage, sources[0])
    await stage.until_ready(stage.name)
    await stage.edit_template(stage.name, sources[1])
    await stage.until_deployment(
        stage.name, lambda one: one["status"].get("installNamespace") == names[1], says("Ready", "True")
    )
    assert await controller(stage, names[1])
    await stage.until_gone(DEPLOYMENTS, names[0], "controller")


async def test_a_given_namespace_is_not_made(stage: Stage) -> None:
    missing = f"{stage.name}-missing"
    await deploy(stage, await registry_source(stage), installNamespace=missing)
    await stage.until_deployment(
        stage.name, says("Installed", "False", "InstallFailed", f"Namespace {missing} not found")
    )
    await stage.edit(stage.name, installNamespace=stage.namespace)
    found = await stage.until_ready(stage.name)
    assert "installNamespace" not in found["status"]
    assert await controller(stage, stage.namespace)


async def test_other_watched_namespaces_are_an_upgrade(stage: Stage) -> None:
    await deploy(stage, await registry_source(stage), installNamespace=stage.namespace)
    await stage.until_ready(stage.name)
    await stage.edit(stage.name, watchNamespaces=[stage.namespace])
    found = await stage.until_deployment(stage.name, lambda one: len(one["status"]["history"]) == 2)
    now, before = found["status"]["history"]
    assert now["options"]["watchNamespaces"] == [stage.namespace]
    assert "watchNamespaces" not in before["options"]
    assert now["digest"] == before["digest"]
    assert watched(await controller(stage, stage.namespace)) == stage.namespace


async def test_install_modes_are_checked(stage: Stage) -> None:
    source = await registry_source(stage, install_modes=["OwnNamespace"])
    await deploy(stage, source, installNamespace=stage.namespace, watchNamespaces=["elsewhere"])
    refused = "supported install modes [OwnNamespace] do not support target namespaces [elsewhere]"
    await stage.until_deployment(stage.name, says("HasValidBundle", "False", "BundleLoadFailed", refused))


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"certificate": "none"}, "spec.config.certificate is not known; did you mean certificates?"),
        ({"certificates": "letsencrypt"}, "set one of operator, cert-manager, openshift, none"),
        ({"deploymentConfig": {"selector": {}}}, 'unknown field "selector"'),
        ({"aggregatedRoles": "yes"}, "spec.config.aggregatedRoles must be true or false, got string"),
    ],
)
async def test_a_wrong_configuration_is_told(stage: Stage, config: dict[str, Any], text: str) -> None:
    await deploy(stage, await registry_source(stage), installNamespace=stage.namespace, config=config)
    await stage.until_deployment(stage.name, says("HasValidBundle", "False", "BundleLoadFailed", text))


async def test_a_deployment_configuration_is_applied(stage: Stage) -> None:
    env = [{"name": "LOG_LEVEL", "value": "debug"}]
    config = {"deploymentConfig": {"env": env}, "aggregatedRoles": True}
    await deploy(stage, await registry_source(stage), installNamespace=stage.namespace, config=config)
    await stage.until_ready(stage.name)
    pod = (await controller(stage, stage.namespace))["spec"]["template"]["spec"]
    assert pod["containers"][0]["env"] == env
    view = await stage.get(CLUSTER_ROLES, "", f"demos.{stage.group}-view")
    assert view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert view["rules"] == [{"apiGroups": [stage.group], "resources": ["demos"], "verbs": ["get", "list", "watch"]}]


async def test_a_required_api_is_waited_for(stage: Stage) -> None:
    """The install goes on without a request as soon as the kind is served."""
    other = f"other.{stage.group}"
    needed = {"type": "olm.gvk", "value": {"group": other, "version": "v1", "kind": "Widget"}}
    information = {"type": "olm.package", "value": {"packageName": "another", "version": ">=1.0.0"}}
    source = await registry_source(stage, dependencies=[needed, information])
    await deploy(stage, source, installNamespace=stage.namespace)
    found = await stage.until_deployment(
        stage.name,
        says("Installed", "False", "InstallFailed", f"the kind Widget ({other}/v1)", "metadata/dependencies.yaml"),
    )
    assert not found["status"].get("activeBundle")
    await stage.create(CRDS, "", definition(other))
    await stage.until_ready(stage.name)


async def test_plain_bundle_of_a_registry_deployment_is_refused(stage: Stage) -> None:
    source = await stage.content({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    await stage.deploy(source, provisionerClassName=REGISTRY_CLASS)
    text = f"a BundleDeployment of class {REGISTRY_CLASS} cannot install a Bundle of class {PLAIN_CLASS}"
    await stage.until_deployment(stage.name, says("HasValidBundle", "False", "BundleLoadFailed", text))


async def test_uninstalling_leaves_the_shared_namespace(stage: Stage, own_namespace: str) -> None:
    await deploy(stage, await registry_source(stage))
    await stage.until_ready(stage.name)
    await stage.run_kubectl("delete", "bundledeployment", stage.name, "--wait=false")
    await stage.until_gone(DEPLOYMENTS, own_namespace, "controller")
    assert await stage.exists(NAMESPACES, "", own_namespace)
    assert not await stage.exists(BUNDLES, "", stage.name)
