"""The frame of every page: title, header, what is refreshed, and where style and script are.

All addresses are relative, so that the page works below any path: of the loopback server, of the content server, and
of a proxy before it. `root` leads from an address to the list.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rukpak_py.server.page.markup import Child, Element, document, element

PRODUCT = "rukpak"


@dataclass(frozen=True, kw_only=True)
class Frame:
    """`root`: `./` for the list itself. `server`, `viewer`: whose cluster is shown to whom; empty: not known.

    `troubleshooting`: URL of that page of the documentation; empty: no link leads there.
    """

    root: str
    server: str = ""
    viewer: str = ""
    troubleshooting: str = ""


def page(
    frame: Frame,
    title: str,
    *content: Child | Iterable[Child],
    fixed: Child = None,
    news: str = "",
    refreshes: bool = True,
) -> bytes:
    """`content` is refreshed by the script, `fixed` before it is not. `news`: what is read out when it changes."""
    return document(
        element(
            "html",
            _head(frame, title),
            element(
                "body",
                element("a", "Skip to the content", href="#main", class_="skip"),
                _header(frame),
                element(
                    "main",
                    fixed,
                    element("div", *content, id="content", data_refresh=refreshes, data_news=news or None),
                    id="main",
                    tabindex=-1,
                ),
                element(
                    "footer",
                    element("p", role="status", aria_live="polite", id="news", class_="unseen"),
                    element("p", "Read only. Shown with your own rights.", id="refreshing"),
                ),
            ),
            lang="en",
        )
    )


def _head(frame: Frame, title: str) -> Element:
    static = f"{frame.root}static"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("title", f"{title} - {PRODUCT}"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href=f"{static}/icon.svg", type="image/svg+xml"),
        element("link", rel="stylesheet", href=f"{static}/page.css"),
        element("script", src=f"{static}/page.js", defer=True),
    )


def _header(frame: Frame) -> Element:
    return element(
        "header",
        element("nav", element("a", PRODUCT, href=frame.root, class_="brand"), aria_label="Pages"),
        element(
            "p",
            element("span", frame.server, class_="server") if frame.server else None,
            element("span", frame.viewer, class_="viewer") if frame.viewer else None,
            class_="where",
        ),
    )


def failure(frame: Frame, title: str, sentence: str, *, to_do: str = "") -> bytes:
    return page(
        frame,
        title,
        element("h1", title),
        element("p", sentence, class_="message"),
        element("p", to_do, class_="message") if to_do else None,
        element("p", element("a", "All deployments", href=frame.root)),
        refreshes=False,
    )
