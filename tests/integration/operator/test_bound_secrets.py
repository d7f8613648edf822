"""A Secret goes only to its hosts, in each source that names it: by the whole operator, against a real API server."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from rukpak_py.api.names import DIGEST_KEY_SECRET, HOSTS_ANNOTATION, SERVING_CERTIFICATE_LABEL, SecretName
from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError
from rukpak_py.kube.resources import SECRETS
from rukpak_py.kube.secrets import OwnSecrets
from tests.git_fetching import git_repository, git_web
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.listing import listed
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, asked_of, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.scenarios.stage import EVENTS
from tests.manifests import Document
from tests.unit.charts import config_map as template
from tests.unit.sources.image.image_registry import REPOSITORY
from tests.unit.sources.websites import Site, tgz, website
from tests.unit.web_servers import Answer
from tests.waiting import eventually

__all__ = ["git_repository", "git_web"]  # fixtures

LOGIN = {"username": "ann", "password": "c4nary"}
OWN = (*map(str, SecretName), DIGEST_KEY_SECRET)


@dataclass(kw_only=True)
class Scene:
    """Servers of a tenant who writes Bundles, and Secrets of another tenant."""

    fetch: Fetching
    site: Site
    git: GitWebServer

    async def secret(self, name: str, data: Mapping[str, str] = LOGIN, *, kind: str = "Opaque", **meta: Any) -> None:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        body = {"metadata": {"name": name, **meta}, "type": kind, "data": encoded}
        await self.fetch.tenant.admin.create(SECRETS, self.fetch.tenant.system, json.dumps(body).encode())

    async def annotate(self, name: str, hosts: str) -> None:
        body = json.dumps({"metadata": {"annotations": {HOSTS_ANNOTATION: hosts}}}).encode()
        await self.fetch.tenant.admin.patch(SECRETS, self.fetch.tenant.system, name, body)

    def sources(self, secret: str) -> dict[str, Document]:
        """One of each type that names a Secret, and of a server that serves content to anybody."""
        auth = {"secret": {"name": secret}}
        repository, ca_bundle = self.git.url("combo.git"), self.git.ca_bundle
        git = {"repository": repository, "caBundle": ca_bundle, "ref": {"branch": "main"}, "auth": auth}
        image = {"ref": f"{self.fetch.registry.address}/{REPOSITORY}:v1", "pullSecret": secret}
        return {
            "http": {"type": "http", "http": {"url": self.site.url("/demo.tgz"), "auth": auth}},
            "git": {"type": "git", "git": git},
            "image": {"type": "image", "image": image},
        }

    async def until_refused(self, name: str, reason: str, *texts: str) -> None:
        def check(bundle: Document) -> bool:
            ready, unpacked = condition(bundle, "Ready"), condition(bundle, "Unpacked")
            return ready.get("reason") == reason and all(text in unpacked.get("message", "") for text in texts)

        await self.fetch.until(name, check, what=f"is refused with {reason} and {texts}")

    @property
    def logins(self) -> list[str]:
        """The logins that the servers were sent, of any kind."""
        asked = [*(one.headers.get("Authorization") for one in self.site.asked)]
        asked += [one.headers.get("Authorization") for one in self.git.requests]
        asked += [one.login for one in asked_of(self.fetch.registry)]
        return [login for login in asked if login]

    async def warnings(self) -> list[Document]:
        return [
            event
            for event in await listed(self.fetch.tenant.admin, EVENTS)
            if event["reason"] == "SecretNotBound" and event["regarding"]["name"] in self.fetch.made
        ]


@pytest.fixture
async def scene(tenant: Tenant, git_repository: Repository, git_web: GitWebServer) -> AsyncIterator[Scene]:
    async with fetching(tenant) as fetch, website() as site:
        git_repository.commit(fetch.content())
        site.gives("/demo.tgz", tgz(fetch.content()))
        fetch.image("v1")
        yield Scene(fetch=fetch, site=site, git=git_web)


async def started(operators: StartOperator, *arguments: str) -> Operator:
    operator = operators(arguments=[LOOPBACK, "--allow-plain-http-credentials", "--image-unpack=direct", *arguments])
    await operator.start()
    return operator


async def test_a_bundle_that_names_a_secret_for_another_host(scene: Scene, operators: StartOperator) -> None:
    await started(operators, "--bind-secrets-to-hosts")
    await scene.secret("login", annotations={HOSTS_ANNOTATION: "git.example.com, *.files.example"})
    hosts = {"http": f"127.0.0.1:{scene.site.port}", "git": f"localhost:{scene.git.port}"}
    sources = scene.sources("login")
    names = {kind: await scene.fetch.bundle(kind, sources[kind]) for kind in hosts}
    for kind, name in names.items():
        text = (
            f"Secret login may not be sent to {hosts[kind]}: its annotation core.rukpak.io/hosts does not name this "
            f'host. If the Secret is meant for it, add "{hosts[kind]}" to the annotation'
        )
        await scene.until_refused(name, "AccessDenied", text)
    assert scene.site.asked == scene.git.requests == []

    await scene.annotate("login", ", ".join(("git.example.com", *hosts.values())))
    await scene.fetch.until_unpacked(*names.values())
    assert len(scene.logins) >= 2


async def test_pull_secret_of_another_type_is_not_sent(scene: Scene, operators: StartOperator) -> None:
    await started(operators, "--bind-secrets-to-hosts")
    registry = scene.fetch.registry
    registry.answer = lambda one: None if one.login else Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
    data = {".dockerconfigjson": json.dumps({"auths": {registry.address: LOGIN}})}
    await scene.secret("opaque", data)
    await scene.secret("typed", data, kind="kubernetes.io/dockerconfigjson")
    refused = await scene.fetch.bundle("opaque", scene.sources("opaque")["image"])
    await scene.until_refused(refused, "AccessDenied", f"Secret opaque may not be sent to {registry.address}: it has")
    assert scene.logins == []
    await scene.fetch.until_unpacked(await scene.fetch.bundle("typed", scene.sources("typed")["image"]))


async def test_without_the_setting_each_bundle_is_warned_of_once(scene: Scene, operators: StartOperator) -> None:
    operator = await started(operators)
    await scene.secret("login")
    scene.site.gives("/demo.tgz", status=503)  # the same fetch again and again
    name = await scene.fetch.bundle("http", scene.sources("login")["http"])
    await eventually(lambda: _tries(scene, 4), what="it was tried four times")
    scene.site.gives("/demo.tgz", tgz(scene.fetch.content()))
    await scene.fetch.until_unpacked(name)
    await eventually(scene.warnings, what="the Event is there")
    [event] = await scene.warnings()
    host = f"127.0.0.1:{scene.site.port}"
    start = f"Secret login is sent to {host}, which --bind-secrets-to-hosts would refuse: it has no annotation"
    assert event["note"].startswith(start)
    assert event["type"] == "Warning"
    assert (event.get("series") or {}).get("count", 1) == 1
    assert operator.log.count(f"SecretNotBound: {start}") == 1


async def _tries(scene: Scene, count: int) -> bool:
    return len(scene.site.asked) >= count


@pytest.mark.parametrize("bound", [True, False])
async def test_no_bundle_names_a_secret_of_the_operator(scene: Scene, operators: StartOperator, *, bound: bool) -> None:
    """Such a Secret is known by its name, or by the marks of one that the operator issued, or of a copy."""
    anywhere = {HOSTS_ANNOTATION: f"127.0.0.1,localhost,127.0.0.1:{scene.fetch.registry.server_port}"}
    tenant = scene.fetch.tenant
    await OwnSecrets(tenant.admin, tenant.system).create("copy", {key: one.encode() for key, one in LOGIN.items()})
    await scene.annotate("copy", anywhere[HOSTS_ANNOTATION])
    await scene.secret("serving", annotations=anywhere, labels={SERVING_CERTIFICATE_LABEL: "shop"})
    for name in OWN:
        try:
            await scene.secret(name, annotations=anywhere)
        except AlreadyExistsError:
            continue
    await started(operators, *(["--bind-secrets-to-hosts"] if bound else []))
    for name in (*OWN, "copy", "serving"):
        for kind, source in scene.sources(name).items():
            made = await scene.fetch.bundle(f"{name}-{kind}", source)
            await scene.until_refused(made, "ContentError", f"Secret {name} holds ", "so nothing may refer to it")
    assert scene.site.asked == scene.git.requests == asked_of(scene.fetch.registry) == []


async def test_no_chart_takes_values_from_a_secret_of_the_operator(tenant: Tenant, operators: StartOperator) -> None:
    await OwnSecrets(tenant.admin, tenant.system).create("copy", {"values.yaml": b"canary: c4nary"})
    await started(operators)
    items = await publish(tenant, template("settings", value=".Values.canary"))
    for name in ("rukpak-ca-signer", "copy"):
        await deploy(tenant, items, config={"valuesFrom": [{"kind": "Secret", "name": name, "optional": True}]})
        text = f"Secret {name} holds keys or certificates of the operator, so nothing may refer to it"

        def is_refused(one: Document, text: str = text) -> bool:
            ready = condition(one, "Ready")
            return ready.get("reason") == "ContentError" and text in json.dumps(one["status"]).replace('\\"', '"')

        found = await tenant.until(is_refused, what=f"{name} is refused")
        assert "c4nary" not in json.dumps(found["status"])
    assert not await tenant.owned()


async def test_secret_for_a_source_has_type_and_hosts_and_no_data_of_the_operator(
    admin: Client, tenant: Tenant
) -> None:
    scene = {"metadata": {"name": "login", "annotations": {HOSTS_ANNOTATION: "a.example"}}}
    for body in (
        {**scene, "type": "kubernetes.io/basic-auth", "stringData": LOGIN},
        {"metadata": {"name": "plain"}, "stringData": LOGIN},
        {"metadata": {"name": "rukpak-ca-signer"}, "stringData": LOGIN},
    ):
        await admin.create(SECRETS, tenant.system, json.dumps(body).encode())
    read = SystemObjects(admin, tenant.system).secret
    login, plain, own = [await read(name) for name in ("login", "plain", "rukpak-ca-signer")]
    assert (login.type, login.hosts, login.own) == ("kubernetes.io/basic-auth", "a.example", "")
    assert login.data == {key: value.encode() for key, value in LOGIN.items()}
    assert (plain.type, plain.hosts, plain.own) == ("Opaque", None, "")
    assert own.data == {}
    assert own.own
