"""Refusals of the API server itself. Nothing is ever stored."""

import json
import re
from typing import Any

import pytest

from rukpak_py.api.names import API_VERSION, GROUP, PLAIN_CLASS, VERSION
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError, NotFoundError
from rukpak_py.kube.resources import Resource
from tests.integration.definitions import definitions, install

Document = dict[str, Any]

BUNDLES = Resource(gvk=GroupVersionKind(GROUP, VERSION, "Bundle"), plural="bundles", namespaced=False)
DEPLOYMENTS = Resource(
    gvk=GroupVersionKind(GROUP, VERSION, "BundleDeployment"), plural="bundledeployments", namespaced=False
)

IMAGE = {"ref": "localhost/testdata/bundles/plain-v0:valid"}
GIT = {"repository": "https://example.com/combo-bundle", "ref": {"commit": "9e3ab7f1a36302ef512294d5c9f2e9b9566b811e"}}
IMAGE_SOURCE = {"type": "image", "image": IMAGE}

TWO_MATCH = "must validate one and only one schema (oneOf). Found 2 valid alternatives"
NONE_MATCH = "must validate one and only one schema (oneOf). Found none valid"


def bundle_spec(source: Document, class_name: str = PLAIN_CLASS) -> Document:
    return {"provisionerClassName": class_name, "source": source}


def deployment_spec(class_name: str, template_class_name: str = PLAIN_CLASS) -> Document:
    return {"provisionerClassName": class_name, "template": {"spec": bundle_spec(IMAGE_SOURCE, template_class_name)}}


@pytest.fixture(autouse=True)
async def kinds(client: Client) -> None:
    await install(client, definitions())


async def refusal(client: Client, resource: Resource, name: str, spec: Document) -> str:
    """The API server's text for an object that it must refuse and not store."""
    body = {"apiVersion": API_VERSION, "kind": resource.gvk.kind, "metadata": {"name": name}, "spec": spec}
    with pytest.raises(InvalidError) as refused:
        await client.create(resource, "", json.dumps(body).encode())
    assert (refused.value.status, refused.value.reason) == (422, "Invalid")
    with pytest.raises(NotFoundError):
        await client.get_metadata(resource, "", name)
    return refused.value.message


async def test_scenario_01_the_name_of_a_bundle_is_too_long(client: Client) -> None:
    name = "olm-crds-too-long-name-for-the-bundle-1234567890-1234567890"
    message = await refusal(client, BUNDLES, name, bundle_spec(IMAGE_SOURCE))
    assert re.search(r"metadata\.name: Too long: may not be (longer than 52|more than 52 bytes)", message)


async def test_scenario_02_two_sources(client: Client) -> None:
    git = GIT | {"ref": {"commit": "9e3ab7f1", "tag": "v0.0.1"}}
    source = {"type": "invalid source", "image": IMAGE, "git": git}
    assert TWO_MATCH in await refusal(client, BUNDLES, "scenario-02", bundle_spec(source))


async def test_scenario_03_no_source(client: Client) -> None:
    assert NONE_MATCH in await refusal(client, BUNDLES, "scenario-03", bundle_spec({"type": "invalid source"}))


async def test_scenario_04_two_git_refs(client: Client) -> None:
    git = GIT | {"ref": {"commit": "9e3ab7f1", "tag": "v0.0.1"}}
    message = await refusal(client, BUNDLES, "scenario-04", bundle_spec({"type": "git", "git": git}))
    assert f'"spec.source.git.ref" {TWO_MATCH}' in message


async def test_scenario_05_an_empty_git_ref(client: Client) -> None:
    message = await refusal(client, BUNDLES, "scenario-05", bundle_spec({"type": "git", "git": GIT | {"ref": {}}}))
    assert f'"spec.source.git.ref" {NONE_MATCH}' in message


async def test_scenario_06_the_class_of_a_bundle_is_no_class_name(client: Client) -> None:
    message = await refusal(client, BUNDLES, "scenario-06", bundle_spec(IMAGE_SOURCE, "invalid/class-name"))
    assert 'Invalid value: "invalid/class-name": spec.provisionerClassName' in message


async def test_scenario_07_the_name_of_a_deployment_is_too_long(client: Client) -> None:
    name = "olm-crds-too-long-name-for-the-bundledeployment-1234567890"
    message = await refusal(client, DEPLOYMENTS, name, deployment_spec(PLAIN_CLASS))
    assert re.search(r"metadata\.name: Too long: may not be (longer than 45|more than 45 bytes)", message)


async def test_scenario_08_the_class_of_a_deployment_is_no_class_name(client: Client) -> None:
    message = await refusal(client, DEPLOYMENTS, "scenario-08", deployment_spec("invalid/class-name"))
    assert 'Invalid value: "invalid/class-name": spec.provisionerClassName' in message


async def test_scenario_09_the_class_of_a_template_is_no_class_name(client: Client) -> None:
    spec = deployment_spec(PLAIN_CLASS, "invalid/class-name")
    message = await refusal(client, DEPLOYMENTS, "scenario-09", spec)
    assert 'Invalid value: "invalid/class-name": spec.template.spec.provisionerClassName' in message
