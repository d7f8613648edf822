"""Servers that an operator fetches from, in the test's own process: what they were asked is known, and what they hold.

Bundles are made alone here, without a BundleDeployment, and go with the test.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import yaml

from rukpak_py.api.names import API_VERSION, BUNDLE_KIND, PLAIN_CLASS
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLES
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.unit.sources.image.image_registry import REPOSITORY, Contents
from tests.unit.web_servers import Answer, Asked, Server, serving
from tests.waiting import eventually

LOOPBACK = "--allow-source-addresses=127.0.0.0/8"


@dataclass(kw_only=True)
class Fetching:
    tenant: Tenant
    registry: Server
    contents: Contents
    made: list[str] = field(default_factory=list)

    def content(self, value: str = "1") -> dict[str, bytes]:
        return {"manifests/one.yaml": yaml.safe_dump(config_map("one", self.tenant.namespace, v=value)).encode()}

    def image(self, tag: str, value: str = "") -> Document:
        """The source of an image that is under this tag from now on."""
        self.contents.image(self.content(value or tag), tag=tag)
        return {"type": "image", "image": {"ref": f"{self.registry.address}/{REPOSITORY}:{tag}"}}

    async def bundle(self, suffix: str, source: Document) -> str:
        name = f"{self.tenant.name}-{suffix}"
        spec = {"provisionerClassName": PLAIN_CLASS, "source": source}
        body = {"apiVersion": API_VERSION, "kind": BUNDLE_KIND, "metadata": {"name": name}, "spec": spec}
        await self.tenant.admin.create(BUNDLES, "", orjson.dumps(body))
        self.made.append(name)
        return name

    async def deploy(self, source: Document) -> None:
        await self.tenant.deploy(template={"spec": {"provisionerClassName": PLAIN_CLASS, "source": source}})

    async def status(self, name: str) -> Document:
        return dict((await self.tenant.read(BUNDLES, "", name)).get("status") or {})

    async def until(self, name: str, check: Callable[[Document], object], *, what: str, seconds: float = 60.0) -> None:
        async def look() -> bool:
            return bool(check(await self.tenant.read(BUNDLES, "", name)))

        try:
            await eventually(look, what=f"{name}: {what}", seconds=seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error}; its status is {await self.status(name)}") from error

    async def until_unpacked(self, *names: str) -> None:
        for name in names:
            await self.until(name, is_unpacked, what="is unpacked")

    async def delete(self, name: str) -> None:
        with suppress(NotFoundError):
            await self.tenant.admin.delete(BUNDLES, "", name)

    async def end(self) -> None:
        for name in self.made:
            await self.delete(name)


@asynccontextmanager
async def fetching(tenant: Tenant) -> AsyncIterator[Fetching]:
    contents = Contents()
    with serving(contents.answer) as registry:
        one = Fetching(tenant=tenant, registry=registry, contents=contents)
        try:
            yield one
        finally:
            registry.answer = lambda _: Answer(503)
            await one.end()


def is_unpacked(bundle: Document) -> bool:
    return condition(bundle, "Unpacked").get("status") == "True"


def asked_of(server: Server) -> list[Asked]:
    """The requests without attempts to speak TLS, which no server of HTTP understands."""
    return [asked for asked in server.asked if asked.method in {"GET", "HEAD", "POST"}]


def names_in(folder: Path) -> list[str]:
    """Files that arrive at the moment: in the directory that each operator has for them."""
    return [path.name for path in folder.glob("*/*")]


def partial_files(operator: Operator) -> list[str]:
    """Files of its store that were not written to their end."""
    files = [path for path in operator.store.rglob("*") if not path.is_dir()]
    return [path.name for path in files if path.suffix not in {".tgz", ".json"}]


def processes_of(folder: Path) -> list[str]:
    """The processes with the folder in their environment, other than operators."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (path / "cmdline").read_text().replace("\0", " ")
            if os.fsencode(folder) in (path / "environ").read_bytes() and "git" in arguments.split(" --", 1)[0]:
                found.append(arguments)
    return found
