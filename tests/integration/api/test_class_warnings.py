"""The API server itself warns of a class that no operator of ours serves, and takes the object all the same."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import API_VERSION, LEGACY_CLASSES, PLAIN_CLASS
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES, Resource
from tests.integration.definitions import definitions, install
from tests.integration.policies import apply_policies, remove_policies
from tests.waiting import eventually

Document = dict[str, Any]
Warnings = Callable[[str, Resource, Document], Awaitable[list[str]]]

MANIFEST = Path(__file__).parents[3] / "manifests/install.yaml"
POLICY = "rukpak-provisioner-classes"  # the others of the manifest refuse
MISSPELT = "core-rukpak-io-plian"
UPLOAD = {"type": "upload", "upload": {}}


def bundle(name: str = PLAIN_CLASS) -> Document:
    return {"provisionerClassName": name, "source": UPLOAD}


def deployment(name: str = PLAIN_CLASS, template: str = PLAIN_CLASS) -> Document:
    return {"provisionerClassName": name, "template": {"spec": bundle(template)}}


def manifest(resource: Resource, spec: Document, **metadata: Any) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": resource.gvk.kind,
        "metadata": {"name": "class-warnings", **metadata},
        "spec": spec,
    }


@pytest.fixture
async def warnings_of(plane: ControlPlane, admin: Client) -> AsyncIterator[Warnings]:
    """Warnings in the API server's answer to a request; POST is a dry run."""
    await install(admin, definitions())
    documents = [one for one in yaml.load_all(MANIFEST.read_text(), yaml.CSafeLoader) if one]
    documents = [one for one in documents if one["metadata"]["name"] == POLICY]
    await apply_policies(admin, documents)
    connection = await load_connection(plane.kubeconfig)
    async with aiohttp.ClientSession() as session:

        async def ask(method: str, resource: Resource, body: Document) -> list[str]:
            path = f"/apis/{API_VERSION}/{resource.plural}"
            url = connection.server + (f"{path}?dryRun=All" if method == "POST" else f"{path}/class-warnings")
            content = "application/json" if method == "POST" else "application/merge-patch+json"
            headers = {"Content-Type": content}
            async with session.request(
                method, url, data=orjson.dumps(body), headers=headers, ssl=connection.tls or True
            ) as answer:
                assert answer.status < 300, await answer.text()
                return answer.headers.getall("Warning", [])

        async def is_enforced() -> bool:
            return bool(await ask("POST", BUNDLES, manifest(BUNDLES, bundle(MISSPELT))))

        await eventually(is_enforced, what="the API server knows the policy")
        yield ask
    await remove_policies(admin, documents)


async def test_a_class_that_does_not_exist_is_warned_of(warnings_of: Warnings) -> None:
    text = f'\\"{MISSPELT}\\" is not one of core-rukpak-io-plain'
    for resource, spec, field in (
        (BUNDLES, bundle(MISSPELT), "spec"),
        (BUNDLE_DEPLOYMENTS, deployment(MISSPELT), "spec"),
        (BUNDLE_DEPLOYMENTS, deployment(template=MISSPELT), "spec.template.spec"),
        (BUNDLE_INSTANCES, deployment(MISSPELT), "spec"),
    ):
        (found,) = await warnings_of("POST", resource, manifest(resource, spec))
        assert f"{field}.provisionerClassName {text}" in found


@pytest.mark.parametrize("name", [*LEGACY_CLASSES, *LEGACY_CLASSES.values()])
async def test_each_class_of_ours_is_known(warnings_of: Warnings, name: str) -> None:
    assert await warnings_of("POST", BUNDLES, manifest(BUNDLES, bundle(name))) == []
    assert await warnings_of("POST", BUNDLE_DEPLOYMENTS, manifest(BUNDLE_DEPLOYMENTS, deployment(name, name))) == []


async def test_existing_object_is_warned_of_only_when_its_spec_changes(warnings_of: Warnings, admin: Client) -> None:
    body = orjson.dumps(manifest(BUNDLE_DEPLOYMENTS, deployment("example-com-other")))
    await admin.create(BUNDLE_DEPLOYMENTS, "", body)
    labelled = {"metadata": {"labels": {"a": "b"}}}
    changed = {"spec": {"suspend": True}}
    assert await warnings_of("PATCH", BUNDLE_DEPLOYMENTS, labelled) == []
    assert len(await warnings_of("PATCH", BUNDLE_DEPLOYMENTS, changed)) == 1
    await admin.delete(BUNDLE_DEPLOYMENTS, "", "class-warnings")
