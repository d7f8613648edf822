"""Make the pictures of docs/page.md: the page over a real cluster, in the browser that tests use.

python -m tools.page_pictures URL DEPLOYMENT

`rukpakctl ui` prints the URL; DEPLOYMENT is one that is not ready. Pictures go to docs/images.
"""

import asyncio
import sys
from pathlib import Path

from e2e.browser import chromium

FOLDER = Path(__file__).parent.parent / "docs" / "images"
WIDTH, HEIGHT = 1180, 700


async def pictures(url: str, deployment: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    one = f"{url}deployments/{deployment}"
    shots = (
        ("page-list", url, "light", WIDTH, HEIGHT),
        ("page-deployment", one, "light", WIDTH, HEIGHT + 240),
        ("page-dark", one, "dark", WIDTH, HEIGHT),
    )
    async with chromium() as browser, browser.tab() as tab:
        for name, address, scheme, width, height in shots:
            await tab.resize(width, height)
            await tab.prefer(scheme)
            await tab.open(address)
            picture = FOLDER / f"{name}.png"
            await asyncio.to_thread(picture.write_bytes, await tab.screenshot())
            print(picture.name)


if __name__ == "__main__":
    asyncio.run(pictures(sys.argv[1], sys.argv[2]))
