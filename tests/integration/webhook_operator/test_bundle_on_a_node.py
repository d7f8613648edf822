"""The bundles' operator in pods: what is rendered runs, is called through its Service, and is replaced unnoticed."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

import rukpak_py
from e2e.cluster.pki import Authority, Subject
from e2e.kubectl import Kubectl
from e2e.webhook_operator import image
from e2e.webhook_operator.bundle import GadgetBundle
from e2e.webhook_operator.gadgets import Gadgets
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import Resource
from tests.integration.webhook_operator.client_configs import client_configs, encoded, trust
from tests.integration.webhook_operator.program import Json
from tests.unpack_tool import load_image

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]
INTERVAL_SECONDS = 0.05
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


@dataclass(frozen=True, kw_only=True)
class Installation:
    kubectl: Kubectl
    folder: Path
    name: str  # of package and namespace
    authority: Authority

    @property
    def group(self) -> str:
        return f"{self.name}.example.com"

    def bundle(self, version: str) -> GadgetBundle:
        return GadgetBundle(version=version, package=self.name, group=self.group, image=image.name())

    def prepare(self) -> None:
        """Make what our operator would: the namespace, and the certificate of the Service."""
        service = f"{self.bundle('0.1.0').deployment_name}-service"
        pair = self.authority.issue(Subject(name=service, dns_names=[f"{service}.{self.name}.svc"]))
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name, "labels": RESTRICTED}},
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"{service}-cert", "namespace": self.name},
                "type": "kubernetes.io/tls",
                "data": {"tls.crt": encoded(pair.certificate), "tls.key": encoded(pair.key)},
            },
        )

    def install(self, version: str) -> None:
        """Install the version and wait until its pod is the only one that serves."""
        objects = self.rendered(version)
        is_called = [made for made in objects if client_configs(made)]
        self.apply(*(made for made in objects if made not in is_called))
        self.kubectl.run(
            "rollout", "status", f"deployment/{self.name}-controller", f"--namespace={self.name}", "--timeout=90s"
        )
        self.apply(*is_called)

    def rendered(self, version: str) -> list[Json]:
        objects = rukpak_py.render(self.bundle(version).write(self.folder / version), install_namespace=self.name)
        for made in objects:
            for config in client_configs(made):
                trust(config, self.authority)
        return objects

    def apply(self, *objects: Json) -> None:
        self.kubectl.run("apply", "--server-side", "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)))

    def remove(self) -> None:
        """Delete the objects, the webhooks first: no pod serves them later."""
        objects = sorted(self.rendered("0.1.0"), key=lambda made: not client_configs(made))
        self.kubectl.run(
            "delete", "--ignore-not-found", "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)), seconds=180
        )
        self.kubectl.run("delete", "namespace", self.name, "--ignore-not-found", "--wait=false")


@pytest.fixture
def installation(node: None, kubeconfig: Path, tmp_path: Path) -> Iterator[Installation]:
    del node  # there is one
    load_image(image.write(tmp_path / "image.tar"), kubeconfig)
    installation = Installation(
        kubectl=Kubectl.on(kubeconfig),
        folder=tmp_path,
        name=f"gadgets-{uuid.uuid4().hex[:8]}",
        authority=Authority.create("of the bundle"),
    )
    try:
        installation.prepare()
        installation.install("0.1.0")
        yield installation
    finally:
        installation.remove()


@asynccontextmanager
async def writing(client: Client, group: str) -> AsyncIterator[None]:
    """Twenty writes a second, which the webhooks are asked about; a refused one fails the test."""
    resource = Resource(gvk=GroupVersionKind(group, "v1", "Gadget"), plural="gadgets", namespaced=True)
    head = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "written", "namespace": "default"}}
    body = orjson.dumps({**head, "spec": {"size": 1}})

    async def write() -> None:
        while not done.is_set():
            await client.create(resource, "default", body, dry_run=True)
            await asyncio.sleep(INTERVAL_SECONDS)

    done = asyncio.Event()
    async with asyncio.TaskGroup() as group_of_tasks:
        group_of_tasks.create_task(write())
        try:
            yield
        finally:
            done.set()


async def test_an_upgrade_of_the_operator_refuses_no_write(installation: Installation, client: Client) -> None:
    gadgets = Gadgets(kubectl=installation.kubectl, group=installation.group)
    gadgets.until_denied("v1", "spec.size must not be negative, got -1", size=-1)
    assert gadgets.apply("v1", "old", size=3) == {"size": 3, "color": "blue"}
    async with writing(client, installation.group):
        await asyncio.to_thread(installation.install, "0.2.0")
        await asyncio.to_thread(gadgets.until_served, "v2")
        await asyncio.to_thread(until_one_pod, installation)
    assert gadgets.spec("v2", "old") == {"dimensions": {"width": 3}, "color": "blue"}
    gadgets.until_denied("v2", "spec.dimensions.width must not be negative, got -1", dimensions={"width": -1})


def until_one_pod(installation: Installation) -> None:
    """The former one is gone, with what it had begun."""
    pods = installation.kubectl.get("pods", f"--namespace={installation.name}")["items"]
    for pod in pods:
        if "deletionTimestamp" in pod["metadata"]:
            name = f"pod/{pod['metadata']['name']}"
            installation.kubectl.run("wait", "--for=delete", name, f"--namespace={installation.name}", "--timeout=60s")
