"""Everything that a broken deployment is made of: one namespace, one name, content, and servers of sources.

Manifests and patches go through kubectl, as users send them. Names are the scene's own, so that scenes stand side by
side on one cluster. What a kubelet would report is written through the status subresource where no node is: the API
server, the controllers of the workloads and the operator are real.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from e2e.kubectl import Kubectl, KubectlError
from rukpak_py.api.names import (
    ALLOW_DATA_LOSS_ANNOTATION,
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    DEFAULT_SYSTEM_NAMESPACE,
    PLAIN_CLASS,
)
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.broken_deployments.servers import Servers
from tests.manifests import Document, config_map, manifest
from tests.waiting import PATIENCE_SECONDS, eventually

DEPLOYMENT = "bundledeployment"
KUBELET_OF_THE_TEST = "none"  # a scheduler that does not exist: no other client writes the status of the pods


@dataclass(kw_only=True)
class Scene:
    """`name`: of the deployment. `namespace`: of its objects. `content_url`: of the operator's content server.

    `has_node`: kubelets report on pods, so the scene does not.
    """

    client: Client
    kubectl: Kubectl
    servers: Servers
    name: str
    namespace: str
    system: str = DEFAULT_SYSTEM_NAMESPACE
    content_url: str = ""
    has_node: bool = False
    _contents: int = 0
    _made: list[Document] = field(default_factory=list)

    # kubectl

    async def run(self, *arguments: str, stdin: str | None = None) -> str:
        return await asyncio.to_thread(self.kubectl.run, *arguments, stdin=stdin)

    async def create(self, *documents: Document) -> None:
        self._made += documents
        await self.run("create", "--filename=-", stdin=yaml.safe_dump_all(documents))

    async def apply(self, *documents: Document) -> None:
        await self.run(
            "apply", "--server-side", "--force-conflicts", "--filename=-", stdin=yaml.safe_dump_all(documents)
        )

    async def delete(self, kind: str, name: str) -> None:
        await self.run("delete", kind, name, f"--namespace={self.namespace}", "--wait=false")

    async def patch_status(self, kind: str, name: str, **status: Any) -> None:
        """Write as the controller, or the kubelet, of the object does."""
        where = (f"--namespace={self.namespace}", "--subresource=status", "--type=merge")
        await self.run("patch", kind, name, *where, f"--patch={json.dumps({'status': status})}")

    async def refusal(self, document: Document) -> str:
        """The answer of the API server, which is asked to create it and keep nothing; empty: it would."""
        try:
            await self.run("create", "--dry-run=server", "--filename=-", stdin=yaml.safe_dump(document))
        except KubectlError as refused:
            return str(refused)
        return ""

    async def until_exists(self, kind: str, name: str) -> None:
        async def exists() -> str:
            with suppress(KubectlError):  # the kind itself may be new
                return await self.run(
                    "get", kind, name, f"--namespace={self.namespace}", "--ignore-not-found", "--output=name"
                )
            return ""

        await eventually(exists, what=f"{kind} {name} exists")

    # Content

    async def source(self, *documents: Document) -> Document:
        """A source with these manifests."""
        return await self.files({"objects.yaml": yaml.safe_dump_all(documents)})

    async def files(self, files: dict[str, str]) -> Document:
        name = self.content_name()
        await self.create({**config_map(name, self.system, **files), "immutable": True})
        return content_of(name)

    def content_name(self) -> str:
        """The name of another ConfigMap with content."""
        self._contents += 1
        return f"{self.name}-content-{self._contents}"

    def settings(self, name: str = "settings", **data: str) -> Document:
        return config_map(name, self.namespace, **(data or {"key": "value"}))

    def called(self, kind: str, name: str) -> str:
        """The name of an object of the namespace in messages."""
        return f"{kind}{'/' if '.' in kind else ' '}{self.namespace}/{name}"

    # The deployment

    async def deploy(self, source: Document, *, provisioner: str = PLAIN_CLASS, **spec: Any) -> None:
        await self.create(self.deployment(source, provisioner=provisioner, **spec))

    def deployment(self, source: Document, *, provisioner: str = PLAIN_CLASS, **spec: Any) -> Document:
        template = {"spec": {"provisionerClassName": provisioner, "source": source}}
        given = {"provisionerClassName": provisioner, "template": template} | spec
        return manifest(API_VERSION, BUNDLE_DEPLOYMENT_KIND, self.name, spec=given)

    async def patch(self, **spec: Any) -> None:
        await self.run("patch", DEPLOYMENT, self.name, "--type=merge", f"--patch={json.dumps({'spec': spec})}")

    async def change_source(self, source: Document) -> None:
        change = [{"op": "replace", "path": "/spec/template/spec/source", "value": source}]
        await self.run("patch", DEPLOYMENT, self.name, "--type=json", f"--patch={json.dumps(change)}")

    async def annotate(self, annotation: str, value: str) -> None:
        await self.run("annotate", "--overwrite", DEPLOYMENT, self.name, f"{annotation}={value}")

    async def read(self) -> Document | None:
        """None: there is none."""
        with suppress(NotFoundError):
            found: Document = json.loads(await self.client.get(BUNDLE_DEPLOYMENTS, "", self.name))
            return found
        return None

    async def until(
        self, check: Callable[[Document], object], *, what: str, seconds: float = PATIENCE_SECONDS
    ) -> Document:
        seen: Document | None = None

        async def look() -> Document | None:
            nonlocal seen
            seen = await self.read()
            return seen if seen is not None and check(seen) else None

        try:
            return await eventually(look, what=what, seconds=seconds)
        except TimeoutError as error:
            shown = "\n".join(map(_line, (seen or {}).get("status", {}).get("conditions", [])))
            raise AssertionError(f"{self.name}: not within {seconds:.0f} s: {what}; it is\n{shown}") from error

    async def until_ready(self) -> Document:
        return await self.until(is_ready, what="Ready")

    async def until_gone(self) -> None:
        async def is_gone() -> bool:
            return await self.read() is None

        await eventually(is_gone, what=f"{self.name} is gone")

    # Pods

    async def pod(self, app: str, *, other_than: str = "") -> str:
        """The name of a pod of this app."""

        async def look() -> str:
            found = await self.run(
                "get", "pods", f"--namespace={self.namespace}", f"--selector=app={app}", "--output=name"
            )
            names = [line.removeprefix("pod/") for line in found.splitlines()]
            return next((name for name in names if name != other_than), "")

        return await eventually(look, what=f"there is a pod of {app}")

    async def report(self, pod: str, phase: str = "Pending", *, ready: bool = False, **container: Any) -> None:
        """Report on the one container of a pod as its kubelet does; nothing where a real one does."""
        if self.has_node:
            return
        status = {"name": "web", "image": "web", "imageID": "", "ready": ready, "restartCount": 0, **container}
        conditions = [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": str(ready), **({} if ready else {"reason": "ContainersNotReady"})},
        ]
        await self.patch_status("pod", pod, phase=phase, conditions=conditions, containerStatuses=[status])

    async def run_well(self, pod: str) -> None:
        """Report that the pod runs, and is ready."""
        await self.report(pod, "Running", ready=True, started=True, state={"running": {"startedAt": NOW}})

    # The end

    async def leave(self) -> None:
        """Delete the deployment, and what the scene made outside of its namespace."""
        with suppress(KubectlError):
            await self.annotate(ALLOW_DATA_LOSS_ANNOTATION, "true")
        for one in reversed(self._made):
            place = one["metadata"].get("namespace", "")
            if place == self.namespace:
                continue
            with suppress(KubectlError):
                await self.run(
                    "delete", "--filename=-", "--ignore-not-found", "--wait=false", stdin=yaml.safe_dump(one)
                )


NOW = "2026-01-01T00:00:00Z"


def content_of(*config_maps: str, path: str = "manifests") -> Document:
    """The source of these ConfigMaps."""
    return {"type": "configMaps", "configMaps": [{"path": path, "configMap": {"name": one}} for one in config_maps]}


def condition(document: Document, kind: str) -> Document:
    """Empty while it is not there."""
    found = document.get("status", {}).get("conditions") or ()
    return next((one for one in found if one["type"] == kind), {})


def _line(one: Document) -> str:
    return f"{one['type']} {one['status']} {one['reason']}: {one['message']}"


def is_ready(document: Document) -> bool:
    """With what its spec says now."""
    ready = condition(document, "Ready")
    is_now = ready.get("observedGeneration") == document["metadata"]["generation"]
    return ready.get("status") == "True" and ready.get("reason") == "Succeeded" and is_now


@asynccontextmanager
async def scene_on(
    client: Client, kubeconfig: Path, folder: Path, *, name: str, namespace: str, **more: Any
) -> AsyncIterator[Scene]:
    """A scene until the end of the block. `folder`: for what its servers keep."""
    async with Servers.in_folder(folder) as servers:
        kubectl = Kubectl.on(kubeconfig)
        scene = Scene(client=client, kubectl=kubectl, servers=servers, name=name, namespace=namespace, **more)
        try:
            yield scene
        finally:
            await scene.leave()
