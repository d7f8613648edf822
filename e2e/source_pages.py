"""The pages on sources, tried: their commands are run, and everything that they show of a source is unpacked.

A manifest of a page is applied as it is; of a part of one (`git:`, `image:`, `http:`, alone or below `source:`) a
Bundle is made. Only the servers are ours: real ones on this machine, in the place of those that the pages name. A
source that is shown with a Secret goes to one that asks for what the page's commands have stored in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import tarfile
import textwrap
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from e2e.cluster.pki import Authority
from e2e.kubectl import Kubectl, KubectlError
from e2e.servers import registry, ssh, web

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Document = dict[str, Any]

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs/sources").glob("*.md"))
BLOCK = re.compile(r"^```(sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECRET = "a pass:word"  # noqa: S105 - of servers that live as long as the test
LOGINS = {"someone", "deploy", "ann"}  # users of the pages' commands
# Of the user `someone` and the secret, with bcrypt: the one kind that the registry takes. The cost is the lowest.
HTPASSWD = "someone:$2a$04$cJvYTq2nF9Lc3v176RByP..Le3L1PP26IkhlXbwdHJfYzIQwe0brK\n"
CHECKSUM = re.compile(r"\b[0-9a-f]{64}\b")
CONTENT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop", "namespace": "default"}}
OURS = ("bundledeployments", "bundles")
REMOTE = ("git", "image", "http")
UNPACKED = "--for=jsonpath={.status.phase}=Unpacked"
SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Servers:
    """`opened` replaces names in what a page shows without credentials, `private` in the rest and in commands."""

    folder: Path  # commands are run here
    authority: str
    checksum: str  # of the archive
    opened: Mapping[str, str]
    private: Mapping[str, str]
    speaks_ssh: bool  # only root may run sshd

    def of(self, text: str, *, is_private: bool) -> str:
        for name, ours in (self.private if is_private else self.opened).items():
            text = text.replace(name, ours)
        return CHECKSUM.sub(self.checksum, text)


@contextmanager
def serving(folder: Path, *, host: str) -> Iterator[Servers]:
    authority = Authority.create("source pages")
    files, home = folder / "files", folder / "home"
    _write_content(files, home)
    logins = [(user, SECRET) for user in LOGINS]
    with ExitStack() as stack:
        images = [
            stack.enter_context(registry.running(folder / name, host=host, authority=authority, auth=auth))
            for name, auth in (("open", None), ("private", registry.htpasswd(folder / "private", HTPASSWD)))
        ]
        registry.push(images[0], home / "shop/manifests", "greeter:v1", folder / "push-open")
        login = ("someone", SECRET)
        registry.push(images[1], home / "shop/manifests", "greeter:v1", folder / "push-private", login=login)
        pages = [
            stack.enter_context(
                web.running(files, host=host, authority=authority, keys=folder / f"keys-{len(known)}", logins=known)
            )
            for known in ([], logins)
        ]
        over_ssh: dict[str, str] = {}
        if ssh.is_possible():
            over_ssh = _ssh_names(stack.enter_context(ssh.running(folder / "ssh", host=host)), files, home)
        names = [
            {
                "quay.io/example/greeter": f"{image.address}/greeter",
                "registry.example.com/team/greeter": f"{image.address}/greeter",
                "registry.example.com": image.address,
                "https://git.example.com": page.url,
                "https://files.example.com": page.url,
                **over_ssh,
            }
            for image, page in zip(images, pages, strict=True)
        ]
        yield Servers(
            folder=home,
            authority=authority.pair.certificate.decode(),
            checksum=hashlib.sha256((files / "shop-1.2.0.tgz").read_bytes()).hexdigest(),
            opened=names[0],
            private=names[1],
            speaks_ssh=bool(over_ssh),
        )


def _ssh_names(server: ssh.SshServer, files: Path, home: Path) -> dict[str, str]:
    (home / "deploy_key").write_bytes(server.private_key.read_bytes())
    return {
        "ssh://git@git.example.com/": f"ssh://{ssh.USER}@{server.host}:{server.port}{files}/",
        "ssh-keyscan git.example.com": f"ssh-keyscan -p {server.port} {server.host}",
    }


def _write_content(files: Path, home: Path) -> None:
    manifests = [home / "shop/manifests", files / "tree/environments/production/manifests", files / "tree/manifests"]
    for directory in manifests:
        directory.mkdir(parents=True)
        (directory / "shop.yaml").write_text(json.dumps(CONTENT), encoding="utf-8")
    (files / "shop").mkdir()
    web.publish(files / "shop/deploy.git", files / "tree", tag="v1.2.0")
    with tarfile.open(files / "shop-1.2.0.tgz", "w:gz") as archive:
        archive.add(home / "shop/manifests", "manifests")


def follow(page: str, kubectl: Kubectl, servers: Servers, environment: Mapping[str, str]) -> int:
    """Everything of a page, in its order; how many sources were unpacked. What it has made of our kinds is removed."""
    before = _ours(kubectl)
    awaited: list[tuple[str, str]] = []
    for kind, block in BLOCK.findall(page):
        if "ssh" in block and not servers.speaks_ssh:
            continue
        if kind == "sh":
            run(servers.of(block, is_private=True), servers.folder, environment)
            continue
        manifest = _manifest(textwrap.dedent(block), f"page-{len(awaited)}", servers)
        kubectl.run("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest))
        source = _source(manifest)
        if source is not None:
            awaited.append((f"{manifest['kind'].lower()}/{manifest['metadata']['name']}", block))
        if source is not None and source["type"] != "upload":
            _wait(kubectl, *awaited[-1])
    for name, block in awaited:
        _wait(kubectl, name, block)
    for kind in OURS:  # Bundles of a deployment go with it
        if made := sorted(_ours(kubectl, kind) - before):
            kubectl.run("delete", "--ignore-not-found", "--timeout=60s", *made)
    return len(awaited)


def _ours(kubectl: Kubectl, *kinds: str) -> set[str]:
    return set(kubectl.run("get", ",".join(kinds or OURS), "--output=name").splitlines())


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """The output of a page's commands. Processes that they leave in the background end with them."""
    environment = {**environment, "PASSWORD": SECRET, "TOKEN": SECRET}
    shell = subprocess.Popen(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with shell:
        try:
            code = shell.wait(SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
        printed = shell.stdout.read() if shell.stdout else ""
    if code != 0:
        raise AssertionError(f"{command}\n{printed}")
    return printed


def _manifest(block: str, name: str, servers: Servers) -> Document:
    """The manifest that the page shows, with the addresses of our servers."""
    shown = yaml.safe_load(block)
    member = _member(_source(shown))
    shown = yaml.safe_load(servers.of(block, is_private=not {"auth", "pullSecret"}.isdisjoint(member)))
    source = _source(shown)
    if source is not None and _speaks_tls(source):
        _member(source)["caBundle"] = servers.authority
    if "apiVersion" in shown:
        manifest: Document = shown
        return manifest
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": name},
        "spec": {"provisionerClassName": "core-rukpak-io-plain", "source": source},
    }


def _speaks_tls(source: Document) -> bool:
    return source["type"] in REMOTE and not _member(source).get("repository", "").startswith("ssh:")


def _member(source: Document | None) -> Document:
    """The member of a source that is fetched over the network; empty for other sources."""
    member: Document = source[source["type"]] if source and source["type"] in REMOTE else {}
    return member


def _wait(kubectl: Kubectl, name: str, block: str) -> None:
    condition = UNPACKED if name.startswith("bundle/") else "--for=condition=Ready"
    try:
        kubectl.run("wait", condition, name, f"--timeout={SECONDS}s")
    except KubectlError as error:
        raise AssertionError(f"{error}: {json.dumps(kubectl.get(name)['status'])}\n{block}") from error


def _source(shown: Document) -> Document | None:
    """The source in a manifest, or in a part of one."""
    if "spec" in shown:
        template: Document = shown["spec"].get("template", shown)
        return _source(template["spec"])
    if "source" in shown:
        source: Document = shown["source"]
        return source
    for kind in REMOTE:
        if kind in shown:
            return {"type": kind, kind: shown[kind]}
    return None
