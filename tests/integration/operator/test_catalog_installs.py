"""`rukpakctl catalog install` and `outdated` as users type them: catalog and bundles are images of a registry."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import (
    BUNDLE_INSTANCE_KIND,
    CATALOG_BUNDLE_ANNOTATION,
    CATALOG_CHANNEL_ANNOTATION,
    CATALOG_PACKAGE_ANNOTATION,
    REGISTRY_CLASS,
)
from rukpak_py.cli.catalogs.opening import CATALOG_LABEL
from rukpak_py.cli.cluster import catalog_installs
from rukpak_py.cli.cluster.deployments import DeploymentCommandError, find_deployment
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES
from tests import manifests
from tests.integration.command_line import Done, rukpakctl
from tests.integration.operator import olm
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.upgrading import waits
from tests.manifests import Document
from tests.unit.sources.image.image_registry import REPOSITORY
from tests.waiting import eventually

STABLE = [
    {"name": "1.0.0"},
    {"name": "1.1.0", "replaces": "1.0.0"},
    {"name": "1.2.0", "replaces": "1.1.0"},
]
USER = "kubectl-client-side-apply"
ARGO = {"argocd.argoproj.io/tracking-id": "shop:core.rukpak.io/BundleDeployment:/web"}


@dataclass(kw_only=True)
class Shop:
    """A registry with a catalog of one package, and the user who installs it."""

    tenant: Tenant
    plane: ControlPlane
    fetch: Fetching
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def package(self) -> str:
        return f"p{self.tenant.name.removeprefix('t-')}"

    @property
    def image(self) -> str:
        return f"{self.fetch.registry.address}/{REPOSITORY}"

    @property
    def catalog(self) -> str:
        return f"{self.image}:catalog"

    def publish(self, entries: list[dict[str, Any]] = STABLE, *, package: str = "") -> None:
        """Put the bundles into the registry, by tags, and a catalog of them."""
        package = package or self.package
        blobs: list[dict[str, Any]] = [{"schema": "olm.package", "name": package, "defaultChannel": "stable"}]
        named = [
            {key: f"{package}.v{value}" if key in {"name", "replaces"} else value for key, value in one.items()}
            for one in entries
        ]
        blobs += [
            {"schema": "olm.channel", "package": package, "name": channel, "entries": named}
            for channel in ("stable", "fast")
        ]
        for version in (str(one["name"]) for one in entries):
            tree = olm.files_of(package, version=version)
            found = self.fetch.contents.image({path: tree[path] for path in tree}, tag=f"v{version}")
            self.digests[version] = found["digest"]
            value = {"packageName": package, "version": version}
            blobs.append(
                {
                    "schema": "olm.bundle",
                    "package": package,
                    "name": f"{package}.v{version}",
                    "image": f"{self.image}:v{version}",
                    "properties": [{"type": "olm.package", "value": value}],
                }
            )
        files = {f"configs/{package}/catalog.yaml": yaml.safe_dump_all(blobs).encode()}
        self.fetch.contents.image(files, tag="catalog", labels={CATALOG_LABEL: "/configs"})

    async def install(self, *arguments: str, package: str = "", code: int = 0) -> Done:
        self.tenant.sees_to(self.tenant.name)
        given = ("--catalog", self.catalog, "--name", self.tenant.name, "--apply", *arguments)
        done = await rukpakctl(self.plane, "catalog", "install", package or self.package, *given)
        assert done.returncode == code, done.stderr
        return done

    async def outdated(self, *arguments: str, code: int = 0) -> str:
        """The row of the deployment."""
        done = await rukpakctl(self.plane, "catalog", "outdated", "--catalog", self.catalog, *arguments)
        assert done.returncode == code, done.stderr
        (row,) = [line for line in done.stdout.splitlines() if line.startswith(self.tenant.name)]
        return " ".join(row.split()[1:])

    async def has(self, version: str) -> Document:
        """The deployment, once this version is installed and healthy."""
        await self.tenant.until(
            lambda seen: (seen.get("status") or {}).get("content", {}).get("version") == version,
            what=version,
            seconds=60,
        )
        return await self.tenant.ready()

    async def declare(self, *, annotations: Mapping[str, str], manager: str = USER, kind: str = "") -> None:
        """Apply the deployment as a client that is no command of ours."""
        image = {"ref": f"{self.image}@{self.digests['1.0.0']}"}
        template = {"spec": {"provisionerClassName": REGISTRY_CLASS, "source": {"type": "image", "image": image}}}
        body = manifests.deployment(self.tenant.name, {}, provisionerClassName=REGISTRY_CLASS, template=template)
        body["spec"]["installNamespace"] = self.tenant.namespace
        body["metadata"]["annotations"] = dict(annotations)
        body["kind"] = kind or body["kind"]
        self.tenant.sees_to(self.tenant.name)
        resource = BUNDLE_INSTANCES if kind else BUNDLE_DEPLOYMENTS
        await self.tenant.admin.apply(
            resource, "", self.tenant.name, orjson.dumps(body), field_manager=manager, force=True
        )


@asynccontextmanager
async def shopping(tenant: Tenant, plane: ControlPlane) -> AsyncIterator[Shop]:
    async with fetching(tenant) as fetch:
        shop = Shop(tenant=tenant, plane=plane, fetch=fetch)
        shop.publish()
        yield shop


@pytest.fixture
async def shop(tenant: Tenant, plane: ControlPlane) -> AsyncIterator[Shop]:
    """Without an operator."""
    async with shopping(tenant, plane) as shop:
        yield shop


def version_of(document: Document) -> str:
    """The version that is installed."""
    return str(document.get("status", {}).get("content", {}).get("version", ""))


def ref_of(document: Document) -> str:
    return str(document["spec"]["template"]["spec"]["source"]["image"]["ref"])


async def test_package_is_installed_and_upgraded_step_by_step(shop: Shop, operators: StartOperator) -> None:
    await operators(arguments=[LOOPBACK]).start()
    tenant = shop.tenant
    done = await shop.install("--version-range", "1.0.0", "--install-namespace", tenant.namespace)
    assert done.stdout == (
        f"bundledeployments.core.rukpak.io/{tenant.name} created: {shop.package}.v1.0.0 of channel stable\n"
    )
    deployment = await shop.has("1.0.0")
    assert ref_of(deployment) == f"{shop.image}@{shop.digests['1.0.0']}"
    assert deployment["metadata"]["annotations"][CATALOG_BUNDLE_ANNOTATION] == f"{shop.package}.v1.0.0"
    assert await shop.outdated("--exit-code", code=1) == f"{shop.package} stable 1.0.0 1.1.0 1.2.0 upgrade"

    edited = {"metadata": {"labels": {"team": "shop"}}, "spec": {"prune": {"enabled": False}}}
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, orjson.dumps(edited))
    done = await shop.install()
    assert f"set from {shop.package}.v1.0.0 to {shop.package}.v1.1.0: replaces {shop.package}.v1.0.0" in done.stdout
    deployment = await shop.has("1.1.0")
    assert (deployment["metadata"]["labels"]["team"], deployment["spec"]["prune"]) == ("shop", {"enabled": False})
    assert deployment["spec"]["installNamespace"] == tenant.namespace
    assert await shop.outdated() == f"{shop.package} stable 1.1.0 1.2.0 1.2.0 upgrade"

    await shop.install()
    deployment = await shop.has("1.2.0")
    assert ref_of(deployment) == f"{shop.image}@{shop.digests['1.2.0']}"
    assert await shop.outdated("--exit-code") == f"{shop.package} stable 1.2.0 - 1.2.0 up to date"
    done = await shop.install()
    assert f"nothing newer than {shop.package}.v1.2.0 in channel stable" in done.stdout
    after = await tenant.deployment()
    assert after["metadata"]["generation"] == deployment["metadata"]["generation"]

    done = await shop.install("--from", "1.0.0", code=3)
    assert f"has installed {shop.package}.v1.2.0, not 1.0.0: leave out --from" in done.stderr
    done = await shop.install("--channel", "fast")
    assert done.stdout.endswith(f"stays at {shop.package}.v1.2.0, and follows channel fast now\n")
    after = await tenant.deployment()
    assert after["metadata"]["annotations"][CATALOG_CHANNEL_ANNOTATION] == "fast"
    assert ref_of(after) == ref_of(deployment)


async def test_upgrade_goes_on_from_what_is_installed_and_not_from_what_failed(
    shop: Shop, operators: StartOperator
) -> None:
    """The image of the next version is gone: what was asked for is no reason to skip a step."""
    await operators(arguments=[LOOPBACK]).start()
    await shop.install("--version-range", "1.0.0", "--install-namespace", shop.tenant.namespace)
    await shop.has("1.0.0")
    lost = shop.fetch.contents.documents.pop(shop.digests["1.1.0"])
    await shop.install()
    await shop.tenant.until(lambda seen: ref_of(seen).endswith(shop.digests["1.1.0"]), what="1.1.0 is asked for")
    assert await shop.outdated() == f"{shop.package} stable 1.0.0 1.1.0 1.2.0 asked for"
    done = await shop.install("--version-range", "<1.1.0", code=1)
    assert f"it asks for {shop.package}.v1.1.0, which is not installed yet" in done.stderr
    done = await shop.install()
    assert f"asks for {shop.package}.v1.1.0 already" in done.stdout
    shop.fetch.contents.documents[shop.digests["1.1.0"]] = lost
    await shop.tenant.admin.patch(
        BUNDLE_DEPLOYMENTS, "", shop.tenant.name, b'{"metadata":{"annotations":{"core.rukpak.io/reconcile-at":"1"}}}'
    )
    await shop.has("1.1.0")


async def test_upgrade_waits_for_an_approval_where_the_installation_asked_for_it(
    shop: Shop, operators: StartOperator
) -> None:
    await operators(arguments=[LOOPBACK]).start()
    tenant = shop.tenant
    chosen = ("--version-range", "1.0.0", "--install-namespace", tenant.namespace, "--approval", "Manual")
    await shop.install(*chosen)
    await shop.has("1.0.0")
    done = await shop.install("--approval", "Automatic")
    assert f"rukpakctl approve {tenant.name}" in done.stdout
    assert "spec.upgrades.approval stays as it is" in done.stderr
    await waits(tenant)
    assert await shop.outdated() == f"{shop.package} stable 1.0.0 1.1.0 1.2.0 asked for"
    done = await rukpakctl(shop.plane, "approve", tenant.name)
    assert done.returncode == 0, done.stderr
    await shop.has("1.1.0")


async def test_instance_that_owns_the_deployment_is_changed(shop: Shop, operators: StartOperator) -> None:
    await operators(arguments=[LOOPBACK]).start()
    tenant = shop.tenant
    await shop.declare(annotations={}, kind=BUNDLE_INSTANCE_KIND)
    try:

        async def is_there() -> bool:
            with suppress(NotFoundError):
                return version_of(await tenant.deployment()) == "1.0.0"
            return False

        await eventually(is_there, what="1.0.0 is installed", seconds=60)
        done = await shop.install()
        assert f"bundleinstances.core.rukpak.io/{tenant.name} set from {shop.package}.v1.0.0" in done.stdout
        await shop.has("1.1.0")
        instance = await tenant.read(BUNDLE_INSTANCES, "", tenant.name)
        assert instance["metadata"]["annotations"][CATALOG_BUNDLE_ANNOTATION] == f"{shop.package}.v1.1.0"
        assert await shop.outdated() == f"{shop.package} stable 1.1.0 1.2.0 1.2.0 upgrade"
    finally:
        await tenant.admin.delete(BUNDLE_INSTANCES, "", tenant.name)


async def test_dry_run_prints_the_change_and_makes_none(shop: Shop) -> None:
    done = await shop.install("--dry-run")
    assert yaml.safe_load(done.stdout)["metadata"]["name"] == shop.tenant.name
    with pytest.raises(NotFoundError):
        await shop.tenant.deployment()
    await shop.declare(annotations={CATALOG_PACKAGE_ANNOTATION: shop.package})
    before = await shop.tenant.deployment()
    done = await shop.install("--dry-run")
    assert yaml.safe_load(done.stdout)["spec"] == {
        "template": {"spec": {"source": {"image": {"ref": f"{shop.image}@{shop.digests['1.2.0']}"}}}}
    }
    assert (await shop.tenant.deployment())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_deployment_of_another_package_is_refused(shop: Shop) -> None:
    await shop.declare(annotations={CATALOG_PACKAGE_ANNOTATION: "other"})
    before = await shop.tenant.deployment()
    done = await shop.install("--force", code=3)
    assert f'has package "other", not "{shop.package}": choose another name with --name' in done.stderr
    assert (await shop.tenant.deployment())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("annotations", "manager", "text"),
    [
        (ARGO, USER, "it is managed by Argo CD (application shop)"),
        ({}, "kustomize-controller", 'field manager "kustomize-controller" owns spec.template.spec.source.image.ref'),
    ],
    ids=["argo", "manager"],
)
async def test_deployment_that_another_client_manages_is_not_changed(
    shop: Shop, annotations: Mapping[str, str], manager: str, text: str
) -> None:
    marks = {CATALOG_PACKAGE_ANNOTATION: shop.package, **annotations}
    await shop.declare(annotations=marks, manager=manager)
    before = await shop.tenant.deployment()
    done = await shop.install(code=1)
    assert text in done.stderr
    assert "Nothing was changed" in done.stderr
    assert ref_of(yaml.safe_load(done.stdout)).endswith(shop.digests["1.2.0"])
    assert (await shop.tenant.deployment())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    await shop.install("--force")
    assert ref_of(await shop.tenant.deployment()).endswith(shop.digests["1.2.0"])


async def test_change_is_made_to_what_was_read_and_nothing_newer(shop: Shop) -> None:
    """The operator writes to the object all the time, which is no reason to fail; another spec is one."""
    tenant, marks = shop.tenant, {CATALOG_PACKAGE_ANNOTATION: shop.package}
    await shop.declare(annotations=marks)
    read = await find_deployment(tenant.admin, tenant.name)
    assert read is not None
    wanted = catalog_installs.upgrade_of(read, f"{shop.image}@{shop.digests['1.1.0']}", {})
    assert wanted is not None
    status = b'{"status":{"observedGeneration":1}}'
    await tenant.admin.patch_status(BUNDLE_DEPLOYMENTS, "", tenant.name, status)
    await catalog_installs.upgrade(tenant.admin, wanted)
    assert ref_of(await tenant.deployment()).endswith(shop.digests["1.1.0"])
    await shop.declare(annotations=marks)
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, b'{"spec":{"suspend":true}}')
    with pytest.raises(DeploymentCommandError, match="was changed meanwhile, and nothing is upgraded"):
        await catalog_installs.upgrade(tenant.admin, wanted)


async def test_channel_that_is_gone_is_told(shop: Shop) -> None:
    marks = {CATALOG_PACKAGE_ANNOTATION: shop.package, "core.rukpak.io/catalog-channel": "beta"}
    await shop.declare(annotations=marks)
    done = await shop.install(code=1)
    assert f'package "{shop.package}" has no channel "beta"' in done.stderr
    assert "choose another with --channel" in done.stderr
    await shop.install("--channel", "stable")
    found = await shop.tenant.deployment()
    assert found["metadata"]["annotations"]["core.rukpak.io/catalog-channel"] == "stable"
