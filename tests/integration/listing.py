"""Whole objects as of now. The operator itself lists metadata only."""

from typing import Any
from urllib.parse import urlencode

import orjson

from rukpak_py.kube.answers import selection
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import Resource


async def listed(
    client: Client, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
) -> list[dict[str, Any]]:
    query = urlencode(selection(label_selector, field_selector))
    answer = await client.raw_get(f"{resource.path(namespace)}?{query}")
    items: list[dict[str, Any]] = orjson.loads(answer.body)["items"]
    return items
