"""The hostile servers and clients by hand.

    python -m tests.hostile servers [--manifests FILE] [--prefix NAME] [--only ATTACK]…
    python -m tests.hostile clients --webhook PORT --probes PORT --content PORT [--count N]

`servers` starts one server for each attack on loopback, and writes a Bundle for each into FILE ("-": standard output),
for `kubectl apply -f` to an operator that runs on this machine with `--allow-source-addresses=127.0.0.0/8`. `clients`
attacks the ports of such an operator, one attack after the other and all over again. Both go on until Ctrl-C.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from rukpak_py.api.names import API_VERSION, BUNDLE_KIND, PLAIN_CLASS
from tests.hostile import client, git, registry_attacks
from tests.hostile.archives import HostileArchive
from tests.hostile.git import HostileGitServer
from tests.hostile.registry import HostileRegistry
from tests.hostile.web import HostileWebServer, WebAttack

Source = dict[str, Any]
_OF_PROBES = frozenset({client.Attack.HALF_PROBES, client.Attack.SLOW_PROBES})
_OF_CONTENT = frozenset({client.Attack.SILENT, client.Attack.SILENT_TLS, client.Attack.STRANGERS})
_REFS = 20_000  # more take long to make
_HELD_SECONDS = 5.0  # an attack of clients, before the next one


@asynccontextmanager
async def hostile_servers(only: frozenset[str] = frozenset()) -> AsyncIterator[dict[str, Source]]:
    """A source for each attack, by its name. `only`: these attacks; empty: all."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        sources: dict[str, Source] = {}

        def is_asked(name: str) -> bool:
            return not only or name in only

        web = await stack.enter_async_context(HostileWebServer())
        for one in (*WebAttack, *HostileArchive):
            if is_asked(name := f"web-{one}"):
                sources[name] = {"type": "http", "http": {"url": web.url(one)}}
        for attack in registry_attacks.Attack:
            if attack is not registry_attacks.Attack.NONE and is_asked(name := f"registry-{attack.value}"):
                registry = stack.enter_context(HostileRegistry(attack))
                sources[name] = {"type": "image", "image": {"ref": registry.ref}}
        for kind in git.Attack:
            if is_asked(name := f"git-{kind.value}"):
                (folder / name).mkdir()
                server = await stack.enter_async_context(HostileGitServer(kind, folder / name, refs=_REFS))
                sources[name] = {"type": "git", "git": _git_source(server.source)}
        yield sources


def bundles(sources: dict[str, Source], prefix: str) -> Iterator[dict[str, Any]]:
    for name, source in sources.items():
        spec = {"provisionerClassName": PLAIN_CLASS, "source": source}
        yield {"apiVersion": API_VERSION, "kind": BUNDLE_KIND, "metadata": {"name": f"{prefix}{name}"}, "spec": spec}


def _git_source(source: git.HostileSource) -> Source:
    ref = {"commit": source.commit} if source.commit else {"branch": source.branch}
    return {"repository": source.url, "ref": ref}


async def _serve(given: argparse.Namespace) -> None:
    async with hostile_servers(frozenset(given.only)) as sources:
        if unknown := set(given.only) - sources.keys():
            sys.exit(
                f"no attack has the name {', '.join(sorted(unknown))}; without --only the Bundles name all of them"
            )
        text = yaml.safe_dump_all(bundles(sources, given.prefix))
        if given.manifests == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            await asyncio.to_thread(_write, Path(given.manifests), text)
        await _stopped()


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a script may wait for it."""
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(text)
    temporary.replace(path)


async def _attack(given: argparse.Namespace) -> None:
    stopped = asyncio.create_task(_stopped())
    while not stopped.done():
        for attack in client.Attack:
            port = given.probes if attack in _OF_PROBES else given.content if attack in _OF_CONTENT else given.webhook
            async with client.attacking(attack, port, count=given.count):
                await asyncio.wait([stopped], timeout=_HELD_SECONDS)
            if stopped.done():
                break


async def _stopped() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    commands = parser.add_subparsers(required=True)
    servers = commands.add_parser("servers")
    servers.add_argument("--manifests", default="-")
    servers.add_argument("--prefix", default="hostile-")
    servers.add_argument("--only", action="append", default=[])
    servers.set_defaults(run=_serve)
    clients = commands.add_parser("clients")
    for port in ("webhook", "probes", "content"):
        clients.add_argument(f"--{port}", type=int, required=True)
    clients.add_argument("--count", type=int, default=150)
    clients.set_defaults(run=_attack)
    given = parser.parse_args()
    asyncio.run(given.run(given))


if __name__ == "__main__":
    main()
