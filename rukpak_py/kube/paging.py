"""Lists that the API server hands out in pages, all of them as of one version."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from rukpak_py.kube.answers import Listing, Page, read_page
from rukpak_py.kube.calls import Call, HttpAnswer
from rukpak_py.kube.errors import GoneError
from rukpak_py.kube.resources import Resource

if TYPE_CHECKING:
    from rukpak_py.kube.metadata import LiveObject

Send = Callable[[Call], Awaitable[HttpAnswer]]


def selection(label_selector: str, field_selector: str) -> dict[str, str]:
    """The query parameters of a selection; an empty selector selects everything."""
    chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in chosen.items() if value}


async def pages(send: Send, call: Call, resource: Resource, *, full: bool) -> AsyncGenerator[Page, None]:
    """Page by page. `GoneError`: the version that they belong to is history by now; begin again."""
    first = call
    while True:
        page = read_page(resource, await send(call), full=full)
        yield page
        if not page.token:
            return
        call = replace(first, params={**first.params, "continue": page.token})


async def all_pages(send: Send, call: Call, resource: Resource, *, full: bool) -> Listing:
    """All items. When their version becomes history on the way, once more from the first page."""
    may_restart = True
    while True:
        items: list[LiveObject] = []
        page: Page | None = None
        try:
            async with aclosing(pages(send, call, resource, full=full)) as found:
                async for page in found:
                    items += page.items
        except GoneError:
            if page is None or not may_restart:
                raise
            may_restart = False
            continue
        return Listing(items=items, resource_version=page.resource_version if page is not None else "")
