"""The check of a built site of the documents: what the generator does not look at.

    python -m tools.site build/site

* A browser that shows a page asks no other host for anything: scripts, style sheets, fonts, images, requests.
* Each link between pages leads to a file of the site and, with `#`, to an id of it.
* The search finds every page.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SEARCH = "search.html"
INDEX = "searchindex.js"
ROOT_PAGE = "index.html"  # leads to the first page

# Attributes of which a browser loads the URL by itself; of a link that depends on its relation.
_LOADED = {"src", "srcset", "poster", "data", "background"}
_FOLLOWED = {"next", "prev", "search", "index", "author", "canonical", "license"}
_CSS_URL = re.compile(r"""(?:@import\s+(?:url\()?|url\()\s*["']?([^"')\s]+)""")
_SCRIPT_URL = re.compile(r"""["'`]((?:(?:https?|wss?):)?//[^"'`\s]+)""")
_SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*$", re.DOTALL | re.MULTILINE)
_NAMESPACES = ("http://www.w3.org/",)  # names of vocabularies, which are never loaded


@dataclass(kw_only=True)
class Page:
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._inline = ""  # the element whose text is a script or a style sheet

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._inline = tag if tag in {"script", "style"} else ""
        if "id" in values:
            self.page.ids.add(values["id"])
        if tag == "a" and "href" in values:
            self.page.links.append(values["href"])
        if tag == "link" and not _FOLLOWED.intersection(values.get("rel", "").split()):
            self.page.loaded.append(values.get("href", ""))
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.page.links.append(values.get("content", "").partition("url=")[2])
        self.page.loaded += [
            part.split()[0] for name in _LOADED & values.keys() for part in values[name].split(", ") if part
        ]
        self.page.loaded += _CSS_URL.findall(values.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._inline = ""

    def handle_data(self, data: str) -> None:
        if self._inline == "style":
            self.page.loaded += _CSS_URL.findall(data)
        elif self._inline == "script":
            self.page.loaded += urls_of_script(data)


def problems(site: Path) -> list[str]:
    """All that is wrong with a site, in the order of its files."""
    pages = {path.relative_to(site).as_posix(): read(path) for path in sorted(site.rglob("*.html"))}
    found = [f"{name}: loads {url}" for name, page in pages.items() for url in page.loaded if _is_foreign(url)]
    for path in sorted({*site.rglob("*.css"), *site.rglob("*.js")} - {site / INDEX}):
        text = path.read_text(encoding="utf-8")
        urls = _CSS_URL.findall(text) if path.suffix == ".css" else urls_of_script(text)
        found += [f"{path.relative_to(site).as_posix()}: loads {url}" for url in urls if _is_foreign(url)]
    found += [
        f"{name}: {problem}" for name, page in pages.items() for problem in _broken_links(site, name, pages, page)
    ]
    found += [
        f"{name}: the search does not find it" for name in sorted(pages.keys() - {ROOT_PAGE, SEARCH} - indexed(site))
    ]
    return found


def read(path: Path) -> Page:
    parser = _Parser()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser.page


def urls_of_script(text: str) -> list[str]:
    return _SCRIPT_URL.findall(_SCRIPT_COMMENT.sub("", text))


def indexed(site: Path) -> set[str]:
    """The pages in the index of the search."""
    text = (site / INDEX).read_text(encoding="utf-8")
    content = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return {f"{name}.html" for name in content["docnames"]}


def _is_foreign(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc or parts.scheme not in {"", "data"}) and not url.startswith(_NAMESPACES)


def _broken_links(site: Path, name: str, pages: dict[str, Page], page: Page) -> Iterator[str]:
    for link in [*page.links, *(url for url in page.loaded if not url.startswith("data:"))]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = ((site / name).parent / unquote(parts.path)).resolve() if parts.path else site / name
        if not target.is_file():
            yield f"{link} is not there"
            continue
        linked = pages.get(target.relative_to(site.resolve()).as_posix()) if target.suffix == ".html" else None
        if parts.fragment and linked is not None and unquote(parts.fragment) not in linked.ids:
            yield f"{link} has no such anchor"


def main() -> None:
    site = Path(sys.argv[1]).resolve()
    found = problems(site)
    for problem in found:
        print(problem)
    print(f"{len(list(site.rglob('*.html')))} pages in {site}, {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
