"""Headless Chromium, as tests and screenshots of the page drive it: by the DevTools protocol over a websocket.

    async with chromium() as browser, browser.tab() as tab:
        await tab.open(url)

A tab records each request, and all that the console says: a test asks afterwards for what must not have happened.
"""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
START_SECONDS = 60.0
ANSWER_SECONDS = 60.0
_MESSAGE_BYTES = 64 * 1024 * 1024  # a screenshot
_FLAGS = (
    "--headless",
    "--remote-debugging-port=0",
    "--remote-debugging-address=127.0.0.1",
    "--remote-allow-origins=*",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en-US",
)
KEYS = {"Tab": 9, "Enter": 13, "/": 191}


class BrowserError(Exception):
    """The browser did not start, or refused a command."""


def program() -> str | None:
    """Path of the browser; None where there is none."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


@dataclass(frozen=True, kw_only=True)
class Browser:
    address: str  # of its HTTP endpoint
    session: aiohttp.ClientSession

    @asynccontextmanager
    async def tab(self, *, width: int = 1280, height: int = 900) -> AsyncIterator["Tab"]:
        async with self.session.put(f"{self.address}/json/new?about:blank") as response:
            target = await response.json()
        async with self.session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=_MESSAGE_BYTES) as socket:
            tab = Tab(socket)
            reading = asyncio.create_task(tab.read())
            try:
                for domain in ("Page", "Network", "Runtime", "Log"):
                    await tab.send(f"{domain}.enable")
                await tab.resize(width, height)
                yield tab
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    path = program()
    if path is None:
        raise BrowserError(f"none of these programs is on PATH: {', '.join(PROGRAMS)}")
    with tempfile.TemporaryDirectory(prefix="rukpak-browser-", ignore_cleanup_errors=True) as folder:
        process = _start(path, folder)
        try:
            address = await _address(process, Path(folder) / "DevToolsActivePort")
            async with aiohttp.ClientSession(trust_env=False) as session:
                yield Browser(address=address, session=session)
        finally:
            process.terminate()
            await asyncio.to_thread(_end, process)


def _start(path: str, folder: str) -> "subprocess.Popen[bytes]":
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()  # it refuses to sandbox what root runs
    return subprocess.Popen(
        [path, *_FLAGS, *sandbox, f"--user-data-dir={folder}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": folder, "TZ": "UTC"},
    )


async def _address(process: "subprocess.Popen[bytes]", file: Path) -> str:
    """The address where it listens, which it writes to a file."""
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while process.poll() is None:
                if port := await asyncio.to_thread(_first_line, file):
                    return f"http://127.0.0.1:{port}"
                await asyncio.sleep(0.05)
    raise BrowserError(f"the browser did not start (exit code {process.poll()})")


def _first_line(file: Path) -> str:
    return file.read_text().partition("\n")[0] if file.exists() else ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass
class Tab:
    _socket: "aiohttp.ClientWebSocketResponse[bool]"
    requests: list[str] = field(default_factory=list)  # URLs
    received: int = 0  # bytes of bodies, decoded
    console: list[str] = field(default_factory=list)  # errors, refusals of the policy, exceptions
    _number: int = 0
    _answers: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    _loaded: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> None:
        async for message in self._socket:
            found = json.loads(message.data)
            if "id" in found:
                if not (answer := self._answers.pop(found["id"])).done():
                    answer.set_result(found)
            else:
                self._note(found["method"], found["params"])

    def _note(self, method: str, told: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Network.dataReceived":
                self.received += told["dataLength"]
            case "Runtime.exceptionThrown":
                self.console.append(json.dumps(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in {"error", "warning", "assert"}:
                self.console.append(json.dumps(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in {"error", "warning"}:
                self.console.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
            case "Page.loadEventFired":
                self._loaded.set()

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        async with asyncio.timeout(ANSWER_SECONDS):
            found = await answer
        if "error" in found:
            raise BrowserError(f"{method}: {found['error']['message']}")
        result: dict[str, Any] = found["result"]
        return result

    async def open(self, url: str) -> None:
        """Navigate, and wait until everything is loaded."""
        async with self.loading():
            found = await self.send("Page.navigate", url=url)
        if "errorText" in found:
            raise BrowserError(f"{url}: {found['errorText']}")

    @asynccontextmanager
    async def loading(self) -> AsyncIterator[None]:
        """The block makes it load a page, which is loaded afterwards."""
        self._loaded.clear()
        yield
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._loaded.wait()

    async def evaluate(self, script: str) -> Any:
        """The value of an expression; a promise is awaited."""
        found = await self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise BrowserError(json.dumps(found["exceptionDetails"]))
        return found["result"].get("value")

    async def resize(self, width: int, height: int) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    async def prefer(self, scheme: str) -> None:
        """`dark` or `light`."""
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def without_script(self) -> None:
        await self.send("Emulation.setScriptExecutionDisabled", value=True)

    async def press(self, key: str, *, text: str = "") -> None:
        code = {"key": key, "windowsVirtualKeyCode": KEYS[key]}
        given = {"text": text} if text else {"text": "\r"} if key == "Enter" else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown" if given else "rawKeyDown", **code, **given)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    async def write(self, text: str) -> None:
        await self.send("Input.insertText", text=text)

    async def screenshot(self, *, height: int | None = None, width: int = 1280) -> bytes:
        """PNG of what is visible, or of the first `height` pixels."""
        clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}} if height else {}
        found = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=bool(height), **clip)
        return base64.b64decode(found["data"])
