"""Servers of sources, started when a case first asks for one: a registry, a web site and a git server, all with TLS."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Self

import yaml

from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer, git_web_server
from tests.integration.images.registry import PASSWORD, USER, Registry, basic, htpasswd, running_registry
from tests.manifests import Document
from tests.unit.sources.image.image_registry import Contents
from tests.unit.sources.websites import Authority, Site, authority, tgz, website

REPOSITORY = "shop.git"


class Servers:
    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack

    @classmethod
    @asynccontextmanager
    async def in_folder(cls, folder: Path) -> AsyncIterator[Self]:
        async with AsyncExitStack() as stack:
            yield cls(folder, stack)

    async def registry(self, *, is_private: bool = False) -> Registry:
        """One that anybody may read, or one that asks for a login."""
        folder = self._folder / "registry"
        folder.mkdir(parents=True)
        auth = htpasswd(folder) if is_private else None
        return self._stack.enter_context(running_registry(folder, auth, with_tls=True))

    async def site(self) -> tuple[Site, Authority]:
        """A web site, and the authority of its certificate."""
        self._folder.mkdir(parents=True, exist_ok=True)
        ours = authority(self._folder)
        return await self._stack.enter_async_context(website(ours.server("127.0.0.1"))), ours

    async def git(self, files: dict[str, bytes]) -> GitWebServer:
        """A server of one repository with these files in its branch main."""
        root = self._folder / "git"
        Repository.create(root / REPOSITORY).commit(files)
        return await self._stack.enter_async_context(git_web_server(root))


def archive(*documents: Document) -> bytes:
    return tgz(bundle_files(*documents))


def bundle_files(*documents: Document) -> dict[str, bytes]:
    return {"manifests/objects.yaml": yaml.safe_dump_all(documents).encode()}


def push(registry: Registry, repository: str, *documents: Document, tag: str = "v1") -> str:
    """Push an image with these manifests; its digest."""
    contents = Contents()
    image = contents.image({"usr/lib/x": b"x"}, bundle_files(*documents), tag=tag)
    registry.push(contents, repository, login=basic())
    return str(image["digest"])


def pull_secret(registry: Registry, name: str, namespace: str) -> Document:
    login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps({"auths": {registry.address: {"auth": login}}})},
    }
