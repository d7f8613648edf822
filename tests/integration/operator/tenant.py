"""One user of a control plane: namespaces and names of its own, what it deploys and what it sees."""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

import orjson

from rukpak_py.api.names import OWNER_NAME_LABEL
from rukpak_py.api.policies.installation import Installation
from rukpak_py.controllers.policy_guard import SETTLE_SECONDS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, NAMESPACES, Resource
from tests import manifests
from tests.integration.claims import claim
from tests.integration.listing import listed
from tests.integration.policies import install_policies, remove_policies
from tests.manifests import Document
from tests.waiting import eventually, until_gone

SERVICES = Resource(gvk=GroupVersionKind("", "v1", "Service"), plural="services", namespaced=True)
WORKLOADS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
SHIPPED = (CONFIG_MAPS, SERVICES, WORKLOADS)


class Tenant:
    def __init__(self, admin: Client) -> None:
        self.admin = admin
        mark = uuid.uuid4().hex[:8]
        self.name = f"t-{mark}"  # of its deployment, unless a test has several
        self.namespace = f"app-{mark}"
        self.system = f"system-{mark}"
        self.installation = Installation(system_namespace=self.system)  # of the operators of the tenant
        self._policies: list[Document] = []
        self._settled_at = 0.0  # monotonic: of what is created with an account earlier nothing is known
        self._deployed: set[str] = set()

    async def begin(self) -> None:
        await claim(self.admin, None)
        for name in (self.namespace, self.system):
            body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            await self.admin.create(NAMESPACES, "", body)

    async def end(self) -> None:
        """Nothing is left for the next operator on this control plane to look after."""
        for name in self._deployed:
            with suppress(NotFoundError):
                await self.admin.patch(BUNDLE_DEPLOYMENTS, "", name, b'{"metadata":{"finalizers":null}}')
                await self.admin.delete(BUNDLE_DEPLOYMENTS, "", name)
        for name in self._deployed:
            await self.gone(BUNDLE_DEPLOYMENTS, name)
            # Not left to the collector: after a change of our CRDs it needs up to half a minute to see anything.
            for _, bundle in await self.owned(BUNDLES, name=name):
                with suppress(NotFoundError):
                    await self.admin.delete(BUNDLES, "", bundle)
            await self.left_nothing(BUNDLES, name=name)
        if self._policies:
            await remove_policies(self.admin, self._policies)

    async def guard(self) -> None:
        """The admission policies of identities are in force until the tenant ends; they are the same for all tests."""
        if not self._policies:
            await install_policies(self.admin, self.installation)
            self._policies = self.installation.policies()
            self._settled_at = monotonic() + SETTLE_SECONDS + 2  # times of the server have no fractions

    async def settled(self) -> None:
        """The policies are in force, and what is created with an account from now on is judged by them."""
        await self.guard()
        await asyncio.sleep(self._settled_at - monotonic())

    async def publish(self, name: str, documents: Iterable[Document]) -> None:
        """Make a bundle available under this name."""
        await self.admin.create(CONFIG_MAPS, self.system, manifests.content(name, self.system, documents))

    async def deploy(self, *sources: str, name: str = "", **spec: object) -> str:
        """Create the deployment, or change it; its uid."""
        name = name or self.name
        self._deployed.add(name)
        if "serviceAccountName" in spec or self.installation.default_account:
            await self.settled()
        body = orjson.dumps(manifests.deployment(name, manifests.source(*sources), **spec))
        answer = await self.admin.apply(BUNDLE_DEPLOYMENTS, "", name, body, field_manager="user", force=True)
        return answer.metadata.uid

    def sees_to(self, name: str) -> None:
        """Delete a deployment of this name, which another client makes, at the end."""
        self._deployed.add(name)

    async def deployment(self, name: str = "") -> Document:
        return await self.read(BUNDLE_DEPLOYMENTS, "", name or self.name)

    async def read(self, resource: Resource, namespace: str, name: str) -> Document:
        document: Document = orjson.loads(await self.admin.get(resource, namespace, name))
        return document

    async def until(
        self, condition: Callable[[Document], object], *, what: str, name: str = "", seconds: float = 30.0
    ) -> Document:
        """The deployment once it is so."""

        async def look() -> Document | None:
            with suppress(ApiError):  # a server that is restarting
                found = await self.deployment(name)
                return found if condition(found) else None
            return None

        try:
            return await eventually(look, what=what, seconds=seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error}; the deployment is {await self.deployment(name)}") from error

    async def ready(self, *, name: str = "", seconds: float = 30.0) -> Document:
        """Ready with what its spec says now, and nothing older."""
        return await self.until(is_ready, what="Ready", name=name, seconds=seconds)

    async def gone(self, resource: Resource, name: str, namespace: str = "") -> None:
        await until_gone(self.admin, resource, namespace, name)

    async def owned(self, *resources: Resource, name: str = "") -> dict[tuple[str, str], Document]:
        """Objects with the label of the deployment, by kind and name."""
        selector = f"{OWNER_NAME_LABEL}={name or self.name}"
        found: dict[tuple[str, str], Document] = {}
        for resource in resources or SHIPPED:
            for one in await listed(self.admin, resource, label_selector=selector):
                found[resource.gvk.kind, one["metadata"]["name"]] = one
        return found

    async def left_nothing(self, *resources: Resource, name: str = "") -> None:
        async def look() -> bool:
            return not await self.owned(*resources, name=name)

        await eventually(look, what=f"nothing of {name or self.name} is left")

    async def together(self, *work: Callable[[], Any]) -> None:
        await asyncio.gather(*(one() for one in work))


def is_ready(deployment: Document) -> bool:
    generation = deployment["metadata"]["generation"]
    ready = condition(deployment, "Ready")
    return ready.get("status") == "True" and ready.get("observedGeneration") == generation


def condition(document: Document, kind: str) -> Document:
    """Empty while it is not there."""
    conditions: Sequence[Document] = document.get("status", {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})
