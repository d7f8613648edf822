"""C18: what a credential holds is nowhere but where it is used. One operator, every kind of credential, canaries.

Servers repeat in their answers what they were given, so that an error could carry it into a status, an Event or the
log. While the operator works, the arguments and environments of all its processes are looked at.
"""

import asyncio
import base64
import json
import threading
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from rukpak_py.kube.resources import SECRETS
from tests.git_repositories import Repository
from tests.git_ssh_server import GitSshServer, git_ssh_server
from tests.git_web_server import GitWebServer
from tests.integration.listing import listed
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.scenarios.stage import EVENTS
from tests.unit.sources.image.image_registry import REPOSITORY
from tests.unit.sources.websites import Site, tgz, website
from tests.unit.web_servers import Answer, Asked

USER = "someone"
ECHO = "echo"  # of paths and tags where a server repeats what it was given
GIT_NEEDS = ("git", "proxy")  # in its environment
GIT_LAUNCHER = "core/launcher.py"  # becomes git


@dataclass
class Canaries:
    """Secrets that can be told apart, with all that they look like on their way."""

    forms: dict[str, set[str]] = field(default_factory=dict)

    def new(self, kind: str) -> str:
        secret = f"canary-{kind}-{uuid.uuid4().hex}"
        login = f"{USER}:{secret}"
        self.forms[kind] = {secret, *(base64.b64encode(text.encode()).decode() for text in (secret, login))}
        return secret

    def found_in(self, text: str, *, but: tuple[str, ...] = ()) -> list[str]:
        return [kind for kind, forms in self.forms.items() if kind not in but and any(form in text for form in forms)]


@dataclass
class Observer:
    """Arguments and environments of the children of a process, theirs included, from now on."""

    pid: int
    seen: set[tuple[str, str]] = field(default_factory=set)
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        own = _read(self.pid, "cmdline")
        while not self._ended.wait(0.01):
            for child in _below(self.pid):
                arguments = _read(child, "cmdline")
                if arguments and arguments != own:  # it is not yet what it will be
                    self.seen.add((arguments, _read(child, "environ")))

    def end(self) -> None:
        self._ended.set()


