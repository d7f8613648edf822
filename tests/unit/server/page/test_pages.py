"""Pages as they are written: well-formed, escaped, with all that a reader needs."""

import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from rukpak_py.apply.upgrade_document import (
    ObjectName,
    PlannedAction,
    PlannedField,
    PlannedObject,
    Sides,
    UpgradeDocument,
)
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.model import DeploymentSummary, State
from rukpak_py.server.page.deployment import deployment_page
from rukpak_py.server.page.layout import Frame, failure
from rukpak_py.server.page.listing import READ_AT_MOST, ROWS, Listed, Query, list_page
from rukpak_py.server.page.upgrade import plan_page
from tests.unit.server.page.test_markup import HOSTILE, INVISIBLE
from tests.unit.server.page.views import NOW, row, view

FRAME = Frame(root="./", server="https://h:1", viewer="ann")
TAGS = frozenset(
    {"html", "head", "meta", "title", "link", "script", "body", "header", "nav", "main", "footer", "section"}
    | {"a", "p", "span", "div", "h1", "h2", "h3", "ul", "li", "details", "summary", "time", "code", "dl", "dt", "dd"}
    | {"table", "caption", "thead", "tbody", "tr", "th", "td", "strong", "del", "ins"}
    | {"form", "label", "input", "select", "option", "button"}
)
PENDING = {
    "digest": "sha256:1",
    "bundle": "shop-2",
    "reason": "NotApproved",
    "verdict": "NeedsReview",
    "since": "2026-05-06T11:00:00Z",
}


def parsed(page: bytes) -> ET.Element:
    return ET.fromstring(page)  # noqa: S314 - our own


def text_of(page: bytes) -> str:
    return "".join(parsed(page).itertext())


def listed(*states: State, said: str = "said") -> Listed:
    return Listed(rows=[row(f"d{at}", state, said=said) for at, state in enumerate(states)])


def plan(text: str) -> UpgradeDocument:
    name = ObjectName(group="", kind="ConfigMap", namespace="shop", name=text)
    field = PlannedField(path=text, change="changed", old=text, new=text)
    return UpgradeDocument(
        deployment="shop",
        state="Waiting",
        why=[text],
        version=Sides(old=text, new=text),
        verdict="NeedsReview",
        reviews=[text],
        rights_gained=[text],
        objects=[PlannedObject(object=name, action=PlannedAction.CHANGED, fields=[field])],
    )


@pytest.mark.parametrize("text", [*HOSTILE, *INVISIBLE])
def test_text_of_content_is_never_markup(text: str) -> None:
    pages = (
        list_page(FRAME, listed(State.FAILED, said=text), Query(search=text, namespace=text, class_name=text), NOW),
        list_page(FRAME, listed(State.FAILED, said=text), Query(), NOW),
        deployment_page(
            FRAME, view(text, pendingUpgrade=PENDING | {"version": text, "rightsGained": [text], "names": [text]}), NOW
        ),
        plan_page(FRAME, "shop", plan(text)),
        failure(FRAME, "Not found", text),
    )
    for page in pages:
        root = parsed(page)
        assert {one.get("src") for one in root.iter("script")} == {"./static/page.js"}
        assert not [one for one in root.iter() if any(name.startswith("on") or name == "style" for name in one.attrib)]
        assert {one.tag for one in root.iter()}.isdisjoint({"img", "svg", "style", "iframe", "object"})
        assert page.decode().replace("\n", " ").isprintable()


