"""Writes of Gadgets at a steady pace from a thread of its own, none of which may be refused."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from e2e.webhook_operator.definition import KIND, PLURAL
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITES_PER_SECOND = 20


@dataclass
class Traffic:
    sent: int = 0
    refused: list[str] = field(default_factory=list)


@contextmanager
def writing(kubeconfig: Path, group: str) -> Iterator[Traffic]:
    """Dry runs, which the webhooks are asked about all the same. AssertionError at the end when one was refused."""
    traffic, done = Traffic(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_write(kubeconfig, group, traffic, done)))
    thread.start()
    try:
        yield traffic
    finally:
        done.set()
        thread.join()
    if traffic.refused or not traffic.sent:
        raise AssertionError(f"{len(traffic.refused)} of {traffic.sent} writes refused: {traffic.refused[:3]}")


async def _write(kubeconfig: Path, group: str, traffic: Traffic, done: threading.Event) -> None:
    resource = Resource(gvk=GroupVersionKind(group, "v1", KIND), plural=PLURAL, namespaced=True)
    head = {"apiVersion": f"{group}/v1", "kind": KIND, "metadata": {"name": "written", "namespace": "default"}}
    body = orjson.dumps({**head, "spec": {"size": 1}})
    async with Client(await load_connection(kubeconfig)) as client:
        due = time.monotonic()
        while not done.is_set():
            traffic.sent += 1
            try:
                await client.create(resource, "default", body, dry_run=True)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is not an admitted write
                traffic.refused.append(repr(error))
            due += 1 / WRITES_PER_SECOND
            await asyncio.sleep(max(0.0, due - time.monotonic()))
