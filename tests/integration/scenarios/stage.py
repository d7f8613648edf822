"""The stage of a scenario: names of its own, content in ConfigMaps, and patience with a deadline.

A test waits for what the API server shows, never for a time. It looks for what must *not* happen during a bounded
while, in which `Stage.barrier` proves that the operator was awake and had work behind it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import pytest
import yaml

from e2e.kubectl import Kubectl
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE, OWNER_KIND_LABEL, OWNER_NAME_LABEL, PLAIN_CLASS
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.api.template_hash import bundle_name, template_hash
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError, InvalidError, NotFoundError
from rukpak_py.kube.resources import (
    BUNDLE_DEPLOYMENTS,
    BUNDLE_INSTANCES,
    BUNDLES,
    CONFIG_MAPS,
    CRDS,
    NAMESPACES,
    Resource,
)
from tests.integration.definitions import touch_deleted
from tests.integration.listing import listed
from tests.manifests import bundle, config_map, crd, deployment, manifest, source
from tests.shared_operator import SharedOperator
from tests.waiting import PATIENCE_SECONDS, eventually, until_gone

Document = dict[str, Any]
Check = Callable[[Document], object]

SYSTEM = DEFAULT_SYSTEM_NAMESPACE
COLLECTOR_SECONDS = 90.0  # it looks for kinds that are new to it, ours included, every 30 seconds
BOTH_IDENTITIES = pytest.mark.parametrize("identity", ["own", "account"], indirect=True)
A_WHILE = 3.0  # seconds in which something that must not happen is looked for

EVENTS = Resource(gvk=GroupVersionKind("events.k8s.io", "v1", "Event"), plural="events", namespaced=True)


@dataclass(kw_only=True)
class Stage:
    client: Client
    kubectl: Kubectl
    operator: SharedOperator
    name: str
    namespace: str
    identity: Document = field(default_factory=dict)  # fields of the spec of each deployment
    made: list[tuple[Resource, str, str]] = field(default_factory=list)

    @property
    def group(self) -> str:
        return f"{self.name}.example.com"

    # Content

    async def files(self, files: dict[str, str], *, name: str = "content") -> str:
        """Create an immutable ConfigMap in the system namespace; return its name."""
        name = f"{self.name}-{name}"
        await self.create(CONFIG_MAPS, SYSTEM, {"metadata": {"name": name}, "immutable": True, "data": files})
        return name

    async def content(self, *manifests: Document, name: str = "content") -> Document:
        """The source whose content these manifests are."""
        return source(await self.files({"objects.yaml": yaml.safe_dump_all(manifests)}, name=name))

    # Our kinds

    async def bundle(self, source: Document, *, name: str = "", provisioner: str = PLAIN_CLASS) -> str:
        name = name or self.name
        await self.create(BUNDLES, "", bundle(name, source, provisioner=provisioner))
        return name

    async def deploy(self, source: Document, *, name: str = "", template: Document | None = None, **spec: Any) -> str:
        """A BundleDeployment of this source; `template` is its template's metadata."""
        name = name or self.name
        spec = self.identity | spec
        await self.create(BUNDLE_DEPLOYMENTS, "", deployment(name, source, template_metadata=template, **spec))
        return name

    async def installed(self, source: Document, **given: Any) -> str:
        name = await self.deploy(source, **given)
        await self.until_ready(name)
        return name

    async def edit_template(self, name: str, source: Document) -> None:
        """Replace the whole source: members of the former one go."""
        path = "/spec/template/spec/source"
        patch = [{"op": "replace", "path": path, "value": source}]
        body = json.dumps(patch).encode()
        await self.client.patch(BUNDLE_DEPLOYMENTS, "", name, body, content_type="application/json-patch+json")

    async def edit(self, name: str, **spec: Any) -> None:
        await self.client.patch(BUNDLE_DEPLOYMENTS, "", name, json.dumps({"spec": spec}).encode())

    async def deployment(self, name: str = "") -> Document:
        return await self.get(BUNDLE_DEPLOYMENTS, "", name or self.name)

    async def bundles_of(self, name: str) -> list[Document]:
        """The Bundles of the deployment, oldest first."""
        selector = f"{OWNER_KIND_LABEL}=BundleDeployment,{OWNER_NAME_LABEL}={name}"
        found = await listed(self.client, BUNDLES, label_selector=selector)
        return sorted(found, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))

    async def wanted_bundle(self, name: str) -> str:
        """The name of the Bundle that belongs to the template as it is now."""
        read = read_bundle_deployment(await self.client.get(BUNDLE_DEPLOYMENTS, "", name))
        return bundle_name(name, template_hash(read.spec.template))

    # Any kind

    async def create(self, resource: Resource, namespace: str, body: Document) -> None:
        await self.client.create(resource, namespace, json.dumps(body).encode())
        self.made.append((resource, namespace, body["metadata"]["name"]))

    async def get(self, resource: Resource, namespace: str, name: str) -> Document:
        found: Document = json.loads(await self.client.get(resource, namespace, name))
        return found

    async def exists(self, resource: Resource, namespace: str, name: str) -> bool:
        try:
            await self.client.get_metadata(resource, namespace, name)
        except NotFoundError:
            return False
        return True

    async def refusal(self, call: Awaitable[object]) -> str:
        """The API server's text for what it must refuse."""
        with pytest.raises((ForbiddenError, InvalidError)) as refused:
            await call
        return refused.value.message

    async def settings(self, name: str = "settings") -> Document:
        """A ConfigMap of the test's namespace."""
        return await self.get(CONFIG_MAPS, self.namespace, name)

    async def has_settings(self, name: str = "settings") -> bool:
        return await self.exists(CONFIG_MAPS, self.namespace, name)

    async def run_kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return await asyncio.to_thread(self.kubectl.run, *arguments, stdin=stdin)

    # Patience

    async def until(
        self, resource: Resource, namespace: str, name: str, *checks: Check, seconds: float = PATIENCE_SECONDS
    ) -> Document:
        """The object as soon as all the checks hold at once."""
        seen: Document = {}

        async def is_so() -> bool:
            nonlocal seen
            try:
                seen = await self.get(resource, namespace, name)
            except NotFoundError:
                seen = {}
            return bool(seen) and all(check(seen) for check in checks)

        try:
            await eventually(is_so, what=f"{resource.gvk.kind} {name}", seconds=seconds)
        except TimeoutError as error:
            shown = yaml.safe_dump(seen.get("status") or seen or {"not": "there"})
            raise AssertionError(f"{resource.gvk.kind} {name}: not within {seconds:.0f} s; it is\n{shown}") from error
        return seen

    async def until_deployment(self, name: str, *checks: Check, seconds: float = PATIENCE_SECONDS) -> Document:
        return await self.until(BUNDLE_DEPLOYMENTS, "", name, *checks, seconds=seconds)

    async def until_bundle(self, name: str, *checks: Check) -> Document:
        return await self.until(BUNDLES, "", name, *checks)

    async def until_ready(self, name: str) -> Document:
        return await self.until_deployment(name, is_observed, says("Ready", "True"))

    async def until_gone(self, resource: Resource, namespace: str, name: str) -> None:
        await until_gone(self.client, resource, namespace, name, seconds=COLLECTOR_SECONDS)

    async def until_definition_gone(self, name: str) -> None:
        deadline = monotonic() + A_WHILE

        async def is_gone() -> bool:
            nonlocal deadline
            if monotonic() > deadline:
                deadline += A_WHILE
                await touch_deleted(self.client)
            try:
                await self.client.get_metadata(CRDS, "", name)
            except NotFoundError:
                return True
            return False

        await eventually(is_gone, what=f"CustomResourceDefinition {name} is gone", seconds=COLLECTOR_SECONDS)

    async def barrier(self) -> None:
        """Install something through all of the operator, after everything before it."""
        number = sum(resource is BUNDLE_DEPLOYMENTS for resource, _, _ in self.made)
        content = await self.content(settings(self.namespace, f"barrier-{number}"), name=f"barrier-{number}")
        await self.installed(content, name=f"{self.name}-barrier-{number}")

    async def leave(self) -> None:
        """Delete the objects that the test made, without waiting for their end."""
        for resource, namespace, name in reversed(self.made):
            if resource in {BUNDLES, BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, NAMESPACES, CRDS}:
                try:
                    await self.client.delete(resource, namespace, name)
                except NotFoundError:
                    continue