@pytest.mark.parametrize("text", [one for one in (*HOSTILE, *INVISIBLE) if "\ud800" not in one])  # no JSON has it
def test_no_string_of_a_view_is_markup(text: str) -> None:
    """Every string of it at once: names, reasons, times, digests. An object of RBAC may have almost any name."""
    history = [{"revision": 1, "bundle": "b", "digest": "d", "version": "1", "time": "t", "outcome": "Healthy"}]
    poisoned = _with_strings(view(pendingUpgrade=PENDING, history=history), text)
    for page in (
        deployment_page(Frame(root="./", server=text, viewer=text, troubleshooting=text), poisoned, NOW),
        list_page(FRAME, Listed(rows=[poisoned.summary]), Query(), NOW),
        plan_page(FRAME, text, _with_strings(plan("x"), text)),
    ):
        found = _Markup()
        found.feed(page.decode())
        found.close()
        assert found.tags <= TAGS
        assert found.sources == {"./static/page.js"}
        assert not any(name.startswith("on") or name in {"style", "srcdoc"} for name in found.attributes)
        assert all(urlsplit(link).scheme in {"", "http", "https"} for link in found.links)


class _Markup(HTMLParser):
    """As a browser reads it, and not as XML."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.attributes = set[str](), set[str]()
        self.sources, self.links = set[str](), set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.sources.update(value or "" for name, value in attrs if name == "src")
        self.links.update(value or "" for name, value in attrs if name in {"href", "action", "formaction"})


def _with_strings(value: Any, text: str) -> Any:
    if isinstance(value, Enum) or value is None:
        return value
    if isinstance(value, str):
        return text
    if isinstance(value, ObjectKey):
        return ObjectKey(*(text for _ in value))
    if isinstance(value, msgspec.Struct):
        parts = {name: _with_strings(getattr(value, name), text) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **parts)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _with_strings(getattr(value, one.name), text) for one in fields(value)})
    if isinstance(value, tuple | list):
        return type(value)(_with_strings(one, text) for one in value)
    return value


@pytest.mark.parametrize("state", State)
def test_each_state_is_a_word_of_a_class(state: State) -> None:
    page = list_page(FRAME, listed(state), Query(), NOW)
    (chip,) = (one for one in parsed(page).iter("tbody"))
    (found,) = (one for one in chip.iter("span") if (one.get("class") or "").startswith("state "))
    assert (found.text, found.get("class")) == (str(state), f"state {state.name.lower()}")
    css = _static("page.css")
    assert state is State.SUSPENDED or f".state.{state.name.lower()}" in css


def _static(name: str) -> str:
    return resources.files("rukpak_py.server.page").joinpath("static", name).read_text()


def test_list_has_the_worst_first_and_counts_of_states() -> None:
    page = list_page(FRAME, listed(State.READY, State.FAILED, State.READY, State.STALLED), Query(), NOW)
    names = [one.text for one in parsed(page).iter("a") if (one.get("id") or "").startswith("row-")]
    assert names == ["d3", "d1", "d0", "d2"]
    links = {one.get("id"): one for one in parsed(page).iter("a")}
    assert "".join(links["state-ready"].itertext()) == "ready 2"
    assert links["state-ready"].get("href") == "./?state=ready"
    assert "4 deployments: 1 stalled, 1 failed, 2 ready" in text_of(page)


def test_message_of_a_ready_row_is_left_out_unless_an_upgrade_waits() -> None:
    rows = [row("a", State.READY, said="quiet"), row("b", State.READY, said="loud", pending="2.0")]
    text = text_of(list_page(FRAME, Listed(rows=rows), Query(), NOW))
    assert "quiet" not in text
    assert "loud" in text
    assert "2.0 waits" in text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (Query(state=State.FAILED), ["b"]),
        (Query(namespace="other"), ["c"]),
        (Query(search="SECOND"), ["b"]),
        (Query(search="second", state=State.READY), []),
        (Query(class_name="nothing"), []),
    ],
)
def test_list_is_filtered(query: Query, names: list[str]) -> None:
    rows = [
        row("a", State.READY),
        row("b", State.FAILED, said="the second"),
        row("c", State.READY, namespace="other"),
    ]
    page = list_page(FRAME, Listed(rows=rows), query, NOW)
    assert [one.text for one in parsed(page).iter("a") if (one.get("id") or "").startswith("row-")] == names
    assert ("No deployment fits." in text_of(page)) is (not names)


def test_list_has_pages_and_one_past_the_last_is_the_last() -> None:
    rows = [row(f"d{at:03}", State.READY) for at in range(2 * ROWS + 5)]
    for number, first, count in ((1, 0, ROWS), (2, ROWS, ROWS), (3, 2 * ROWS, 5), (99, 2 * ROWS, 5)):
        page = list_page(FRAME, Listed(rows=rows), Query(page=number), NOW)
        names = [one.text for one in parsed(page).iter("a") if (one.get("id") or "").startswith("row-")]
        assert names == [f"d{at:03}" for at in range(first, first + count)]
        assert f"{first + 1} to {first + count} of {len(rows)}" in text_of(page)


async def test_more_deployments_than_are_kept_are_told() -> None:
    async def many() -> AsyncIterator[DeploymentSummary]:
        one = row("a", State.READY)
        for _ in range(READ_AT_MOST + 5):
            yield one

    found = await Listed.read(many())
    assert (len(found.rows), found.is_cut) == (READ_AT_MOST, True)
    assert f"more than {READ_AT_MOST} deployments" in text_of(list_page(FRAME, found, Query(), NOW))


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ({}, Query()),
        ({"state": "in progress", "page": "3"}, Query(state=State.PROGRESSING, page=3)),
        ({"state": "odd", "page": "-1"}, Query()),
        ({"page": "0"}, Query()),
        ({"page": "99999999999999999999"}, Query()),
        ({"page": "\u00b2"}, Query()),
        ({"search": f" {'x' * 999} "}, Query(search="x" * 253)),
    ],
)
def test_query_takes_what_is_valid(given: dict[str, str], query: Query) -> None:
    assert Query.read(given) == query
    assert Query.read(dict(_pairs(query.address()))) == query


def _pairs(address: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(address).query)


def test_deployment_page_has_why_on_top_and_opens_what_is_unhealthy() -> None:
    page = deployment_page(Frame(root="../", troubleshooting="https://docs.example.com/t"), view(), NOW)
    root = parsed(page)
    ids = [one.get("id") for one in root.iter("section")]
    assert ids == ["why", "tree", "conditions", "events", "history"][: len(ids)]
    kinds = {one.get("id"): one.get("open") for one in root.iter("details")}
    assert kinds == {"kind-Deployment.apps": "", "kind-ConfigMap": None, "unread": None}
    (link,) = (one for one in root.iter("a") if one.get("id") == "troubleshooting")
    assert (link.get("href") or "").startswith("https://docs.example.com/t#")
    assert "Pod web-1" in text_of(page)
    assert "PersistentVolumeClaim data-web-1" in text_of(page)
    assert "1 part could not be read" in text_of(page)


@pytest.mark.parametrize("is_waiting", [True, False])
def test_pending_upgrade_and_its_plan_are_linked(*, is_waiting: bool) -> None:
    page = deployment_page(FRAME, view(pendingUpgrade=PENDING if is_waiting else None), NOW)
    (link,) = (one for one in parsed(page).iter("a") if one.get("id") == "plan-link")
    assert link.get("href") == "./shop/plan"
    assert ("rukpakctl approve shop" in text_of(page)) is is_waiting


def test_plan_page_shows_old_and_new_values() -> None:
    root = parsed(plan_page(FRAME, "shop", plan("value")))
    assert [one.text for one in root.iter("del")] == ["value"]
    assert [one.text for one in root.iter("ins")] == ["value"]


def test_headings_go_down_one_level_at_a_time() -> None:
    pages = (
        list_page(FRAME, listed(State.FAILED), Query(), NOW),
        deployment_page(FRAME, view(pendingUpgrade=PENDING | {"names": ["x"]}), NOW),
        plan_page(FRAME, "shop", plan("x")),
    )
    for page in pages:
        levels = [int(one.tag[1]) for one in parsed(page).iter() if one.tag in {"h1", "h2", "h3"}]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        ids = [one.get("id") for one in parsed(page).iter() if one.get("id")]
        assert len(ids) == len(set(ids))
