"""Bundles of images, which come from a real registry."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rukpak_py.kube.resources import BUNDLES, SECRETS
from tests.integration.images.registry import PASSWORD, USER, Registry, basic, private_registry
from tests.integration.scenarios.stage import BOTH_IDENTITIES, SYSTEM, Document, Stage, phase, says, settings
from tests.unit.sources.image.image_registry import Contents, Files

OLM = "operators.coreos.com"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with private_registry(tmp_path_factory.mktemp("registry")) as registry:
        yield registry


def pushed(registry: Registry, stage: Stage, files: Files, *, tag: str = "v1") -> tuple[str, str]:
    """The name of the image of these files, on a base that is not read, and its digest."""
    contents = Contents()
    image = contents.image({"usr/lib/x": b"x"}, files, tag=tag)
    registry.push(contents, stage.name, login=basic())
    return f"{registry.address}/{stage.name}:{tag}", image["digest"]


def manifests(stage: Stage, **data: Any) -> Files:
    return {"manifests/one.yaml": yaml.safe_dump(settings(stage.namespace, **data)).encode()}


def image(registry: Registry, ref: str, pull_secret: str = "") -> Document:
    given = {"ref": ref, "caBundle": registry.authority, **({"pullSecret": pull_secret} if pull_secret else {})}
    return {"type": "image", "image": given}


async def login(stage: Stage, registry: Registry, password: str = PASSWORD) -> str:
    """A pull secret; the answer is its name."""
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    data = base64.b64encode(json.dumps({"auths": {registry.address: {"auth": auth}}}).encode()).decode()
    body: dict[str, Any] = {"metadata": {"name": stage.name}, "type": "kubernetes.io/dockerconfigjson"}
    await stage.create(SECRETS, SYSTEM, {**body, "data": {".dockerconfigjson": data}})
    return stage.name


async def test_scenarios_14_and_18_a_private_image_is_unpacked(stage: Stage, registry: Registry) -> None:
    ref, digest = pushed(registry, stage, manifests(stage))
    name = await stage.bundle(image(registry, ref, await login(stage, registry)))
    found = await stage.until_bundle(
        name, phase("Unpacked"), says("Unpacked", "True", "UnpackSuccessful", "Successfully unpacked the image Bundle")
    )
    resolved = {"type": "image", "image": {"ref": f"{registry.address}/{stage.name}@{digest}"}}
    assert found["status"]["resolvedSource"] == resolved


@pytest.mark.parametrize(
    ("files", "text"),
    [
        pytest.param({"README": b""}, "readdir manifests: file does not exist", id="20"),
        pytest.param(
            {"manifests/empty.yaml": b""},
            "found zero objects: plain+v0 bundles are required to contain at least one object",
            id="21",
        ),
    ],
)
async def test_scenarios_20_and_21_an_image_without_manifests(
    stage: Stage, registry: Registry, files: Files, text: str
) -> None:
    ref, _ = pushed(registry, stage, files)
    name = await stage.bundle(image(registry, ref, await login(stage, registry)))
    await stage.until_bundle(name, says("Unpacked", "False", "UnpackFailed", text))


async def test_scenario_33_a_directory_in_manifests(stage: Stage, registry: Registry) -> None:
    ref, _ = pushed(registry, stage, {**manifests(stage), "manifests/emptydir/.keep": b""})
    name = await stage.bundle(image(registry, ref, await login(stage, registry)))
    text = (
        'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem:'
        ' found "manifests/emptydir"'
    )
    await stage.until_bundle(name, says("Unpacked", "False", "UnpackFailed", text))


@BOTH_IDENTITIES
async def test_scenario_35_a_deployment_of_an_image(stage: Stage, registry: Registry) -> None:
    ref, _ = pushed(registry, stage, manifests(stage, key="of an image"))
    await stage.installed(image(registry, ref, await login(stage, registry)))
    assert (await stage.settings())["data"] == {"key": "of an image"}


@BOTH_IDENTITIES
async def test_scenario_43_kinds_that_the_cluster_has_not(stage: Stage, registry: Registry) -> None:
    missing = [(OLM, "v1alpha1", "CatalogSource"), (OLM, "v1alpha1", "ClusterServiceVersion")]
    missing += [(OLM, "v1", "OLMConfig"), (OLM, "v1", "OperatorGroup")]
    documents = [
        {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "one", "namespace": stage.namespace}}
        for group, version, kind in missing
    ]
    files = {f"manifests/{one['kind']}.yaml": yaml.safe_dump(one).encode() for one in documents}
    ref, _ = pushed(registry, stage, files)
    name = await stage.deploy(image(registry, ref, await login(stage, registry)))
    texts = [f'no matches for kind "{kind}" in version "{group}/{version}"' for group, version, kind in missing]
    found = await stage.until_deployment(name, says("Installed", "False", "InstallFailed", *texts))
    assert says("Healthy", "False", "InstallationStatusFalse")(found)
    assert not found["status"].get("activeBundle")


@BOTH_IDENTITIES
async def test_scenario_44_a_deployment_of_an_invalid_image(stage: Stage, registry: Registry) -> None:
    ref, _ = pushed(registry, stage, {**manifests(stage), "manifests/emptydir/.keep": b""})
    name = await stage.deploy(image(registry, ref, await login(stage, registry)))
    text = (
        'get objects from bundle manifests: subdirectories are not allowed within the "manifests" directory of the'
        ' bundle image filesystem: found "manifests/emptydir"'
    )
    failed = says("HasValidBundle", "False", "UnpackFailed", f"Failed to unpack the {name}", text)
    found = await stage.until_deployment(name, failed)
    assert not found["status"].get("activeBundle")


async def test_private_image_without_its_secret_is_told(stage: Stage, registry: Registry) -> None:
    """The Secret comes later, and with it the content."""
    ref, _ = pushed(registry, stage, manifests(stage))
    name = await stage.bundle(image(registry, ref, stage.name))
    missing = f'get secret rukpak-system/{stage.name}: Secret "{stage.name}" not found'
    found = await stage.until_bundle(
        name,
        says("Unpacked", "False", "UnpackFailed", f"source bundle content: {missing}; ", f"(image {ref})"),
    )
    assert found["status"]["phase"] == "Failing"
    assert PASSWORD not in json.dumps(found)
    await login(stage, registry)
    await stage.until_bundle(name, phase("Unpacked"))


async def test_a_tag_that_comes_later_is_noticed_and_never_followed(stage: Stage, registry: Registry) -> None:
    """C14: what was unpacked once stays, whatever becomes of the tag."""
    ref = f"{registry.address}/{stage.name}:v1"
    secret = await login(stage, registry)
    name = await stage.bundle(image(registry, ref, secret))
    await stage.until_bundle(name, says("Unpacked", "False", "UnpackFailed", "the registry answers GET with 404: "))
    _, digest = pushed(registry, stage, manifests(stage))
    found = await stage.until_bundle(name, phase("Unpacked"))
    pushed(registry, stage, manifests(stage, key="moved"))
    await stage.barrier()
    assert (await stage.get(BUNDLES, "", name))["status"] == found["status"]
    assert found["status"]["resolvedSource"]["image"]["ref"].endswith(digest)
    # The same digest without a login: the content is here already, and is not for those whom the registry refuses.
    pinned = found["status"]["resolvedSource"]["image"]["ref"]
    without = await stage.bundle(image(registry, pinned), name=f"{stage.name}-without")
    await stage.until_bundle(without, says("Unpacked", "False", "UnpackFailed", "it wants a login"))
    again = await stage.bundle(image(registry, pinned, secret), name=f"{stage.name}-again")
    same = await stage.until_bundle(again, phase("Unpacked"))
    assert same["status"]["digest"] == found["status"]["digest"]
