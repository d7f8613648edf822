"""The API server ties a source's type to its member, in Bundles and in templates, with texts that users know."""

import json
from typing import Any

import pytest

from rukpak_py.api.names import API_VERSION, GROUP, PLAIN_CLASS, VERSION
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError
from rukpak_py.kube.resources import Resource

pytestmark = pytest.mark.usefixtures("kinds")

Document = dict[str, Any]

BUNDLES = Resource(gvk=GroupVersionKind(GROUP, VERSION, "Bundle"), plural="bundles", namespaced=False)
DEPLOYMENTS = Resource(
    gvk=GroupVersionKind(GROUP, VERSION, "BundleDeployment"), plural="bundledeployments", namespaced=False
)

IMAGE = {"ref": "registry.example/a:v1"}
REPOSITORY = {"repository": "https://example.com/a"}
GIT = REPOSITORY | {"ref": {"tag": "v1"}}
HTTP = {"url": "https://example.com/a.tgz"}
ITEM = {"configMap": {"name": "a"}, "path": "manifests"}
PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

ONE_REF = "bundle.spec.source.git.ref must name exactly one non-empty branch, tag or commit"
ONE_MEMBER = "bundle.spec.source must have exactly one of image, git, configMaps, upload, http"


def needs(member: str) -> str:
    return f'bundle.spec.source.{member} must be set for source type "{member}"'


async def try_bundle(client: Client, spec: Document) -> None:
    body = {"apiVersion": API_VERSION, "kind": "Bundle", "metadata": {"name": "tried"}, "spec": spec}
    await client.create(BUNDLES, "", json.dumps(body).encode(), dry_run=True)


async def try_deployment(client: Client, spec: Document) -> None:
    body = {"apiVersion": API_VERSION, "kind": "BundleDeployment", "metadata": {"name": "tried"}, "spec": spec}
    await client.create(DEPLOYMENTS, "", json.dumps(body).encode(), dry_run=True)


async def try_source(client: Client, kind: str, source: Document) -> None:
    """A dry run: validated in full, never stored."""
    spec = {"provisionerClassName": PLAIN_CLASS, "source": source}
    if kind == "Bundle":
        await try_bundle(client, spec)
    else:
        await try_deployment(client, {"provisionerClassName": PLAIN_CLASS, "template": {"spec": spec}})


both = pytest.mark.parametrize("kind", ["Bundle", "template"])


@both
@pytest.mark.parametrize(
    "source",
    [
        {"type": "image", "image": IMAGE | {"pullSecret": "s", "caBundle": PEM}},
        {"type": "git", "git": GIT | {"directory": ".", "auth": {"secret": {"name": "s"}}, "caBundle": PEM}},
        {"type": "git", "git": REPOSITORY | {"ref": {"branch": "main"}}},
        {"type": "git", "git": REPOSITORY | {"ref": {"commit": "a" * 40}, "auth": {"secret": {}}}},
        {"type": "configMaps", "configMaps": [ITEM, {"configMap": {}}]},
        {"type": "upload", "upload": {}},
        {"type": "http", "http": HTTP | {"sha256": "0" * 64, "auth": {"insecureSkipVerify": True}, "caBundle": PEM}},
        {"type": "unknown", "upload": {}},
    ],
)
async def test_good_sources_pass(client: Client, kind: str, source: Document) -> None:
    await try_source(client, kind, source)


@both
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"type": "image", "git": GIT}, needs("image")),
        ({"type": "git", "image": IMAGE}, needs("git")),
        ({"type": "configMaps", "image": IMAGE}, needs("configmaps")),
        ({"type": "configMaps", "configMaps": []}, needs("configmaps")),
        ({"type": "upload", "image": IMAGE}, needs("upload")),
        ({"type": "http", "image": IMAGE}, needs("http")),
        ({"type": "git", "git": REPOSITORY | {"ref": {"tag": ""}}}, ONE_REF),
        ({"type": "git", "git": REPOSITORY | {"ref": {"tag": "v1", "branch": "main"}}}, ONE_REF),
        ({"type": "http", "http": HTTP | {"sha256": "abc"}}, "sha256"),
        ({"type": "http", "http": HTTP | {"caBundle": "abc"}}, "caBundle"),
        ({"type": "image", "image": {}}, "image.ref: Required value"),
        ({"image": IMAGE}, "source.type: Required value"),
    ],
)
async def test_bad_sources_are_refused(client: Client, kind: str, source: Document, text: str) -> None:
    with pytest.raises(InvalidError) as refused:
        await try_source(client, kind, source)
    assert text in refused.value.message


@pytest.mark.parametrize("source", [{"type": "image", "image": IMAGE, "git": GIT}, {"type": "else"}])
async def test_a_template_needs_exactly_one_source(client: Client, source: Document) -> None:
    with pytest.raises(InvalidError) as refused:
        await try_source(client, "template", source)
    assert f"spec.template.spec.source: Invalid value: {ONE_MEMBER}" in refused.value.message


async def test_a_template_needs_a_git_ref(client: Client) -> None:
    """In a Bundle the schema's oneOf says so first."""
    with pytest.raises(InvalidError, match=ONE_REF):
        await try_source(client, "template", {"type": "git", "git": REPOSITORY | {"ref": {}}})


@both
@pytest.mark.parametrize("name", ["a", "core-rukpak-io-plain", "core.rukpak.io/plain", "core.rukpak.io/helm", "a" * 99])
async def test_class_names_and_their_legacy_spellings_pass(client: Client, kind: str, name: str) -> None:
    spec = {"provisionerClassName": name, "source": {"type": "upload", "upload": {}}}
    if kind == "Bundle":
        await try_bundle(client, spec)
    else:
        await try_deployment(client, {"provisionerClassName": name, "template": {"spec": spec}})


@pytest.mark.parametrize(
    "name", ["", "A", "-a", "a-", "core.rukpak.io", "core.rukpak.io/else", "a/core.rukpak.io/plain"]
)
async def test_other_class_names_are_refused(client: Client, name: str) -> None:
    with pytest.raises(InvalidError, match=r"spec\.provisionerClassName"):
        await try_bundle(client, {"provisionerClassName": name, "source": {"type": "upload", "upload": {}}})


def many_config_maps(number: int) -> dict[str, Any]:
    items = [{"configMap": {"name": f"content-{n}"}, "path": f"p{n}"} for n in range(number)]
    return {"type": "configMaps", "configMaps": items}


async def test_a_long_list_of_config_maps_is_within_the_cost_of_the_rules_and_bounded(client: Client) -> None:
    await try_source(client, "template", many_config_maps(256))
    with pytest.raises(InvalidError, match="must have at most 256 items"):
        await try_source(client, "template", many_config_maps(257))