def _below(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                yield child
                yield from _below(child)


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace").replace("\0", "\n")
    except OSError:
        return ""


@contextmanager
def observed(operator: Operator) -> Iterator[Observer]:
    observer = Observer(operator.pid)
    thread = threading.Thread(target=observer.run)
    thread.start()
    try:
        yield observer
    finally:
        observer.end()
        thread.join()


@dataclass(kw_only=True)
class Scene:
    """Servers that want logins, and Secrets for them."""

    canaries: Canaries
    fetch: Fetching
    git: GitWebServer
    ssh: GitSshServer
    site: Site
    repository: Repository

    async def secret(self, name: str, data: Mapping[str, str]) -> str:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        body = json.dumps({"metadata": {"name": name}, "data": encoded}).encode()
        await self.fetch.tenant.admin.create(SECRETS, self.fetch.tenant.system, body)
        return name

    async def git_bundles(self) -> None:
        password = self.canaries.new("git")
        self.git.login = (USER, password)
        self.git.answer = echo
        auth = {"secret": {"name": await self.secret("git", {"username": USER, "password": password})}}
        for path in (self.repository.path.name, ECHO):
            source = {"repository": self.git.url(path), "caBundle": self.git.ca_bundle, "auth": auth}
            await self._git(f"git-{path.partition('.')[0]}", source)
        await self._git("git-proxy", {"repository": f"http://git.canary.example/{ECHO}"})

    async def ssh_bundles(self) -> None:
        key = self.ssh.private_key.decode()
        self.canaries.forms["ssh"] = {line for line in key.splitlines() if not line.startswith("-----")}
        for name, known in (("good", self.ssh.known_hosts()), ("bad", "other.example ssh-ed25519 AAAA")):
            secret = await self.secret(f"ssh-{name}", {"ssh-privatekey": key, "ssh-knownhosts": known})
            source = {"repository": self.ssh.url(self.repository.path), "auth": {"secret": {"name": secret}}}
            await self._git(f"ssh-{name}", source)

    async def _git(self, name: str, source: Mapping[str, object]) -> None:
        await self.fetch.bundle(name, {"type": "git", "git": {"ref": {"branch": "main"}, **source}})

    async def web_bundles(self) -> None:
        password = self.canaries.new("http")
        auth = {"secret": {"name": await self.secret("http", {"username": USER, "password": password})}}
        # A worker process reads what has aliases.
        (manifest,) = self.fetch.content().values()
        self.site.gives("/good.tgz", tgz({"manifests/one.yaml": manifest.replace(b"v: '1'", b"v: &v '1'\n  w: *v")}))
        self.site.answers[f"/{ECHO}"] = echo_on_web
        for name, url in (
            ("good", self.site.url("/good.tgz")),
            ("echo", self.site.url(f"/{ECHO}")),
            ("proxy", f"http://www.canary.example/{ECHO}"),
        ):
            await self.fetch.bundle(f"http-{name}", {"type": "http", "http": {"url": url, "auth": auth}})

    async def image_bundles(self) -> None:
        registry = self.fetch.registry.address
        for kind in ("auth", "password", "legacy", "token", "broken"):
            secret = self.canaries.new(f"pull-{kind}")
            login = base64.b64encode(f"{USER}:{secret}".encode()).decode()
            entry = {
                "auth": {"auth": login},
                "token": {"auth": base64.b64encode(b"<token>:").decode(), "identitytoken": secret},
            }.get(kind, {"username": USER, "password": secret})
            auths = json.dumps({registry: entry, "registry.canary.example": entry})
            data = {".dockercfg": auths} if kind == "legacy" else {".dockerconfigjson": f'{{"auths": {auths}}}'}
            if kind == "broken":
                data = {".dockerconfigjson": f'{{"auths": {{"{registry}": "{secret}'}
            await self.secret(f"pull-{kind}", data)
            self.fetch.image(f"good-{kind}")
            for tag in (f"good-{kind}", ECHO):
                image = {"ref": f"{registry}/{REPOSITORY}:{tag}", "pullSecret": f"pull-{kind}"}
                await self.fetch.bundle(f"image-{kind}-{tag}", {"type": "image", "image": image})
        image = {"ref": "registry.canary.example/x:v1", "pullSecret": "pull-auth"}
        await self.fetch.bundle("image-proxy", {"type": "image", "image": image})


async def echo(request: web.Request) -> web.Response | None:
    if ECHO not in request.path:
        return None
    login = " ".join(value for name, value in request.headers.items() if "Authorization" in name)
    return web.Response(status=500, text=f"no: {login} {_decoded(login)}")


async def echo_on_web(request: web.Request) -> web.Response:
    login = " ".join(value for name, value in request.headers.items() if "Authorization" in name)
    return web.Response(status=403, reason=f"no {login} {_decoded(login)}", text=login)


def private_registry(asked: Asked) -> Answer | None:
    """Demand a login; refuse one for the echo, with an answer that repeats it."""
    given = asked.login or ""
    body = json.dumps({"errors": [{"code": "DENIED", "message": f"{given} {_decoded(given)} may not"}]}).encode()
    if not given:
        return Answer(401, {"WWW-Authenticate": 'Basic realm="tests"'}, body)
    return Answer(403, body=body) if ECHO in asked.path else None


def _decoded(login: str) -> str:
    with suppress(ValueError):
        return base64.b64decode(login.rpartition(" ")[2]).decode()
    return ""


@pytest.fixture
async def scene(
    tenant: Tenant, git_repository: Repository, git_web: GitWebServer, tmp_path: Path
) -> AsyncIterator[Scene]:
    async with fetching(tenant) as fetch, website() as site, git_ssh_server(tmp_path / "sshd") as ssh:
        git_repository.commit(fetch.content())
        fetch.registry.answer = private_registry
        yield Scene(canaries=Canaries(), fetch=fetch, git=git_web, ssh=ssh, site=site, repository=git_repository)


async def judged(scene: Scene) -> None:
    """Every Bundle is unpacked, or its failure is told."""
    for name in scene.fetch.made:
        await scene.fetch.until(
            name, lambda one: condition(one, "Unpacked").get("reason", "Unpacking") != "Unpacking", what="ends"
        )


async def test_c18_credentials_are_nowhere_but_where_they_are_used(
    scene: Scene, operators: StartOperator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (spool := tmp_path / "spool").mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    proxy = scene.canaries.new("proxy")
    scene.site.answers[f"/{ECHO}"] = echo_on_web
    monkeypatch.setenv("HTTP_PROXY", f"http://{USER}:{proxy}@127.0.0.1:{scene.site.port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")  # for the test itself
    # The servers that repeat what they are sent speak plain http.
    plain = ("--plain-http-registries=registry.canary.example", "--allow-plain-http-credentials")
    operator = operators(arguments=[LOOPBACK, "--log-level=debug", *plain])
    await operator.start()
    with observed(operator) as observer:
        await scene.git_bundles()
        await scene.ssh_bundles()
        await scene.web_bundles()
        await scene.image_bundles()
        await judged(scene)
        metrics = await operator.metrics()
    await operator.stop()

    statuses = {name: await scene.fetch.status(name) for name in scene.fetch.made}
    unpacked = sorted(name for name, status in statuses.items() if status["phase"] == "Unpacked")
    of = scene.fetch.tenant.name
    assert unpacked == sorted(
        f"{of}-{name}"
        for name in (
            *("git-combo", "http-good", "ssh-good"),
            *(f"image-{kind}-good-{kind}" for kind in ("auth", "password", "legacy")),
        )
    )
    found = scene.canaries.found_in
    for name, status in statuses.items():
        assert found(json.dumps(status)) == [], (name, status)
    assert found(json.dumps(await listed(scene.fetch.tenant.admin, EVENTS))) == []
    assert found(operator.log) == [], [line for line in operator.log.splitlines() if found(line)]
    assert found(metrics) == []
    files = await asyncio.to_thread(contents_of, operator.store, spool)
    assert {path: kinds for path, data in files.items() if (kinds := found(data))} == {}
    check_processes(observer, scene.canaries)


def check_processes(observer: Observer, canaries: Canaries) -> None:
    programs = set()
    for arguments, environment in observer.seen:
        program = Path(arguments.partition("\n")[0]).name
        programs.add(program)
        assert canaries.found_in(arguments) == [], arguments
        but = GIT_NEEDS if "python" not in program or GIT_LAUNCHER in arguments else ()
        assert canaries.found_in(environment, but=but) == [], (arguments, environment)
    assert {"git", "ssh"} <= programs
    assert any("python" in program for program in programs), programs


def contents_of(*folders: Path) -> dict[str, str]:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes().decode(errors="replace") for path in files}