def settings(namespace: str, name: str = "settings", *, annotations: Document | None = None, **data: str) -> Document:
    """A manifest of a ConfigMap."""
    return config_map(name, namespace, annotations=annotations, **(data or {"key": "value"}))


def definition(group: str, kind: str = "Widget", *, scope: str = "Cluster") -> Document:
    return crd(group, kind=kind, scope=scope)


def widget(group: str, name: str = "one", **more: Any) -> Document:
    return manifest(f"{group}/v1", "Widget", name, **more)


def widgets(group: str) -> Resource:
    return Resource(gvk=GroupVersionKind(group, "v1", "Widget"), plural="widgets", namespaced=False)


# Checks


def condition(document: Document, kind: str) -> Document:
    conditions = (document.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == kind), {})


def says(kind: str, status: str, reason: str = "", *texts: str) -> Check:
    """The condition has this status and reason, and all the texts in its message."""

    def check(document: Document) -> bool:
        found = condition(document, kind)
        message = found.get("message", "")
        return (
            found.get("status") == status
            and (not reason or found["reason"] == reason)
            and all(text in message for text in texts)
        )

    return check


def is_observed(document: Document) -> bool:
    """The status speaks of the spec as it is now."""
    return bool(document["status"]["observedGeneration"] == document["metadata"]["generation"])


def phase(name: str) -> Check:
    return lambda document: document["status"].get("phase") == name
