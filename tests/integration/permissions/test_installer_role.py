"""The printed role is enough: an account that has nothing else installs, changes and removes a bundle with it."""

import shutil
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

import rukpak_py
from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.installer import Resources, needs_of
from rukpak_py.apply.permissions.manifests import roles_for
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError, NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS, SERVICE_ACCOUNTS, Resource
from tests.unit.cli.running import SAMPLES
from tests.waiting import eventually

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io/v1"


def renamed(bundle: str, mark: str, folder: Path) -> Path:
    """A sample with names of its own: the server is shared."""
    copy = folder / bundle
    shutil.copytree(SAMPLES / bundle, copy)
    for file in filter(Path.is_file, copy.rglob("*")):
        text = file.read_text().replace("rukpak.io", f"{mark}.rukpak.test")
        file.write_text(text.replace("greeter", f"greeter-{mark}"))
    return copy


@dataclass(kw_only=True)
class Installer:
    """Writes as the account; what it leaves behind is removed by the admin."""

    admin: Client
    namespace: str
    mark: str = field(default_factory=lambda: f"m{uuid.uuid4().hex[:8]}")
    written: list[tuple[Resource, str, str]] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return self.admin.acting_as(f"system:serviceaccount:{self.namespace}:installer")

    async def give(self, objects: list[Json], *, escalate: bool = False) -> None:
        needs = needs_of(objects, install_namespace=self.namespace, escalate=escalate)
        roles = roles_for(needs.rules, name=f"installer-{self.mark}", account=Account(self.namespace, "installer"))
        for resource, manifest in self._located(roles):
            await self._apply(self.admin, resource, manifest)

    async def install(self, objects: list[Json]) -> None:
        """Twice: what is there is patched."""
        for value in ("first", "second"):
            for resource, manifest in self._located(objects):
                changed = with_label(manifest, f"{self.mark}.rukpak.test/round", value)
                await allowed(partial(self._apply, self.client, resource, changed))

    async def uninstall(self, objects: list[Json]) -> None:
        for resource, manifest in reversed(self._located(objects)):
            place = self._place(resource, manifest)
            await self.client.get_metadata(resource, *place)
            await self.client.delete(resource, *place)

    async def clear(self) -> None:
        for resource, namespace, name in self.written:
            with suppress(NotFoundError):
                await self.admin.delete(resource, namespace, name)

    async def _apply(self, client: Client, resource: Resource, manifest: Json) -> None:
        place = self._place(resource, manifest)
        self.written.append((resource, *place))
        await client.apply(resource, *place, orjson.dumps(manifest), field_manager="installer", force=False)

    def _located(self, objects: list[Json]) -> list[tuple[Resource, Json]]:
        resources = Resources(objects)
        return [(resource_of(resources, manifest), manifest) for manifest in objects]

    def _place(self, resource: Resource, manifest: Json) -> tuple[str, str]:
        metadata = manifest["metadata"]
        return metadata.get("namespace", self.namespace) if resource.namespaced else "", metadata["name"]


def with_label(manifest: Json, key: str, value: str) -> Json:
    metadata = manifest["metadata"]
    return {**manifest, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), key: value}}}


def resource_of(resources: Resources, manifest: Json) -> Resource:
    found = resources.of(manifest)
    gvk = GroupVersionKind.parse(manifest["apiVersion"], manifest["kind"])
    return Resource(gvk=gvk, plural=found.plural, namespaced=found.is_namespaced)


async def allowed(ask: Callable[[], Awaitable[None]]) -> None:
    """Once the server knows the roles, which takes it a moment."""

    async def is_allowed() -> bool:
        try:
            await ask()
        except ForbiddenError as error:
            refusals.append(error)
            return False
        return True

    refusals: list[ForbiddenError] = []
    try:
        await eventually(is_allowed, what="the server knows the roles")
    except TimeoutError:
        raise refusals[-1] from None


@pytest.fixture
async def installer(client: Client, namespace: str) -> AsyncIterator[Installer]:
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "installer"}}
    await client.create(SERVICE_ACCOUNTS, namespace, orjson.dumps(body))
    installer = Installer(admin=client, namespace=namespace)
    yield installer
    await installer.clear()


@pytest.mark.parametrize("escalate", [False, True], ids=["holding", "escalating"])
@pytest.mark.parametrize("watched", [None, "own"], ids=["everywhere", "in-one-namespace"])
@pytest.mark.parametrize("sample", ["greeter-v1", "greeter-v2"])
async def test_a_bundle_is_installed_changed_and_removed(
    installer: Installer, tmp_path: Path, sample: str, watched: str | None, *, escalate: bool
) -> None:
    objects = rukpak_py.render(
        renamed(sample, installer.mark, tmp_path),
        install_namespace=installer.namespace,
        watch_namespaces=None if watched is None else [installer.namespace],
    )
    await installer.give(objects, escalate=escalate)
    await installer.install(objects)
    await installer.uninstall(objects)


@pytest.mark.parametrize("escalate", [False, True], ids=["holding", "escalating"])
async def test_roles_from_elsewhere_and_those_that_the_server_fills(installer: Installer, *, escalate: bool) -> None:
    """Their permissions are the server's business: only `escalate` and `bind` help."""
    name = f"watcher-{installer.mark}"
    account = {"kind": "ServiceAccount", "name": "installer", "namespace": installer.namespace}
    selector = {"matchLabels": {f"{installer.mark}.rukpak.test/aggregate": "true"}}

    def role_ref(kind: str, role: str) -> Json:
        return {"apiGroup": RBAC.partition("/")[0], "kind": kind, "name": role}

    objects: list[Json] = [
        {
            "apiVersion": RBAC,
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "aggregationRule": {"clusterRoleSelectors": [selector]},
        },
        {
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": installer.namespace},
            "roleRef": role_ref("ClusterRole", name),
            "subjects": [account],
        },
        {
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": {"name": f"{name}-view", "namespace": installer.namespace},
            "roleRef": role_ref("ClusterRole", "view"),
            "subjects": [account],
        },
    ]
    await installer.give(objects, escalate=escalate)
    await installer.install(objects)
    await installer.uninstall(objects)


async def test_the_role_allows_nothing_else(installer: Installer, tmp_path: Path) -> None:
    objects = rukpak_py.render(SAMPLES / "notes", install_namespace=installer.namespace)
    mine = [one for one in objects if one["kind"] == "ConfigMap"]
    for one in mine:
        one["metadata"]["namespace"] = installer.namespace
    await installer.give(mine)
    await installer.install(mine)
    with pytest.raises(ForbiddenError):
        await installer.client.get(CONFIG_MAPS, installer.namespace, "another")
    with pytest.raises(ForbiddenError):
        await installer.client.list_metadata(CONFIG_MAPS, installer.namespace)
    with pytest.raises(ForbiddenError):
        await installer.client.get(CONFIG_MAPS, "default", mine[0]["metadata"]["name"])
