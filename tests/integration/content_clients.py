"""Clients of the content server, as users have them: tokens of service accounts, the authority from its Secret."""

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from e2e.kubectl import Kubectl
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE, SecretName

MANIFEST = Path(__file__).parents[2] / "manifests" / "install.yaml"
SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(kw_only=True)
class Caller:
    """`url`: of the server. `tls`: what it trusts, and the certificate that it shows."""

    url: str
    tls: ssl.SSLContext
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        given = self.headers | ({"Authorization": f"Bearer {self.token}"} if self.token else {}) | headers
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS), auto_decompress=False) as session,
            session.request(
                method, self.url + path, data=body, headers=given, ssl=self.tls, server_hostname="localhost"
            ) as response,
        ):
            return Answer(status=response.status, headers=response.headers.copy(), body=await response.read())

    async def put(self, bundle: str, body: Any) -> Answer:
        return await self.ask("PUT", f"/uploads/{bundle}.tgz", body)

    async def get(self, bundle: str, **headers: str) -> Answer:
        return await self.ask("GET", f"/bundles/{bundle}.tgz", **headers)

    @asynccontextmanager
    async def half_an_upload(self, bundle: str, body: bytes) -> AsyncIterator[asyncio.StreamWriter]:
        """All of the body but its last byte was sent when the block begins."""
        host, _, port = self.url.removeprefix("https://").rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port), ssl=self.tls, server_hostname="localhost")
        head = (
            f"PUT /uploads/{bundle}.tgz HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body[:-1])
        await writer.drain()
        try:
            yield writer
        finally:
            writer.transport.abort()


def shipped_rules(role: str) -> list[dict[str, Any]]:
    """Rules of a ClusterRole, as it is installed."""
    documents = filter(None, yaml.load_all(MANIFEST.read_text(), yaml.CSafeLoader))  # some are empty
    (found,) = (one["rules"] for one in documents if (one["kind"], one["metadata"]["name"]) == ("ClusterRole", role))
    return list(found)


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Service accounts of one namespace, with copies of the roles that are shipped."""

    kubectl: Kubectl
    namespace: str
    url: str
    system: str = DEFAULT_SYSTEM_NAMESPACE

    async def caller(self, name: str, *roles: str, url: str = "", **token: str) -> Caller:
        """`token`: options of `kubectl create token`."""
        await self._run("--namespace", self.namespace, "create", "serviceaccount", name)
        for role in roles:
            await self.grant(name, role, shipped_rules(role))
        return Caller(url=url or self.url, tls=await self.trust(), token=await self.token(name, **token))

    async def grant(self, account: str, role: str, rules: list[dict[str, Any]]) -> None:
        """The role goes with the test's namespace, which owns it."""
        uid = await self._run("get", "namespace", self.namespace, "--output=jsonpath={.metadata.uid}")
        owner = {"apiVersion": "v1", "kind": "Namespace", "name": self.namespace, "uid": uid}
        group = {"apiVersion": "rbac.authorization.k8s.io/v1"}
        metadata = {"name": f"{self.namespace}-{account}-{role}", "ownerReferences": [owner]}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": metadata["name"]}
        binding = {"kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": reference, "subjects": [subject]}
        role_itself = {"kind": "ClusterRole", "metadata": metadata, "rules": rules}
        both = yaml.safe_dump_all([group | role_itself, group | binding])
        await asyncio.to_thread(self.kubectl.run, "create", "--filename=-", stdin=both)

    async def token(self, name: str, **options: str) -> str:
        flags = [f"--{option}={value}" for option, value in options.items()]
        return await self._run("--namespace", self.namespace, "create", "token", name, *flags)

    async def trust(self) -> ssl.SSLContext:
        secret = await self._run("--namespace", self.system, "get", "secret", SecretName.CA, "--output=json")
        pem = base64.b64decode(json.loads(secret)["data"]["ca.crt"]).decode()
        return ssl.create_default_context(cadata=pem)

    async def without_account(self, token: str = "") -> Caller:
        return Caller(url=self.url, tls=await self.trust(), token=token)

    async def admin(self) -> Caller:
        """With the client certificate of the kubeconfig, and no token."""
        context = await self.trust()
        user = yaml.safe_load(self.kubectl.kubeconfig.read_text())["users"][0]["user"]
        with tempfile.NamedTemporaryFile() as file:
            for part in ("certificate", "key"):
                file.write(base64.b64decode(user[f"client-{part}-data"]))
            file.flush()
            context.load_cert_chain(file.name)
        return Caller(url=self.url, tls=context)

    async def _run(self, *arguments: str) -> str:
        return await asyncio.to_thread(self.kubectl.run, *arguments)
